"""Rendered data of the pocket edition."""
