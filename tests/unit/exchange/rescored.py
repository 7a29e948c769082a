"""Files of predictions, and the metrics of a rescored file."""

from __future__ import annotations

from pathlib import Path

from known_unknowns.exchange.results import RescoreResult
from known_unknowns.records import OVERALL


def value(found: RescoreResult, parser: str, name: str, category: str = OVERALL) -> float | None:
    (metric,) = [m for m in found.metrics if (m.parser, m.name, m.category) == (parser, name, category)]
    return metric.value


def plain(tmp_path: Path, *pairs: tuple[str, str]) -> Path:
    path = tmp_path / "plain.csv"
    path.write_text("question_id,prediction\n" + "".join(f"{name},{said}\n" for name, said in pairs))
    return path
