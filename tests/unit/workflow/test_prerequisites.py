"""What a run needs is reported before it: the user's data, and the folders of local models."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.benchmark.interface import Contents
from known_unknowns.data import folder, rerun_stamp
from known_unknowns.data.fetch import fetch
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.workflow import configuration, prerequisites, run_settings
from known_unknowns.workflow import project as projects
from known_unknowns_benchmarks.multiple_choice import loader
from tests.factories import with_keys
from tests.paths import ROOT
from tests.unit.benchmarks.multiple_choice.own_files import own_folder, row

RAW = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
SHA = "0" * 64


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def raw_configuration(models=None, **data):
    raw = yaml.safe_load(yaml.safe_dump(RAW)) | {"edition": "mine"}
    raw["models"] |= models or {}
    raw["editions"]["mine"]["models"] = ["oracle", *(models or {})]
    raw["benchmarks"]["multiple_choice"]["data"]["mine"] |= data
    return raw


def configured(models=None, **data):
    return configuration.check(raw_configuration(models, **data))


def model(**changes):
    return {"engine": "transformers", "source": "weights", "revision": SHA, "dtype": "float32"} | changes


def problems(raw, **options):
    with pytest.raises(ConfigError) as caught:
        prerequisites.checked(raw, **options)
    return str(caught.value)


def test_all_problems_are_reported_at_once_with_their_keys(project):
    (project / "weights").mkdir()
    (project / "weights/model.safetensors").write_bytes(b"")
    (project / "weights/one").mkdir()
    (project / "weights/one/adapter_config.json").write_text("{}")
    (project / "empty").mkdir()
    models = {
        "branch": model(revision="main"),
        "absent": model(source="nowhere"),
        "path": model(source="./nowhere", revision="main"),
        "bare": model(source="empty"),
        "adapted": model(adapter="two"),
        "whole": model(),
        "hosted": model(source="owner/name", revision="main"),
    }
    text = problems(raw_configuration(models))
    lines = text.splitlines()
    assert lines[0] == "6 mistakes:"
    expected = {
        "benchmarks.multiple_choice.data.mine.path": "there is no folder 'my_data' in",
        "models.branch.revision": "'main' is no sha256 of its weights; `known-unknowns try weights --dry-run`",
        "models.absent.source": "there is no folder 'nowhere'",
        "models.path.source": "there is no folder './nowhere'",
        "models.bare.source": "has no *.safetensors file",
        "models.adapted.adapter": "weights has no file two/adapter_config.json; it has the adapters one",
    }
    assert [line.strip().partition(": ")[0] for line in lines[1:]] == list(expected)
    for line, message in zip(lines[1:], expected.values(), strict=True):
        assert message in line


def test_a_problem_of_the_run_is_listed_with_mistakes_of_types_and_names(project):
    raw = raw_configuration({"m": model(source="nowhere")})
    raw["statistics"]["confidence"] = "high"
    raw["parsers"] = ["robsut"]
    paths = [line.strip().partition(": ")[0] for line in problems(raw).splitlines()[1:]]
    data = "benchmarks.multiple_choice.data.mine.path"
    assert paths == ["statistics.confidence", "parsers[0]", data, "models.m.source"]


def test_another_pin_than_that_of_the_weights(project):
    """`sha256sum` of the three bytes "abc" is the example in FIPS 180-2, appendix B.1."""
    right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    own_folder(project / "my_data", [row(0)])
    (project / "weights").mkdir()
    (project / "weights/model.safetensors").write_bytes(b"abc")
    for pin in (right, "unpinned"):
        prerequisites.checked(raw_configuration({"m": model(revision=pin)}), weights=True)
    wrong = raw_configuration({"m": model()})
    prerequisites.checked(wrong)
    text = problems(wrong, weights=True)
    assert text.startswith("models.m.revision: the weights in weights are not the pinned ones") and right in text
    # A journal of another pin is no reason to leave it out.
    (project / "journal/m").mkdir(parents=True)
    (project / "journal/m/multiple_choice.jsonl").write_text("")
    assert problems(wrong, weights=True) == text
    (project / "params.yaml").write_text(yaml.safe_dump(wrong))
    done = CliRunner().invoke(cli.app, ["check", "params"])
    assert isinstance(done.exception, ConfigError) and str(done.exception) == text


def test_a_model_with_a_journal_needs_no_weights(project):
    own_folder(project / "my_data", [row(0)])
    (project / "journal/absent").mkdir(parents=True)
    (project / "journal/absent/multiple_choice.jsonl").write_text("")
    prerequisites.checked(raw_configuration({"absent": model(source="nowhere")}))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("file.csv", "'file.csv' is a file; name its folder, and the file under files"),
        ("empty", "the folder 'empty' is empty"),
        (".", "'.' contains this project's own data folder"),
    ],
)
def test_a_folder_that_cannot_be_used(path, message, project):
    (project / "file.csv").write_text("")
    (project / "empty").mkdir()
    (project / "data").mkdir()
    assert message in problems(raw_configuration(path=path))


def test_mistakes_in_the_data_are_reported_before_the_run(project):
    own_folder(project / "my_data", [row(0), row(1, answer="Z")])
    text = problems(raw_configuration())
    assert text.startswith("benchmarks.multiple_choice.data.mine: ")
    assert "questions.csv, row 3: column answer: 'Z' is none of the options" in text


def test_variants_that_no_question_fits_are_left_out(project):
    params = configured()
    every = params.variants("multiple_choice")
    assert {"nota_only", "noise", "shuffled_refusal_prompt"} <= set(every)
    without_refusal, notes = prerequisites.fitted(params, {"multiple_choice": Contents(5, 0, 5)})
    left_out = {"nota_only", "nota_only_relettered", "shuffled_refusal_prompt"}
    assert set(every) - set(without_refusal.variants("multiple_choice")) == left_out
    assert notes == [
        "multiple_choice: no question has a refusal option, so these variants are left out: "
        "nota_only, nota_only_relettered, shuffled_refusal_prompt"
    ]
    texts, _ = prerequisites.fitted(params, {"multiple_choice": Contents(5, 5, 0)})
    assert set(every) - set(texts.variants("multiple_choice")) == {"noise", "gaussian", "blank", "text_only"}
    both, _ = prerequisites.fitted(params, {"multiple_choice": Contents(5, 5, 5)})
    assert both.variants("multiple_choice") == every
    configuration.check(without_refusal.file.plain())  # the jobs of the run read it


def test_a_benchmark_without_a_variant_left_is_a_mistake():
    raw = yaml.safe_load(yaml.safe_dump(RAW)) | {"edition": "mine"}
    raw["benchmarks"]["multiple_choice"] |= {"variants": ["nota_only"], "seeds": {}}
    with pytest.raises(ConfigError, match=r"variants: no question has a refusal option; add original"):
        prerequisites.fitted(configuration.check(raw), {"multiple_choice": Contents(5, 0, 5)})


def test_unchanged_data_are_read_once(project, monkeypatch):
    (project / ".snakemake").mkdir()
    own = own_folder(project / "my_data", [row(0)])
    first = prerequisites.checked(raw_configuration())
    with monkeypatch.context() as patch:
        patch.setattr(loader, "read_drafts", lambda *arguments: pytest.fail("the files were read again"))
        assert prerequisites.checked(raw_configuration()) == first
    own_folder(own, [row(0), row(1)])
    assert "2 of 2 questions" in prerequisites.checked(raw_configuration())[1][0]


def test_check_params_says_what_the_data_contain(project):
    own_folder(project / "my_data", [row(0), row(1)])
    shutil.copy(ROOT / "params.yaml", project)
    done = CliRunner().invoke(cli.app, ["check", "params", "--edition", "pocket"])
    assert isinstance(done.exception, ConfigError) and "models.pocket.source: there is no folder" in str(done.exception)
    (project / "params.yaml").write_text(yaml.safe_dump(configured().file.plain()))
    done = CliRunner().invoke(cli.app, ["check", "params"])
    assert done.exit_code == 0
    assert "2 of 2 questions have a refusal option, recognised by its phrasing: 'None of the above' in 2" in done.output


def test_fetch_copies_the_folder_and_the_stamp_follows_every_change(project):
    own = own_folder(project / "my_data", [row(0)])
    (own / ".hidden").write_text("")
    params, out = configured(), project / "data/mine/raw/multiple_choice"
    entry = params.data("multiple_choice")
    stamps = [rerun_stamp.rule_parameter(out, entry)]
    fetch("multiple_choice", entry, out)
    names = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert names == ["images/0.png", "images/1.png", "images/2.png", "questions.csv"]
    assert rerun_stamp.rule_parameter(out, entry) == stamps[0]
    (own / "questions.csv").write_text((own / "questions.csv").read_text().replace("Red", "Pink"))
    stamps.append(rerun_stamp.rule_parameter(out, entry))
    (own / "images/2.png").unlink()
    stamps.append(rerun_stamp.rule_parameter(out, entry))
    (own / "more.csv").write_text("")
    stamps.append(rerun_stamp.rule_parameter(out, entry))
    assert len(set(stamps)) == 4
    fetch("multiple_choice", entry, out)
    assert (out / "more.csv").is_file() and not (out / "images/2.png").exists()
    (own / "link.csv").symlink_to("/etc/hostname")
    with pytest.raises(DataError, match="a link that leads out of the folder"):
        folder.stamp(entry)


def test_variants_that_the_last_run_left_out_are_not_compared(project):
    params = configured()
    assert prerequisites.as_run(params) == params  # no run yet
    last, _ = prerequisites.fitted(params, {"multiple_choice": Contents(5, 0, 5)})
    run_settings.start(last)
    assert prerequisites.as_run(params).variants("multiple_choice") == last.variants("multiple_choice")
    assert "nota_only" not in prerequisites.as_run(params).variants("multiple_choice")


def test_variants_of_the_edition_that_the_last_run_left_out_are_not_compared(project):
    params = with_keys(configured(), editions__mine__variants={"multiple_choice": ["original", "nota_only"]})
    last, _ = prerequisites.fitted(params, {"multiple_choice": Contents(5, 0, 5)})
    (project / "results/mine").mkdir(parents=True)
    (project / "results/mine/params.yaml").write_text(yaml.safe_dump(last.file.plain()))
    assert prerequisites.as_run(params).variants("multiple_choice") == ["original"]
    assert params.variants("multiple_choice") == ["original", "nota_only"]


def test_corrections_are_read_before_the_run(project):
    raw = yaml.safe_load(yaml.safe_dump(RAW)) | {"edition": "pocket"}
    raw["variants"]["corrected"] = {"corrections": "c.json"}
    raw["editions"]["pocket"] |= {"benchmarks": ["mmsap"], "models": ["oracle"], "variants": {"mmsap": ["corrected"]}}
    assert "variants.corrected.corrections: c.json: No such file or directory; write it with" in problems(raw)
    (project / "c.json").write_text('{"format": 1, "benchmark": "actiview", "corrections": []}')
    assert "c.json corrects actiview, but mmsap lists the variant" in problems(raw)
    (project / "c.json").write_text('{"format": 1, "benchmark": "mmsap", "corrections": []}')
    assert prerequisites.checked(raw)[1] == []


@pytest.mark.parametrize("name", ["a{b}c", "}/below"])
def test_a_brace_in_a_path_is_no_wildcard(project, monkeypatch, name):
    with pytest.raises(ConfigError, match="has a brace in its name, which Snakemake takes for a wildcard; rename it"):
        projects.create(project / name)
    assert not list(project.iterdir())
    (project / name).mkdir(parents=True)
    monkeypatch.chdir(project / name)
    assert "has a brace in its name" in problems(raw_configuration())
    monkeypatch.chdir(project)
    (project / "weights/sub{x}").mkdir(parents=True)
    assert "models.m.source: weights/sub{x} has a brace in its name" in problems(raw_configuration({"m": model()}))
