"""Known Unknowns: benchmarks of what multimodal LLMs refuse, abstain from or must look at again."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from known_unknowns.version import __version__

if TYPE_CHECKING:
    from known_unknowns.evaluation import evaluate
    from known_unknowns.scoring.reply_parser import parse_reply

__all__ = ["__version__", "evaluate", "parse_reply"]

_PUBLIC = {
    "evaluate": "known_unknowns.evaluation",
    "parse_reply": "known_unknowns.scoring.reply_parser",
}
"""Public functions and their modules, which are imported when they are used. The commands need few of them."""


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
