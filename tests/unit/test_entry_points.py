"""How the package finds what others add: from installed metadata, and in a checkout from pyproject.toml."""

import ast
import tomllib

from known_unknowns import entry_points
from known_unknowns.benchmark import registry
from tests.paths import ROOT

GROUPS = {
    name: group
    for name, group in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"].items()
    if name.startswith("known_unknowns.")  # the others are for other tools
}


def install(site, name, **groups):
    """Write the metadata of a distribution."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"[known_unknowns.{group}]\n{value}\n" for group, value in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))


def test_every_registered_object_exists():
    for group in GROUPS:
        for entry in entry_points.of_group(group).values():
            assert entry.load() is not None


def test_every_folder_of_a_benchmark_is_registered():
    folders = (ROOT / "src/known_unknowns_benchmarks").glob("*/__init__.py")
    assert {path.parent.name for path in folders} == set(GROUPS[entry_points.BENCHMARKS])


def test_groups_have_a_name_in_the_package():
    constants = {value for value in vars(entry_points).values() if isinstance(value, str)}
    assert set(GROUPS) <= constants


def test_other_distributions_come_after_this_one(tmp_path, monkeypatch):
    install(tmp_path, "theirs", benchmarks="abc = their_benchmark:BENCHMARK")
    monkeypatch.syspath_prepend(tmp_path)
    assert registry.names() == [*GROUPS[entry_points.BENCHMARKS], "abc"]


def test_a_package_without_installed_metadata_finds_its_own(monkeypatch):
    """As in a job in a conda environment, which has the package on PYTHONPATH only."""
    monkeypatch.setattr(entry_points, "_installed", lambda group, path: ())
    assert registry.names() == list(GROUPS[entry_points.BENCHMARKS])
    assert registry.pocket_of("mmsap") is not None


def test_older_metadata_of_this_distribution_do_not_count(tmp_path, monkeypatch):
    install(tmp_path, "known-unknowns", benchmarks="humblebench = no_such_module:BENCHMARK")
    monkeypatch.syspath_prepend(tmp_path)
    assert entry_points.of_group(entry_points.BENCHMARKS)["humblebench"].module != "no_such_module"


def test_no_module_names_a_package_above_it():
    above = {value.partition(".")[0] for values in GROUPS.values() for value in values.values()}
    assert len(above) > 2
    for path in (ROOT / "src/known_unknowns").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        strings = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        assert not {text for text in strings if text.partition(".")[0] in above}, path
