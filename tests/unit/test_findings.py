"""The numbers of README and of docs/findings.md are those that their commands print."""

from __future__ import annotations

import re

from scripts import findings
from tests.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/findings.md").read_text(encoding="utf-8")


def test_readme_has_the_number_of_issues_of_the_audit():
    (counted,) = re.findall(r"\*\*(\d+) issues\*\*", findings.issues())
    assert set(re.findall(r"(\d+) issues", README)) <= {counted}


def test_the_page_has_the_current_issues_and_says_of_which_versions():
    assert findings.issues() in PAGE
    assert "the anonymous ACL submission" in PAGE and "about its first version" in PAGE


def test_the_table_and_the_figure_are_current():
    rows = findings.models()
    assert findings.updated(PAGE, rows) == PAGE
    by_name = {model.name: model for model in rows}
    glm = by_name["GLM-4.1V-Thinking"]
    assert (glm.exact, glm.parsed, glm.rank_exact, glm.rank_parsed) == ("0.06", "55.02", 15, 2)
    assert sum(float(model.parsed) < 40 for model in rows) == 17
    figure = findings.FIGURE.read_text(encoding="utf-8")
    assert all(f">{model.name}<" in figure for model in rows)
