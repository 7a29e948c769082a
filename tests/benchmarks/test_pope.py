"""A benchmark of another distribution, with the labels yes and no, from its files to its metrics."""

import json
from pathlib import Path

import pytest
import yaml

from known_unknowns import tables, variants
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.interface import Benchmark
from known_unknowns.data.check import check
from known_unknowns.data.variant_tables import vary
from known_unknowns.edition_files import asked
from known_unknowns.entry_points import BENCHMARKS
from known_unknowns.records import OVERALL
from known_unknowns.scoring.table import parse
from known_unknowns.workflow import configuration
from tests.asked_and_measured import infer, measure
from tests.factories import png
from tests.paths import ROOT

PARSERS = ["official", "robust", "likelihood"]
THINGS = ["snowboard", "dog", "car", "tree", "cup"]
ROWS = [
    {
        "question_id": number,
        "image": f"{number // 2}.png",
        "text": f"Is there a {thing} in the image?",
        "label": "yes" if number in (0, 2, 3) else "no",
    }
    for number, thing in enumerate(THINGS)
]
"""Five questions: "yes" is right for three, "no" for two."""


@pytest.fixture
def pope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    """The benchmark, installed by the metadata of a distribution on the path."""
    info = tmp_path / "site" / "pope_benchmark-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pope-benchmark\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{BENCHMARKS}]\npope = tests.benchmarks.pope:BENCHMARK\n")
    monkeypatch.syspath_prepend(str(info.parent))
    assert "pope" in registry.names()
    return registry.get("pope")


def configured() -> configuration.Params:
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["editions"] = {"pocket": {"benchmarks": ["pope"], "models": ["oracle", "always_a"], "seeds": [0]}}
    source = {"source": "git", "repository": "https://example.org/pope", "revision": "0" * 40}
    raw["benchmarks"] = {"pope": {"protocol": "single_turn", "variants": ["original"], "data": {"pocket": source}}}
    return configuration.check(raw)


@pytest.mark.parametrize(
    ("model", "accuracy", "share_yes", "share_no"),
    [("oracle", 1.0, 0.6, 0.4), ("always_a", 0.6, 1.0, 0.0)],  # always_a: the first label, which is "yes"
)
def test_yes_and_no_from_the_published_files_to_the_metrics(pope, tmp_path, model, accuracy, share_yes, share_no):
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "adversarial.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for number in range(3):
        (raw / f"{number}.png").write_bytes(png((number, 90, 30)))
    questions, variant_folder, out = (tmp_path / name for name in ("questions", "variants", "out"))
    replies, answers = (out / f"{name}.parquet" for name in ("replies", "answers"))
    loaded = [variants.original(question) for question in pope.load(raw, questions)]
    assert len(loaded) == 5
    tables.write_variant(variant_folder / "original.parquet", {0: loaded})
    params, metrics, journal = configured(), tmp_path / "metrics.parquet", tmp_path / "journal.jsonl"
    infer(params, model, "pope", questions=questions, variants=variant_folder, out=out, journal=journal)
    parse(variant_folder, replies, answers, cells=params.cells("pope"), parsers=PARSERS)
    measure(params, model, "pope", answers=answers, out=metrics)
    for parser in PARSERS:
        found = {
            m.name: m.value
            for m in tables.read_metrics(metrics)
            if (m.parser, m.category, m.seed) == (parser, OVERALL, 0)
        }
        assert (found["accuracy"], found["share_yes"], found["share_no"]) == (accuracy, share_yes, share_no)
        assert found["share_no_letter"] == found["share_unparsed"] == 0.0


def test_its_own_variant_is_applied_and_another_benchmark_does_not_have_it(pope, tmp_path):
    raw = configured().file.plain()
    raw["benchmarks"]["pope"]["variants"] = ["original", "negated"]
    raw["variants"]["negated"] = {"word": "not a"}
    entry = configuration.check(raw).variant("negated")
    rendered = pope.pocket().render(tmp_path / "raw", seed=1, images=2, questions_per_image=2)
    folder = tmp_path / "questions"
    tables.write_questions(folder / "questions.parquet", pope.load(rendered, folder))
    vary(entry, folder / "questions.parquet", tmp_path / "variants/negated.parquet", seeds=[0])
    before = list(tables.read_questions(folder / "questions.parquet"))
    after = list(tables.read_questions(asked(tmp_path / "variants", "negated", 0)))
    assert [q.answer for q in before] == [1, 0, 1, 0] and [q.answer for q in after] == [0, 1, 0, 1]
    assert all(q.text.startswith("Is there not a ") for q in after)
    shipped = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["benchmarks"]["humblebench"] = shipped["benchmarks"]["humblebench"]
    raw["benchmarks"]["humblebench"]["variants"] += ["negated"]
    raw["editions"]["pocket"]["benchmarks"] += ["humblebench"]
    message = r"benchmarks\.humblebench\.variants\[8\]: 'negated' is a variant of another benchmark"
    with pytest.raises(configuration.ConfigError, match=message):
        configuration.check(raw)


def test_wrong_arguments_of_its_own_variant_are_reported(pope):
    raw = configured().file.plain()
    raw["variants"]["negated"] = {"wrod": "no"}
    with pytest.raises(configuration.ConfigError, match=r"variants\.negated\.wrod: the variant 'negated' takes no"):
        configuration.check(raw)


def test_a_protocol_with_a_refusal_prompt_is_refused(pope):
    params = configured()
    raw = params.file.plain()
    raw["benchmarks"]["pope"]["protocol"] = "refusal_prompt"
    with pytest.raises(configuration.ConfigError, match="needs a refusal prompt"):
        configuration.check(raw)


def test_the_check_of_a_benchmark_without_one_is_a_note(pope, tmp_path):
    """The workflow checks every benchmark: an error would end its run."""
    checked = check("pope", tmp_path)
    assert [(finding.severity, finding.code) for finding in checked.findings] == [("note", "unchecked")]
    assert checked.exit_code == 0
