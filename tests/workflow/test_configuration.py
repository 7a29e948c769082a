"""A mistake in the configuration stops the workflow before any job; the command line overrides params.yaml."""

from __future__ import annotations

import pytest
import yaml

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def misspell(params):
    params["editions"]["pocket"]["sedes"] = [0]
    params["models"]["pocket"]["batch_size"] = "many"


def misname(params):
    params["benchmarks"]["humblebench"]["variants"].append("nota-only")
    params["variants"]["blank"] = {"relettered": True}


@pytest.mark.parametrize(
    ("mistakes", "told"),
    [
        (misspell, ["editions.pocket", "did you mean 'seeds'", "models.pocket.batch_size"]),
        (misname, ["benchmarks.humblebench.variants[3]", "variants.blank.relettered", "parsers[1]", "'generous'"]),
    ],
)
def test_all_mistakes_of_a_kind_are_told_before_any_job(fresh, mistakes, told):
    """Wrong keys and types, and else wrong names."""
    before = fresh.made("results", "data", "journal")  # tracked files, such as results/README.md
    fresh.change_params(mistakes)
    printed = fresh.snakemake("--config", "parsers=[official, generous]", code=None)
    for words in told:
        assert words in printed
    assert fresh.made("results", "data", "journal") == before


def test_the_command_line_overrides_params_yaml(fresh):
    more = fresh.root / "more.yaml"
    more.write_text(
        "editions: {pocket: {seeds: [0, 7]}}\nbenchmarks: {multiple_choice: {data: {mine: {options: [Yes, No]}}}}\n"
    )
    fresh.snakemake(
        "data/pocket/raw/humblebench", "--configfile", "more.yaml", "--config", "editions={pocket: {models: [oracle]}}"
    )
    resolved = yaml.safe_load((fresh.root / "results/pocket/run.yaml").read_text(encoding="utf-8"))
    assert resolved["editions"]["pocket"]["models"] == ["oracle"]
    assert resolved["editions"]["pocket"]["seeds"] == [0, 7]
    assert resolved["benchmarks"]["multiple_choice"]["data"]["mine"]["options"] == ["Yes", "No"]
    own = yaml.safe_load((fresh.root / "params.yaml").read_text(encoding="utf-8"))["models"]
    assert own.items() <= resolved["models"].items()  # and those of the catalogue that an edition names


def test_programs_run_the_package_of_the_copy(untouched):
    code = "import known_unknowns; print(known_unknowns.__file__)"
    assert untouched.run("python", "-c", code).stdout.strip() == str(untouched.root / "src/known_unknowns/__init__.py")
