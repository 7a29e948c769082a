"""Run the small editions of a commit in a clone outside the repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "8167ccc"
EDITIONS = ("pocket", "pocket_siblings", "pocket_mm_upd")
RELEASED = "released"
_HUMBLEBENCH, _ACTIVIEW = "maifoundations/HumbleBench", "THUNLP-MT/ActiView"
_NAMES = re.compile(r"(?:(?P<setting>[a-z_]+)_)?(?P<model>[A-Za-z0-9.-]+?)(?:_\d+)?\.(?P<ending>jsonl|log)")
"""Names of excerpts: ``<setting>_<model>.jsonl``; those of models behind an interface have no setting."""
_DAY = "2025-01-01T00:00:00Z"


def build(
    folder: Path, commit: str, *, python: str, shared: Path | None, editions: Sequence[str], cores: int
) -> tuple[Path, list[str]]:
    """Clone the repository at a commit and run its editions. The same call continues after an interruption.

    Parameters
    ----------
    folder : Path
        Outside the repository. The clone is ``<folder>/run``.
    commit : str
    python : str
        Interpreter of an environment that has the requirements. The clone's package comes before an installed one.
    shared : Path or None
        Folder with excerpts of released files. If it is absent, their edition is left out.
    editions : sequence of str
        Editions of params.yaml without released replies.
    cores : int

    Returns
    -------
    tuple of Path and list of str
        The clone, and notes on what was left out.
    """
    folder = folder.resolve()
    if folder.is_relative_to(ROOT):
        raise ValueError(f"{folder} is inside the repository")
    clone = folder / "run"
    name = _git(ROOT, "rev-parse", "--verify", f"{commit}^{{commit}}")
    if not clone.exists():
        _git(ROOT, "clone", "--quiet", "--no-checkout", str(ROOT), str(clone))
        _git(clone, "checkout", "--quiet", "--detach", name)
    if (found := _git(clone, "rev-parse", "HEAD")) != name:
        raise ValueError(f"{clone} is at {found[:12]}, not at {name[:12]}; name another folder")
    snakemake = [python, "-m", "snakemake", "--cores", str(cores)]
    environment = _environment(clone, python)
    package = [python, "-c", "import known_unknowns; print(known_unknowns.__file__)"]
    place = subprocess.run(package, cwd=clone, env=environment, check=True, capture_output=True, text=True).stdout
    if not Path(place.strip()).is_relative_to(clone):
        raise ValueError(f"{python} imports {place.strip()}, not the package of the clone")
    for edition in editions:
        subprocess.run([*snakemake, "--config", f"edition={edition}"], cwd=clone, env=environment, check=True)
    if shared is None or not (shared / "data").is_dir():
        return clone, ["no excerpts of released files: the edition released was left out"]
    settings, as_github = write_excerpts(shared / "data", folder / "excerpts")
    (folder / "released.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    for _ in range(2):  # the first run fetches the files
        command = [*snakemake, "--configfile", str(folder / "released.yaml")]
        subprocess.run(command, cwd=clone, env=environment | as_github, check=True)
    return clone, []


def _environment(clone: Path, python: str) -> dict[str, str]:
    """Return the environment of the clone's programs: its package and this interpreter come first."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SNAKEMAKE", "PYTEST", "PYTHON"))}
    path = f"{Path(python).absolute().parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return kept | {"PATH": path, "PYTHONPATH": str(clone / "src")}


def write_excerpts(data: Path, folder: Path) -> tuple[dict[str, object], dict[str, str]]:
    """Write the excerpts as git repositories in the layout of the published ones.

    Parameters
    ----------
    data : Path
        With folders ``humblebench`` and ``actiview``.
    folder : Path
        For the repositories.

    Returns
    -------
    tuple
        The settings of the edition, for ``--configfile``, and variables with which git uses the repositories in place
        of those on github.com.
    """
    files: dict[str, dict[str, bytes]] = {_HUMBLEBENCH: {}, _ACTIVIEW: {}}
    models = ["Qwen2-VL"]
    for path in sorted([*(data / "humblebench").glob("*.jsonl"), *(data / "humblebench/released").iterdir()]):
        if match := _NAMES.fullmatch(path.name):
            setting, model, ending = match["setting"], match["model"], match["ending"]
            place = f"results/{setting}/{model}/{model}.{ending}"
            files[_HUMBLEBENCH][place if setting else f"rebuttal_results/proprietary/{path.name}"] = path.read_bytes()
            models.append(model)
    for path in sorted((data / "actiview").glob("*.json")):
        files[_ACTIVIEW][f"asset/{path.name}"] = path.read_bytes()
    for path in sorted((data / "actiview/results").glob("*.json")):
        files[_ACTIVIEW]["results/" + path.name.replace("_", "/", 1)] = path.read_bytes()
    commits = {name: _repository(folder / name, content) for name, content in files.items()}
    settings = {
        "edition": RELEASED,
        "editions": {RELEASED: {"models": list(dict.fromkeys(models))}},
        "benchmarks": {
            key: {"data": {RELEASED: {"revision": commits[name], "further_revisions": []}}}
            for key, name in (("humblebench", _HUMBLEBENCH), ("actiview", _ACTIVIEW))
        },
    }
    git = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{folder.as_uri()}/.insteadOf"}
    return settings, git | {"GIT_CONFIG_VALUE_0": "https://github.com/"}


def _repository(folder: Path, files: Mapping[str, bytes]) -> str:
    """Write a git repository of one commit, whose name depends on the files only."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for key in ("uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"):
        _git(folder, "config", key, "true")
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", "excerpts")
    return _git(folder, "rev-parse", "HEAD")


def _git(folder: Path, *arguments: str) -> str:
    identity = {
        f"GIT_{who}_{what}": "golden@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    dates = {"GIT_AUTHOR_DATE": _DAY, "GIT_COMMITTER_DATE": _DAY}
    command = ["git", "-c", "core.autocrlf=false", *arguments]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **identity, **dates}, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip()
