"""MM-UPD's subsets, apart from its files, because the workflow reads them at every start."""

SUBSETS = ("AAD", "IASD", "IVQD")
"""Absent answers, incompatible answer sets, and incompatible visual questions."""
