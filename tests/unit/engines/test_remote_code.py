"""Code of other repositories is refused, and a local checkpoint's own code belongs to its digest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from known_unknowns.engines import _checkpoint, _remote_code
from known_unknowns.errors import ConfigError

OTHER = "other/repository--modeling.Model"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", {"auto_map": {"AutoConfig": "configuration.Config", "AutoModel": OTHER}}),
        ("config.json", {"vision_config": {"auto_map": OTHER}}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": [None, OTHER]}}),
        ("preprocessor_config.json", {"image_processor": [{"auto_map": {"AutoImageProcessor": OTHER}}]}),
        ("vision/config.json", {"auto_map": {"AutoModel": OTHER}}),
    ],
)
def test_code_of_another_repository_is_refused(tmp_path: Path, file: str, content: Any):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(json.dumps(content))
    with pytest.raises(
        ConfigError, match=r"models\.m\.source: auto_map in .* of another repository, other/repository--"
    ):
        _remote_code.check(tmp_path, path="models.m.source")


@pytest.mark.parametrize(
    "text",
    [
        r'{"auto_map": {"AutoModel": "other/repository\u002d\u002dmodeling.Model"}}',
        r'{"auto\u005fmap": {"AutoModel": "other/repository-\u002dmodeling.Model"}}',
    ],
)
def test_escapes_of_json_do_not_hide_it(tmp_path: Path, text: str):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ConfigError, match="another repository, other/repository--modeling"):
        _remote_code.check(tmp_path, path="models.m.source")


@pytest.mark.parametrize(
    "text",
    [
        '{"auto_map": {"AutoModel": "modeling.Model"}}',
        '{"note": "a--b", "auto_map": null}',
        "{--",
        "[" * 100_000 + "--",
    ],
)
def test_own_code_and_damaged_files_pass(tmp_path: Path, text: str):
    (tmp_path / "config.json").write_text(text)
    _remote_code.check(tmp_path, path="models.m.source")


@pytest.mark.parametrize("module", ["modeling.py", "parts/attention.py"])
def test_code_of_a_local_folder_belongs_to_its_digest(tmp_path: Path, module: str):
    """Otherwise a changed line of code gives other replies under the same identity."""
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_text("{}")

    def digest(*, code: bool) -> str:
        return _checkpoint._check_folder(tmp_path, "unpinned", code=code, path="models.m")["settings"]

    alone = digest(code=True)
    assert alone == digest(code=False)
    (tmp_path / module).parent.mkdir(exist_ok=True)
    (tmp_path / module).write_text("a = 1\n")
    before = digest(code=True)
    (tmp_path / module).write_text("a = 2\n")
    assert len({alone, before, digest(code=True)}) == 3 and digest(code=False) == alone
