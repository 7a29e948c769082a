"""Put the files of a project (src/known_unknowns/project_files.txt) into the wheel and the source distribution.

All else is in pyproject.toml.
"""

from pathlib import Path
from shutil import copyfile

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
LIST = ROOT / "src/known_unknowns/project_files.txt"


def project_files() -> list[Path]:
    """Return the listed files, relative to the root."""
    patterns = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    found: list[Path] = []
    for pattern in patterns:
        matching = sorted(path.relative_to(ROOT) for path in ROOT.glob(pattern) if path.is_file())
        if not matching:
            raise FileNotFoundError(f"{LIST}: no file matches {pattern}")
        found += matching
    return found


class BuildWithProject(build_py):
    """Copy the modules, and the files of a project into known_unknowns/project."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # the files are read from the checkout
        for path in project_files():
            target = Path(self.build_lib, "known_unknowns", "project", path)
            target.parent.mkdir(parents=True, exist_ok=True)
            copyfile(ROOT / path, target)


class SourceWithProject(sdist):
    """Add the files of a project, so that a wheel can be built from the source distribution."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, [*files, *map(str, project_files()), "CHANGELOG.md", "CITATION.cff"])


setup(cmdclass={"build_py": BuildWithProject, "sdist": SourceWithProject})
