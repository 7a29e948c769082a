"""A local hub that the process uses as the hub, and a folder to fetch into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import close_session

from known_unknowns import config
from known_unknowns.config import Params
from known_unknowns.data import download
from known_unknowns.data.fetch import entry_of, fetch
from tests.paths import ROOT
from tests.servers.hub import Hub

REPOSITORY = "maifoundations/HumbleBench"


def use(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the process use the local hub, as HF_ENDPOINT does at its start."""
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


@pytest.fixture(autouse=True)
def quick_and_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Remove delays between attempts, and tokens of the user."""
    monkeypatch.setattr(download, "PAUSE", 0.01)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    yield
    close_session()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Hub]]:
    """Start a hub with these faults and settings, and use it."""
    started: list[Hub] = []

    def start(faults: dict[str, list[str]] | None = None, **settings: object) -> Hub:
        hub = Hub(faults, **settings).__enter__()
        started.append(hub)
        use(hub, monkeypatch)
        return hub

    yield start
    for hub in started:
        hub.__exit__()


@dataclass
class Place:
    """The folder of a data set of the full edition."""

    folder: Path
    params: Params

    @property
    def out(self) -> Path:
        return self.folder / "raw" / "humblebench"

    @property
    def lock_path(self) -> Path:
        return self.folder / "params.lock.yaml"

    def fetch(self, name: str = "humblebench", *, user_folder: Path | None = None) -> Path:
        out = self.out.with_name(name)
        entry = entry_of(self.params, name)
        edition = self.params.data_name if name == "humblebench" else ""
        fetch(name, entry, out, edition=edition, user_folder=user_folder, lock_path=self.lock_path)
        return out

    def files(self) -> dict[str, bytes]:
        found = (path for path in self.out.rglob("*") if path.is_file())
        return {path.relative_to(self.out).as_posix(): path.read_bytes() for path in found}


@pytest.fixture(scope="session")
def full() -> Params:
    """The project's params.yaml, in the full edition."""
    return config.load(ROOT / "params.yaml", edition="full")


@pytest.fixture
def place(tmp_path: Path, full: Params) -> Place:
    return Place(tmp_path / "here", full)
