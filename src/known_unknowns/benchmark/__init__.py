"""A benchmark: its interface, the registry, and helpers for loading published files."""
