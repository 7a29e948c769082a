"""Changed settings of models: new results after exactly one run, whatever happened before it."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest
import yaml

from known_unknowns import tables
from tests.servers.endpoint import LETTERS, Endpoint, Request, Response, error
from tests.workflow import asked
from tests.workflow.asked import METRICS, REPLIES
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
DONE = "Nothing to be done"


class Server(Endpoint):
    """An endpoint whose replies follow from the temperature. It answers no question while it is ``broken``."""

    def __init__(self, port: int) -> None:
        super().__init__(reply=self.reply_to, port=port)
        self.broken = False

    def reply_to(self, request: Request) -> Response:
        if not request.body["messages"]:
            return error(400, "no messages")  # the check of the key
        if self.broken:
            return error(401, "the key has expired")
        return asked.by_temperature(request)

    @property
    def questions(self) -> int:
        """How many questions were asked."""
        chats = (request for request in self.log if request.path.endswith("/completions"))
        return sum(bool(request.body["messages"]) for request in chats)


@pytest.fixture(scope="module")
def running(asked_once: Project) -> Iterator[Server]:
    """The endpoint of the finished run again, at its address."""
    params = yaml.safe_load((asked_once.root / "params.yaml").read_text(encoding="utf-8"))
    port = urlsplit(params["models"]["hosted"]["base_url"]).port
    with pytest.MonkeyPatch.context() as environment, Server(port) as server:
        environment.setenv("OPENAI_API_KEY", "any")
        yield server


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    """The endpoint, which has forgotten its requests."""
    running.log.clear()
    yield running
    running.down, running.broken = False, False


@pytest.fixture
def project(asked_once: Project, server: Server, tmp_path: Path) -> Project:
    """A copy of the finished run."""
    return asked_once.twin(tmp_path / "project")


def heat(project: Project, temperature: float) -> None:
    """Change the temperature, and with it every reply."""
    project.change_params(lambda params: params["models"]["hosted"].update(decoding={"temperature": temperature}))


def replies(project: Project, edition: str = "pocket") -> set[str]:
    """The different replies of the endpoint's model."""
    path = project.root / REPLIES["hosted"].replace("pocket", edition, 1)
    return set(tables.read_columns(path, tables.REPLIES, ["reply"]).column("reply").to_pylist())


def at(temperature: float) -> set[str]:
    """The reply to every question at a temperature."""
    return {LETTERS[round(10 * temperature)]}


NUMBERS = (METRICS["hosted"], "results/pocket/leaderboard.csv")


def results(project: Project) -> list[bytes]:
    """What follows from the replies of the endpoint's model."""
    return [(project.root / path).read_bytes() for path in NUMBERS]


def differ(before: list[bytes], project: Project) -> bool:
    return all(old != new for old, new in zip(before, results(project), strict=True))


def files(project: Project) -> dict[str, int]:
    """Every file outside of Snakemake's folder, to the time it was written."""
    found = (path for path in project.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.as_posix(): path.stat().st_mtime_ns for path in found if ".snakemake" not in path.parts}


def test_new_replies_after_one_run_whatever_failed_before_it(project, server):
    page = project.root / "results/pocket/report/index.html"
    report, before = page.read_bytes(), results(project)
    heat(project, 0.3)
    there = files(project)
    project.snakemake("--dry-run")
    assert files(project) == there
    server.down = True
    said = project.snakemake(code=None)
    assert (
        "models.hosted" in said and "Partial report  results/pocket/partial_report/index.html, without hosted" in said
    )
    shown = project.root / "results/pocket/partial_report/index.html"
    assert "missing: hosted." in shown.read_text(encoding="utf-8")
    assert page.read_bytes() == report  # that of the last complete run
    server.down, server.broken = False, True
    said = project.snakemake("--retries", "1", METRICS["hosted"], code=None)  # a single file is not the old one either
    failed = [line for line in said.splitlines() if "Failed" in line and "infer" in line]
    assert len(failed) == 2 and "the key has expired" in said
    server.broken = False
    project.snakemake()
    assert replies(project) == at(0.3) and differ(before, project)
    assert not shown.parent.exists()
    assert DONE in project.snakemake()


def test_deleted_files_and_deleted_records_of_snakemake(project, server):
    """As in a clone after `dvc pull`. The command that the message names makes the replies again."""
    path = project.root / REPLIES["hosted"]
    before = path.read_bytes()
    path.unlink()
    server.down = True  # the journal has every reply
    project.snakemake(REPLIES["hosted"], METRICS["hosted"])
    assert path.read_bytes() == before
    server.down = False
    shutil.rmtree(project.root / ".snakemake")
    assert DONE in project.snakemake(METRICS["hosted"])
    assert server.questions == 0
    heat(project, 0.3)
    said = project.snakemake(METRICS["hosted"], code=None)
    assert REPLIES["hosted"] in said and replies(project) == at(0)
    (command,) = (line for line in said.splitlines() if "--forcerun" in line)
    command = command.partition("make them again:")[2].strip()
    assert shlex.split(command)[-2:] == ["--forcerun", REPLIES["hosted"]]
    project.run(*shlex.split(command))
    assert replies(project) == at(0.3)
    assert DONE in project.snakemake(METRICS["hosted"])


def test_two_editions_of_the_same_data_with_other_seeds(project, server):
    """Neither rewrites a file of the other, and each has the rows of its own seeds."""
    other = METRICS["hosted"].replace("pocket", "other", 1)
    edition = {"data": "pocket", "benchmarks": ["humblebench"], "models": ["hosted"], "seeds": [1]}
    project.change_params(lambda params: params["editions"].update(other=edition))
    in_turn = [(METRICS["hosted"],), (other, "--config", "edition=other")]
    for arguments in in_turn:
        project.snakemake(*arguments)
    assert all(DONE in project.snakemake(*arguments) for arguments in in_turn)
    for path, seed in ((METRICS["hosted"], 0), (other, 1)):
        rows = tables.read_metrics(project.root / path)
        assert {row.seed for row in rows if row.variant == "noise" and row.seed is not None} == {seed}


def content(path: Path) -> str:
    """The rows of a table, or the text of another file."""
    if path.suffix == ".parquet":
        return str(pq.read_table(path).to_pylist())
    return path.read_bytes().decode("utf-8", errors="replace")


def test_removed_models_leave_no_row(finished, tmp_path):
    """Their replies, answers and metrics stay, for when they are back; nothing of the edition reads them."""
    project = finished[0].twin(tmp_path / "project")
    root = project.root / "results/pocket"
    project.change_params(lambda params: params["editions"]["pocket"].update(models=["oracle"]))
    project.snakemake()
    for name in ("leaderboard.csv", "headline.csv", "metrics.json", "plots/stress_tests.csv", "report/index.html"):
        assert "oracle" in content(root / name), name
    per_model = ("replies", "answers", "metrics", "probe", "logs", "benchmarks")
    kept = {path for path in root.rglob("*always_a*") if path.relative_to(root).parts[0] not in per_model}
    assert not kept
    of_edition = [
        path
        for path in root.rglob("*")
        if path.is_file() and path.relative_to(root).parts[0] not in (*per_model, "params.yaml")
    ]
    assert {"comparison.parquet", "model_comparison.parquet", "tracking.json"} <= {path.name for path in of_edition}
    assert not [path for path in of_edition if "always_a" in content(path)]
    assert "always_a" not in content(root / "params.yaml").partition("models:")[0]
    project.run("known-unknowns", "metrics", "--out", "all.csv")
    shown = content(project.root / "all.csv")
    assert "oracle" in shown and "always_a" not in shown
    project.run("known-unknowns", "export", "always_a", "humblebench", code=2)
    project.run("known-unknowns", "compare-models", "oracle", "always_a", code=2)
    assert DONE in project.snakemake()
