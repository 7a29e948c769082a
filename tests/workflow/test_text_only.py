"""Own questions without any image, from the files to the report."""

from __future__ import annotations

import pytest

from known_unknowns import tables
from known_unknowns.records import OVERALL
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
TARGETS = ("results/mine/report/index.html", "results/mine/report/questions.html")
QUESTIONS = """question,A,B,C,answer
Which planet has the most moons?,Mars,Saturn,None of the above,B
How many legs has a spider?,Six,Ten,None of the above,C
"""


@pytest.fixture
def project(fresh: Project) -> Project:
    project = fresh

    def reduce(params: dict) -> None:
        params["editions"]["mine"]["models"] = ["oracle", "pocket"]
        params["benchmarks"]["multiple_choice"] |= {
            "variants": ["original", "nota_only", "noise", "blank"],
            "seeds": {},
        }
        params["benchmarks"]["multiple_choice"]["data"]["mine"]["without_image"] = True
        params["tracking"]["enabled"] = False

    project.change_params(reduce)
    folder = project.root / "my_data"
    folder.mkdir()
    (folder / "questions.csv").write_text(QUESTIONS, encoding="utf-8")
    return project


def test_a_run_without_any_image_ends_with_the_report(project):
    checked = project.run("known-unknowns", "check", "params", "--edition", "mine").stdout
    assert "no question has an image, so these variants are left out: noise, blank" in checked
    project.snakemake(*TARGETS, "--config", "edition=mine")
    metrics = tables.read_metrics(project.root / "results/mine/metrics/oracle/multiple_choice/metrics.parquet")
    found = {
        m.variant: (m.value, m.n)
        for m in metrics
        if (m.name, m.parser, m.category) == ("accuracy", "official", OVERALL)
    }
    assert found == {"original": (1.0, 2), "nota_only": (1.0, 2)}
    replies = tables.read_replies(project.root / "results/mine/replies/pocket/multiple_choice/replies.parquet")
    assert {len(turn.images) for turn in replies} == {0} and not [turn for turn in replies if turn.reply.error]
    report = project.root / "results/mine/report"
    assert "Multiple choice" in (report / "index.html").read_text(encoding="utf-8")
    assert (report / "questions.html").is_file()
