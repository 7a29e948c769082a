"""A text with private texts of several kinds, which no page may have."""

from __future__ import annotations

from pathlib import Path

import pytest

KEY, CREDENTIAL = "planted-0123456789-abcdef", "credential-0123456789"
PLANTED = [
    "/home/someone", "/data/outside", "/srv/secret", "10.20.30.40", "localhost:1234", "inference.internal", "gpu-box",
    "user:pass", "from=planted", KEY, "sk-0123456789abcdefgh", "tok-abc",
]  # fmt: skip
"""Parts of `TEXT`, and of settings that a test plants."""
TEXT = (
    "401 from http://user:pass@10.20.30.40:8000/v1?from=planted, http://localhost:1234/v1, https://inference.internal "
    "and http://gpu-box:8000/v1 (gpu-box:8000 refused); "
    f"the key {KEY}, {CREDENTIAL} or sk-0123456789abcdefgh is wrong; see https://host.example.org/v1?token=tok-abc, "
    "/home/someone/models/llava, /data/outside/mine/a.png and /srv/secret/model"
)


def set_environment(monkeypatch: pytest.MonkeyPatch, home: Path, root: Path) -> None:
    """Set the home folder and two keys, and write another address of an endpoint into the environment."""
    root.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PLANTED_KEY", KEY)
    monkeypatch.setenv("PLANTED_CREDENTIAL", CREDENTIAL)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gpu-box:8000/v1")
