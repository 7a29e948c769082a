"""Perfect replies to the turns without options, for scripted respondents. They follow from the annotated views."""

from __future__ import annotations

import json
from collections.abc import Iterable

from known_unknowns.records import Question, Turn
from known_unknowns_benchmarks.actiview import prompts
from known_unknowns_benchmarks.actiview.parsing import NONE
from known_unknowns_benchmarks.actiview.protocols import CAPTION, MORE, SELECT, ZOOM, needed_views
from known_unknowns_benchmarks.actiview.views import NAMES


def expected_reply(question: Question, turn: Turn) -> str:
    """Return the reply to a step "select", "more", "zoom", "operate" or "caption"."""
    if turn.step == CAPTION:
        return "-"
    shown = prompts.shown_views(turn.text, question)
    needed = needed_views(question, prompts.shown_split(turn.text, question))
    if turn.step == MORE:
        missing = [view for view in needed if view not in shown]
        if prompts.names_missing_views(turn.text):
            return ", ".join(NAMES[view - 1] for view in missing) or "NO"
        return "yes" if missing else "no"
    if turn.step == SELECT:
        return _listed(needed)
    if turn.step == ZOOM:
        return json.dumps({"part": _listed(needed), "reason": "the clues are there"})
    keep, shift = ([view for view in needed if (view in shown) == is_shown] for is_shown in (True, False))
    return json.dumps({prompts.keep_field(turn.text): _listed(keep), "shift": _listed(shift)})


def _listed(views: Iterable[int]) -> str:
    """Views as the prompts request them: "1,3", or "none"."""
    return ",".join(map(str, views)) or NONE
