"""Run the small editions of a commit in a clone outside the repository."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
EDITIONS = ("pocket", "pocket_siblings", "pocket_mm_upd")
RELEASED = "released"
_HUMBLEBENCH, _ACTIVIEW = "maifoundations/HumbleBench", "THUNLP-MT/ActiView"
_STAND_IN = "questions"
"""Model of a generated file that has the original questions."""
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
    models = ["Qwen2-VL", _STAND_IN]
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
    lines = "".join(json.dumps(row) + "\n" for row in _derived(files[_HUMBLEBENCH]))
    files[_HUMBLEBENCH][f"results/common/{_STAND_IN}/{_STAND_IN}.jsonl"] = lines.encode()
    commits = {name: _repository(folder / name, content) for name, content in files.items()}
    settings = {
        "edition": RELEASED,
        "editions": {RELEASED: {"models": list(dict.fromkeys(models))}},
        "models": {_STAND_IN: {"engine": "imported", "released": {"humblebench": _STAND_IN}}},
        "benchmarks": {
            key: {"data": {RELEASED: {"revision": commits[name], "further_revisions": []}}}
            for key, name in (("humblebench", _HUMBLEBENCH), ("actiview", _ACTIVIEW))
        },
    }
    git = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{folder.as_uri()}/.insteadOf"}
    return settings, git | {"GIT_CONFIG_VALUE_0": "https://github.com/"}


def _derived(files: Mapping[str, bytes]) -> Iterator[dict[str, object]]:
    """Yield the questions of two settings as they were before: options in their order, a removed one with a stand-in.

    The excerpts have no file of the original setting, without which a setting's replies have no questions.
    """
    seen: set[int] = set()
    for path in sorted(path for path in files if re.match("results/(nota_only|shuffle_nota_position)/", path)):
        for row in map(json.loads, files[path].decode("utf-8").splitlines()):
            lines, label = row["question"].split("\n"), row["label"]
            options = {line[0]: line[2:] for line in lines if re.match(r"[A-E]\.", line)}
            if "shuffle" in path:
                order = list("ABCDE")
                random.Random(42 + row["question_id"]).shuffle(order)
                options = {old: options[new] for old, new in zip(order, "ABCDE", strict=True)}
                label = order["ABCDE".index(label)]
            elif removed := sorted(set("ABCDE") - options.keys()):
                options[label := removed[0]] = " (removed)"
            if row["question_id"] not in seen:
                stem = [line for line in lines if not re.match(r"[A-E]\.", line)]
                text = "\n".join([*stem, *(f"{letter}.{options[letter]}" for letter in sorted(options))])
                yield row | {"question": text, "label": label, "prediction": label}
            seen.add(row["question_id"])


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
