"""Known Unknowns: what multimodal LLMs know that they do not know, reproduced from pinned data to a report."""

__version__ = "0.1.0"
