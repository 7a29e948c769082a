"""The size of the edition released: generated files, and a measurement of the whole workflow."""
