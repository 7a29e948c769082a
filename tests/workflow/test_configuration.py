"""A mistake in the configuration stops the workflow before any job, and names the path of the bad key."""

from __future__ import annotations

from itertools import chain

import pytest
import yaml

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def unknown_key(params):
    params["editions"]["pocket"]["sedes"] = [0]


def unknown_model(params):
    params["editions"]["pocket"]["models"].append("orakle")


def unknown_variant(params):
    params["benchmarks"]["humblebench"]["variants"].append("nota-only")


def impossible_variant(params):
    params["variants"]["blank"] = {"relettered": True}


def unknown_parser(params):
    params["parsers"].append("generous")


MISTAKES = [
    (unknown_key, ["editions.pocket", "'sedes'", "did you mean 'seeds'"]),
    (unknown_variant, ["benchmarks.humblebench.variants[3]", "'nota-only'", "did you mean 'nota_only'"]),
    (impossible_variant, ["variants.blank.relettered"]),
    (unknown_parser, ["parsers[3]", "'generous'"]),
]


@pytest.mark.parametrize(
    "mistakes", [MISTAKES, [(unknown_model, ["editions.pocket.models[4]", "'orakle'", "did you mean 'oracle'"])]]
)
def test_mistakes_are_found_before_any_job(fresh, mistakes):
    """All at once. An edition with a mistake of its own is not searched for unknown models."""
    before = fresh.made("results", "data", "journal")  # tracked files, such as results/README.md
    for mistake, _ in mistakes:
        fresh.change_params(mistake)
    printed = fresh.snakemake(code=None)
    for words in chain.from_iterable(told for _, told in mistakes):
        assert words in printed
    assert fresh.made("results", "data", "journal") == before


def test_the_command_line_overrides_params_yaml(fresh):
    more = fresh.root / "more.yaml"
    more.write_text("editions: {pocket: {seeds: [0, 7]}}\n")
    fresh.snakemake(
        "data/pocket/raw/humblebench", "--configfile", "more.yaml", "--config", "editions={pocket: {models: [oracle]}}"
    )
    resolved = yaml.safe_load((fresh.root / "results/pocket/params.yaml").read_text(encoding="utf-8"))
    assert resolved["editions"]["pocket"]["models"] == ["oracle"]
    assert resolved["editions"]["pocket"]["seeds"] == [0, 7]
    own = yaml.safe_load((fresh.root / "params.yaml").read_text(encoding="utf-8"))["models"]
    assert own.items() <= resolved["models"].items()  # and those of the catalogue that an edition names


def test_an_override_is_checked_too(fresh):
    printed = fresh.snakemake("--dry-run", "--config", "edition=huge", code=None)
    assert "edition" in printed
    assert "'huge'" in printed


def test_programs_run_the_package_of_the_copy(untouched):
    code = "import known_unknowns; print(known_unknowns.__file__)"
    assert untouched.run("python", "-c", code).stdout.strip() == str(untouched.root / "src/known_unknowns/__init__.py")
