"""Released replies from a git server to the report: all six settings, with cut and missing files."""

from __future__ import annotations

import csv
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image as Pixels

from bench.scale.files import questions, rows, write_repository
from known_unknowns import tables
from known_unknowns.comparison import read_comparison
from known_unknowns.records import Image, Question
from known_unknowns_benchmarks.humblebench.loader import parse_question
from tests.cells import read_replies
from tests.paths import ROOT
from tests.servers.git import git_server, has_daemon
from tests.workflow.actiview_release import FORMS, PUBLISHED, VIEWS, write_actiview
from tests.workflow.project import Project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not has_daemon(), reason="git daemon is not installed"),
]
REPOSITORY, ACTIVIEW = "maifoundations/HumbleBench", "THUNLP-MT/ActiView"
RESULTS = "results/released"
CUT, MISSING = "nota_only/Phi-4/Phi-4.jsonl", "noise_image/Phi-4/Phi-4.jsonl"
N, OF_ACTIVIEW = 21, 325 if PUBLISHED.is_dir() else 9


def changed(path: str, text: str) -> str | None:
    if path.endswith(MISSING):
        return None
    return text[: len(text) // 2] if path.endswith(CUT) else text


OWN_COLOUR = (200, 30, 60)


def write_own_question(folder: Path) -> None:
    """The benchmark's own first question, with an image."""
    first = questions(N)[0]
    stem, options = parse_question(first.text)
    file = folder / "images/own.png"
    file.parent.mkdir(parents=True)
    Pixels.new("RGB", (16, 16), OWN_COLOUR).save(file)
    own = Question(
        id=str(first.id),
        benchmark="humblebench",
        text=stem,
        options=options,
        answer="ABCDE".index(first.label),
        refusal=4,
        images=(Image("images/own.png", sha256(file.read_bytes()).hexdigest(), 16, 16),),
        category=first.kind,
        group="own",
    )
    tables.write_questions(folder / "questions.parquet", [own])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose two runs, the one that fetches and the one with its files, have ended."""
    root = tmp_path_factory.mktemp("released")
    models = ["Cambrian", "Phi-4"]
    commits = write_repository(root / "git" / REPOSITORY, models=models, questions_=questions(N), change=changed)
    of_actiview, _ = write_actiview(root / "git" / ACTIVIEW, count=OF_ACTIVIEW)

    def change(params):
        params["edition"] = "released"
        params["editions"]["released"] |= {
            "benchmarks": ["humblebench", "actiview"],
            "models": [*models, "Insight-V", "gemini-2.5-pro", "Qwen2-VL"],
        }
        changed = {"revision": commits[0][:8], "further_revisions": commits[1:]}
        params["benchmarks"]["humblebench"]["data"] = {"released": changed}
        changed = {"revision": of_actiview[0], "further_revisions": of_actiview[1:]}
        params["benchmarks"]["actiview"]["data"] = {"released": changed}
        params["tracking"]["enabled"] = False

    (root / "project").mkdir()
    with git_server(root / "git") as environment:
        found = Project.copy_of_tree(root / "project", environment)
        found.change_params(change)
        write_own_question(found.root / "data/full/questions/humblebench")
        first = found.snakemake()
        assert "The same command continues with them." in first
        assert (found.root / ".snakemake/known-unknowns.again").is_file()
        assert (found.root / "data/released/raw/humblebench").is_dir()
        assert not (found.root / RESULTS / "report").exists() and not (found.root / RESULTS / "replies").exists()
    # The second run needs no connection.
    found.snakemake()
    return found


def comparison(project: Project):
    return read_comparison(project.root / RESULTS / "comparison.parquet")


def test_every_released_cell_is_measured_and_no_other(project):
    cells = {
        model: sorted(
            variant
            for path in (project.root / RESULTS / "replies" / model).glob("*/*.parquet")
            for variant, *_ in tables.cells_in(path)
        )
        for model in ("Cambrian", "Phi-4", "Insight-V", "gemini-2.5-pro")
    }
    every = ["cautious_prompt", "noise", "noise_forced_grounding", "nota_only", "original", "shuffled_all_options"]
    assert cells["Cambrian"] == every
    assert cells["Phi-4"] == [variant for variant in every if variant != "noise"]
    assert cells["gemini-2.5-pro"] == ["original"]
    assert cells["Insight-V"] == []


def test_replies_are_those_of_the_files_and_missing_ones_have_failed(project):
    folder = project.root / RESULTS / "replies/Phi-4/humblebench"
    found = {r.question_id: r.reply.text for r in read_replies(folder / "replies.parquet", "shuffled_all_options")}
    lines = rows(questions(N), "Phi-4", "shuffle_nota_position")
    assert found == {str(line["question_id"]): line["prediction"] for line in lines}
    errors = [r.reply.error for r in read_replies(folder / "replies.parquet", "nota_only")]
    assert len(errors) == N
    assert 0 < errors.count(None) < N
    notes = json.loads((folder / "engine.json").read_text(encoding="utf-8"))["facts"]["nota_only/seed0"]["notes"]
    assert any("the file ends within the line" in note for note in notes)


def test_every_whole_file_gives_the_numbers_of_its_log(project):
    cells = [row for row in comparison(project) if row.table.startswith("Released logs")]
    whole = [r for r in cells if not (r.model == "Phi-4" and r.variant in ("nota_only", "noise"))]
    assert len(whole) == 2 * (6 * 11 - 1) - 2 * 11
    assert {(row.verdict, row.value == row.published) for row in whole} == {("identical", True)}
    assert {row.verdict for row in cells if row.model == "Phi-4" and row.variant == "noise"} == {"not run"}
    assert all(" of https://github.com/" in row.source for row in cells)
    numbers = json.loads((project.root / RESULTS / "released/humblebench.json").read_text(encoding="utf-8"))["rows"]
    outcomes = {(row["model"], row.get("setting")): row["outcome"] for row in numbers}
    assert outcomes["Phi-4", "noise_image"] == "no replies"
    assert outcomes["Phi-4", "nota_only"] == "differs"
    assert outcomes["Insight-V", None] == "no replies"
    assert sum(outcome == "exact" for outcome in outcomes.values()) == 10


def test_the_action_history_of_actiview_is_replayed(project):
    """All histories but the last, whose answer is not that of the replies."""
    file = project.root / RESULTS / "replies/Qwen2-VL/actiview/replies.parquet"
    dialogues: dict[str, list] = {}
    for turn in read_replies(file, "mixed"):
        dialogues.setdefault(turn.question_id, []).append(turn)
    found = [(len(turns), len(turns[-1].images)) for turns in dialogues.values()]
    replayed = [(len(FORMS[n % 4]) + 1, 1 + VIEWS[n % 4]) for n in range(OF_ACTIVIEW - 1)]
    assert found[:-1] == replayed
    assert [turn.step for turn in list(dialogues.values())[-1]] == ["answer"]
    metrics = tables.read_metrics(project.root / RESULTS / "metrics/Qwen2-VL/actiview/metrics.parquet")
    views = next(
        m for m in metrics if (m.variant, m.parser, m.name, m.category) == ("mixed", "official", "views", "Overall")
    )
    assert views.value == pytest.approx(sum(VIEWS[n % 4] for n in range(OF_ACTIVIEW - 1)) / OF_ACTIVIEW)
    check = json.loads((project.root / RESULTS / "checks/actiview.json").read_text(encoding="utf-8"))
    fewer = [] if PUBLISHED.is_dir() else [("warning", "count", "")]  # than the published questions
    assert [(f["severity"], f["code"], f["where"]) for f in check["findings"]] == [
        *fewer,
        ("warning", "replies", "results/qwen2vl/mix.json"),
        ("note", "no-history", "results/qwen2vl/shifting.json"),
    ]


def test_the_stated_accuracies_of_actiview_are_recomputed(project):
    """With the published replies to shifting: 200 of 325 answers are right by the released rule."""
    cells = {row.variant: row for row in comparison(project) if row.table == "Released results"}
    right = {"mixed": OF_ACTIVIEW - 1, "shifting_r": 200 if PUBLISHED.is_dir() else 0}
    for variant, count in right.items():
        assert cells[variant].published == pytest.approx(100 * count / OF_ACTIVIEW, abs=1e-12)
        assert (cells[variant].value, cells[variant].model) == (cells[variant].published, "Qwen2-VL")
        assert " of https://github.com/THUNLP-MT/ActiView" in cells[variant].source
    numbers = json.loads((project.root / RESULTS / "released/actiview.json").read_text(encoding="utf-8"))["rows"]
    assert [row["outcome"] for row in numbers if row.get("log")] == ["exact", "exact"]


def test_the_check_names_the_problems(project):
    found = json.loads((project.root / RESULTS / "checks/humblebench.json").read_text(encoding="utf-8"))
    codes = {(f["code"], f["where"].rpartition("results/")[2]) for f in found["findings"]}
    assert {
        ("missing-predictions", "Phi-4"),
        ("missing-rows", CUT),
        ("unreadable-file", CUT),
        ("answers-only", "proprietary/gemini-2.5-pro.jsonl"),
        ("log", "nota_only/Phi-4/Phi-4.log"),
    } <= codes


def test_tables_compare_replies_question_by_question(project):
    folder = project.root / RESULTS / "released/humblebench"

    def table(name):
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))

    assert {(r["model"], r["variant"]) for r in table("parsers") if r["model"] == "gemini-2.5-pro"} == {
        ("gemini-2.5-pro", "original")
    }
    sensitivity = {(r["model"], r["variant"], r["parser"], r["measure"]): r for r in table("sensitivity")}
    cautious = sensitivity["Cambrian", "cautious_prompt", "official", "accuracy"]
    right = {}
    for setting in ("common", "cautious_prompt"):
        file = project.root / RESULTS / "released/humblebench.json"
        logs = json.loads(file.read_text(encoding="utf-8"))["rows"]
        log = next(row for row in logs if (row["model"], row.get("setting")) == ("Cambrian", setting))
        right[setting] = log["logged_Overall_accuracy"] / 100
    assert float(cautious["difference"]) == pytest.approx(right["cautious_prompt"] - right["common"])
    assert len(table("questions")) == N
    assert all(row["right"] == "0" for row in table("all_wrong"))
    pairs = {(r["model_a"], r["model_b"]) for r in table("agreement") if r["variant"] == "noise_forced_grounding"}
    assert pairs == {("Cambrian", "Phi-4")}


def test_the_report_has_released_models_without_images(project):
    pages = "\n".join(p.read_text(encoding="utf-8") for p in (project.root / RESULTS / "report").glob("*.html"))
    assert "Released replies" in pages
    assert "No file was released of Insight-V: not run." in pages
    of_benchmark = (project.root / RESULTS / "report/benchmark-humblebench.html").read_text(encoding="utf-8")
    listed = of_benchmark.partition("problems of the files</summary>")[2].partition("</details>")[0]
    problems = re.findall("<li>([^<]*)", listed)
    assert problems == [
        "Phi-4, HumbleBench-E: 1 unreadable line, the first is 11 (not JSON; the file ends within the line).",
        "Phi-4, HumbleBench-E: 11 of 21 questions have no prediction.",
        "Phi-4: no predictions of HumbleBench-GN; not run.",
    ]
    assert "Released logs, recomputed from the raw predictions" in pages
    assert "Released logs, cautious_prompt, with 95% intervals of ours" in pages
    assert "questions.html#benchmark=humblebench" in pages


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="ActiView's published replies are not beside the project")
def test_the_table_of_readme_is_what_comes_out(project):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| (Table \d+), (\S.*?) \| (.*) \|$", readme, re.MULTILINE)
    found = {}
    for row in comparison(project):
        if (row.model, row.variant, row.parser) == ("Qwen2-VL", "shifting_r", "official") and row.n:
            right = f"{row.value * row.n / 100:.0f} of {row.n:.0f}, {row.value:.1f}%"
            cells = (f"{row.published:.2f}", right, f"{row.low:.1f} to {row.high:.1f}", row.verdict)
            found[row.table, row.column] = " | ".join(cells)
    assert len(shown) == 4
    assert [cells for table, column, cells in shown] == [found[table, column] for table, column, _ in shown]


def test_the_benchmarks_own_images_are_in_the_browser(project):
    """Besides the noise image, which the variant makes."""
    images = [Pixels.open(path) for path in (project.root / RESULTS / "report/questions/images").iterdir()]
    (own,) = (image for image in images if image.size == (16, 16))
    assert own.convert("RGB").getpixel((8, 8)) == pytest.approx(OWN_COLOUR, abs=6)


def test_licence_and_citation_travel_and_nothing_is_left_to_do(project):
    licence = (project.root / "data/released/questions/humblebench/LICENCE.md").read_text(encoding="utf-8")
    assert "Please cite:" in licence
    assert REPOSITORY in licence
    assert ACTIVIEW in (project.root / "data/released/questions/actiview/LICENCE.md").read_text(encoding="utf-8")
    assert "Nothing to be done" in project.snakemake()
