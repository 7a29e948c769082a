"""Write the table of findings in bench/audit/README.md. ``make audit-table`` calls it."""

from __future__ import annotations

from pathlib import Path

from known_unknowns.benchmark import registry
from known_unknowns.comparison.audit import audit_published, output, published

FILE = Path(__file__).parents[1] / "bench" / "audit" / "README.md"
START, END = "<!-- audit-table: written by make audit-table -->", "<!-- end of audit-table -->"


def updated(text: str) -> str:
    """Return the text of bench/audit/README.md with the findings of all benchmarks."""
    before, rest = text.split(START)
    after = rest.split(END)[1]
    table = output.as_markdown({name: audit_published(published(name)) for name in registry.names()})
    return f"{before}{START}\n\n{table}\n\n{END}{after}"


if __name__ == "__main__":
    FILE.write_text(updated(FILE.read_text(encoding="utf-8")), encoding="utf-8")
