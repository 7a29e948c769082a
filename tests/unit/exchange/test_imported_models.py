"""Entries of params.yaml for models whose replies were imported."""

from __future__ import annotations

from typing import Any

import pytest

from known_unknowns import config
from known_unknowns.config import Params
from known_unknowns.errors import ConfigError
from known_unknowns.records import Cell
from known_unknowns.workflow import configuration
from tests.asked_and_measured import infer
from tests.cells import write_questions
from tests.factories import question
from tests.paths import ROOT

REPOSITORY = ROOT


def checked(entry: dict[str, Any]) -> Params:
    raw = config.load(REPOSITORY / "params.yaml").file.plain()
    raw["models"]["theirs"] = entry
    return configuration.check(raw)


def test_cells_of_an_imported_model():
    params = checked({"engine": "imported", "cells": {"humblebench": {"nota_only": [0]}}, "published": "Qwen2.5-VL"})
    assert params.cells("humblebench", "theirs") == [Cell("nota_only", 0)]
    assert params.cells("mmsap", "theirs") == []
    assert params.cells("humblebench", "oracle") == params.cells("humblebench")
    assert [params.is_imported(name) for name in ("theirs", "oracle", "unheard-of")] == [True, False, False]


@pytest.mark.parametrize(
    ("cells", "path"),
    [
        ({"humblebench": {"orignal": [0]}}, "models.theirs.cells.humblebench.orignal"),
        ({"humblebench": {"original": [7]}}, "models.theirs.cells.humblebench.original"),
        (None, "models.theirs.cells"),
    ],
)
def test_invalid_cells(cells, path):
    with pytest.raises(ConfigError) as caught:
        checked({"engine": "imported"} | ({} if cells is None else {"cells": cells}))
    assert caught.value.path == path


def test_inference_with_an_imported_model_is_refused(tmp_path):
    params = checked({"engine": "imported", "cells": {"humblebench": {"original": [0]}}})
    for variant, seed, _ in params.cells("humblebench"):
        write_questions(tmp_path, variant, seed, [question("a")])
    folders = {"questions": tmp_path, "variants": tmp_path, "out": tmp_path / "out"}
    with pytest.raises(ConfigError, match="cannot be asked") as caught:
        infer(params, "theirs", "humblebench", **folders, journal=tmp_path / "j.jsonl")
    assert caught.value.path == "models.theirs"
