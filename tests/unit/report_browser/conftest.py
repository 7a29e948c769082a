from __future__ import annotations

import pytest

from .tiny_run import TinyRun, make


@pytest.fixture(scope="package")
def run(tmp_path_factory: pytest.TempPathFactory) -> TinyRun:
    return make(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="package")
def two_benchmarks(tmp_path_factory: pytest.TempPathFactory) -> TinyRun:
    return make(tmp_path_factory.mktemp("two"), "mmsap")
