"""What every test may rely on: hypothesis without deadlines on shared machines, one thread for torch, no telemetry.

A fixture shares what takes long to make between the processes of pytest-xdist.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

settings.register_profile("here", deadline=None, print_blob=True)
settings.load_profile("here")

# Before torch is imported. The models of the tests are tiny: threads that wait for each other take six times the time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DVC_NO_ANALYTICS", "true")


LONGEST = ("test_changed_settings.py", "test_slurm.py", "test_tutorials.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, then slow tests, so that the processes of pytest-xdist end at the same time."""
    items.sort(key=lambda item: (item.path.name not in LONGEST, item.get_closest_marker("slow") is None))


@pytest.fixture(scope="session")
def made_once(
    tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Callable[[str, Callable[[Path], None]], Path]:
    """A function that makes a folder of a name, for what takes long: the processes of pytest-xdist share one."""
    base = tmp_path_factory.getbasetemp()

    def folder_of(name: str, make: Callable[[Path], None]) -> Path:
        folder = (base if worker_id == "master" else base.parent) / name
        with FileLock(f"{folder}.lock"):
            if not (folder / "made").is_file():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                (folder / "made").touch()
        return folder

    return folder_of
