"""Known Unknowns: benchmarks of refusal and abstention in multimodal LLMs, from pinned data to a report."""

__version__ = "0.1.0"
