"""Write the table of the core's files in docs/architecture.md; ``make format`` runs it.

The core is what the import contract ``core`` of .importlinter holds. `STOPS` has the files that a question passes, in
the order in which they are read. Every other file of the core is listed after them.
"""

from __future__ import annotations

import ast
import configparser
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/architecture.md"
START, END = "<!-- core: written by make format -->", "<!-- end of core -->"

STOPS = {
    "all": """
        records.py errors.py tables/__init__.py tables/parquet.py edition_files.py files/__init__.py
        yaml_reader.py config/base.py config/sections.py config/models.py config/params.py config/loading.py
        benchmark/interface.py benchmark/registry.py
    """,
    "2": "benchmark/loading.py benchmark/images.py images.py",
    "3": "benchmark/variant.py variants/__init__.py variants/of_benchmark.py",
    "4": "benchmark/protocol.py inference/bound_protocols.py inference/unchanged_turns.py",
    "5": "inference/runner.py inference/journal.py inference/shards.py unusable.py stopping.py",
    "6": "protocols.py",
    "7": "engine.py",
    "8": """
        scoring/table.py scoring/__init__.py scoring/dialogues.py benchmark/parsed_answer.py
        scoring/robust.py scoring/reply_parser/__init__.py scoring/reply_parser/reply.py
        scoring/reply_parser/text.py scoring/reply_parser/options.py scoring/reply_parser/rules.py
        scoring/reply_parser/words.py reasoning_marks.py scoring/official.py scoring/likelihood.py
        scoring/option_text.py scoring/refusal.py scoring/confidence.py scoring/answers.py
    """,
    "9": """
        metrics/measure.py metrics/answers.py benchmark/answer_columns.py benchmark/metrics.py
        metrics/proportions.py metrics/dual.py metrics/estimates.py metrics/intervals.py
        metrics/design_effect.py metrics/rows.py metrics/across_variants.py metrics/consistency.py
        metrics/selective.py metrics/confidence.py metrics/confidence_sources.py
    """,
    "10": """
        comparison/compare.py benchmark/published.py comparison/published.py comparison/conditions.py
        comparison/settings.py comparison/margins.py comparison/verdicts.py
    """,
}
"""The stops of a question (docs/architecture.md), and the files of the core that it passes there."""


def core_files() -> list[str]:
    """Return the files of the core, below src/known_unknowns."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    modules = contracts["importlinter:contract:core"]["source_modules"].split()
    files: list[str] = []
    for module in modules:
        path = ROOT / "src" / module.replace(".", "/")
        if path.is_dir():
            files += [each.relative_to(ROOT / "src/known_unknowns").as_posix() for each in sorted(path.rglob("*.py"))]
        else:
            files.append(path.relative_to(ROOT / "src/known_unknowns").as_posix() + ".py")
    return files


def table() -> str:
    """Return the table: each file with its stop, its lines and the first sentence of its docstring."""
    stop_of = {file: stop for stop, files in STOPS.items() for file in files.split()}
    every = core_files()
    assert stop_of.keys() <= set(every), f"not in the core: {sorted(stop_of.keys() - set(every))}"
    others = [file for file in sorted(every) if file not in stop_of]
    rows, lines = [], {}
    for file in [*stop_of, *others]:
        text = (ROOT / "src/known_unknowns" / file).read_text(encoding="utf-8")
        lines[file] = len(text.splitlines())
        rows.append(f"| {stop_of.get(file, '')} | `{file}` | {lines[file]} | {_first_sentence(text)} |")
    passed = sum(lines[file] for file in stop_of)
    total = (
        f"{len(lines)} files, {sum(lines.values()):,} lines: {passed:,} in the {len(stop_of)} files that a question "
        "passes, the rest after them without a stop."
    )
    return "\n".join([total, "", "| stop | file | lines | content |", "|---|---|---|---|", *rows])


def _first_sentence(text: str) -> str:
    docstring = ast.get_docstring(ast.parse(text)) or ""
    paragraph = docstring.partition("\n\n")[0].replace("\n", " ")
    return paragraph.partition(". ")[0].rstrip(".").replace("``", "`")


def written(page: str) -> str:
    """Return the page with the table of today."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
