"""The audit of published numbers: what they imply about each other, recomputed from the printed digits."""
