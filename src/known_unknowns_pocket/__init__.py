"""Rendered data of the pocket edition, and training of the pocket model."""
