"""Known Unknowns: benchmarks of refusal and abstention in multimodal LLMs, from pinned data to a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from known_unknowns.scoring.reply_parser import parse_reply

__version__ = "0.1.0"
"""A benchmark: its interface, the registry, and helpers for loading published files."""

__all__ = ["__version__", "parse_reply"]


def __getattr__(name: str) -> Any:
    """Import `parse_reply` when it is used. Most modules need no parser."""
    if name != "parse_reply":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from known_unknowns.scoring.reply_parser import parse_reply  # noqa: PLC0415 (imports this package)

    return parse_reply
