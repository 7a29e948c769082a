"""No page has a key, and no text of the project on a page is private. Texts of data and models stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from known_unknowns.records import Reply
from known_unknowns.report.private_texts import PrivateTexts
from tests.factories import params_from

from .conftest import write
from .fake_run import make
from .planted import CREDENTIAL, KEY, PLANTED, TEXT, set_environment

HOME, ROOT = Path("/home/me"), Path("/home/me/my project")
SERVED = {"engine": "openai", "source": "m"}
SETTINGS = {
    "models": {
        "a": SERVED | {"source": "/data/check points/llava", "key_env": "MY_KEY"},
        "b": SERVED | {"base_url": "http://10.1.2.3:8000/v1"},
        "c": SERVED | {"base_url": "http://data/v1"},
    },
    "tracking": {
        "enabled": True,
        "uri": "https://me:pass@runs.example.org",
        "artifacts": "mlartifacts",
        "experiment": "tests",
    },
}


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> PrivateTexts:
    monkeypatch.setattr(Path, "home", lambda: HOME)
    monkeypatch.setenv("MY_KEY", "0123-abcd-4567")
    return PrivateTexts.of(params_from(SETTINGS), ROOT)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see /home/me/my project/data/x.png", "see ./data/x.png"),
        ("-I/home/me/include", "-I~/include"),
        ("cannot read /opt/models/llava/config.json.", "cannot read config.json."),
        ("/data/check points/llava/config.json", "llava/config.json"),
        ("/data/check points/llava-next/x", "check points/llava-next/x"),
        ("path:/srv/a/b, '/srv/a/c'", "path:b, 'c'"),
        ("C:\\Users\\me\\model", "model"),
        ("file:///srv/a/b.csv and sqlite:////var/lib/runs.db", "b.csv and runs.db"),
        ("at http://10.1.2.3:8000/v1/chat?x=1: refused", "at [private address]: refused"),
        ("10.1.2.3:8000 and 192.168.0.7 and [::1]", "[private address] and [private address] and [::1]"),
        ("http://localhost/v1, localhost:11434", "[private address], [private address]"),
        ("(http://gpu1/v1)", "([private address])"),
        ("https://llm.internal/v1", "[private address]"),
        ("https://models.example.org:8443/v1", "[private address]"),
        ("https://me:pass@host.example.org/v1", "[private address]"),
        ("http://[fd00::1]/v1 http://host:port", "[private address] [private address]"),
        ("https://host.example.org/v1?a=1&api_key=abc#t", "https://host.example.org/v1?a=1&api_key=[key]#t"),
        ("https://host.example.org/#access_token=abc", "https://host.example.org/#access_token=[key]"),
        ("the key 0123-abcd-4567 is not valid", "the key [key] is not valid"),
        ("Incorrect API key: sk-proj-0123456789abcdef", "Incorrect API key: [key]"),
        ("hf_0123456789abcdefghij; Authorization: Bearer a.b-c_d=ef", "[key]; Authorization: Bearer [key]"),
    ],
)
def test_private_texts_are_removed(private, text, shown):
    assert private.removed(text) == shown
    assert private.removed(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "A",
        "write /no_think",
        "and/or, 3/4, a/b/c, ./data/x, ../data/x, ~/x",
        "<answer>B</answer></b></i><br/><br/>",
        "https://arxiv.org/abs/2606.14516.",
        "https://openreview.net/forum?id=abc&noteId=d",
        "https://api.openai.com/v1",
        "data, port 8000, versions 1.2.3 and 4.57.0.1, 8.8.8.8",
        "sk-learn, hf_hub",
    ],
)
def test_other_texts_stay(private, text):
    assert private.removed(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the key 0123-abcd-4567 is not valid", "the key [key] is not valid"),
        ("sk-proj-0123456789abcdef; Authorization: Bearer a.b-c_d=ef", "[key]; Authorization: Bearer [key]"),
        ("(http://10.1.2.3:8000/v1?a=1&api_key=abc).", "(http://10.1.2.3:8000/v1?a=1&api_key=[key])."),
    ],
)
def test_keys_are_removed_from_texts_of_data_and_models(private, text, shown):
    assert private.keys_removed(text) == shown
    assert private.keys_removed_from({"a": [text, 1]}) == {"a": [shown, 1]}


@pytest.mark.parametrize(
    "text",
    [
        "A. /usr/bin/python, B. /opt/conda/bin/python",
        "/home/me/my project/data/x.png, /data/check points/llava, C:\\Users\\me",
        "http://10.1.2.3:8000/v1, localhost:11434, 192.168.0.7, https://me@llm.internal/v1, file:///srv/a/b.csv",
    ],
)
def test_paths_and_addresses_of_data_and_models_stay(private, text):
    assert private.keys_removed(text) == text


def test_a_value_keeps_its_form(private):
    value = {"a": [1, None, "/srv/a/b"], "/srv/a/c": ({"x": 0.5},)}
    assert private.removed_from(value) == {"a": [1, None, "b"], "c": [{"x": 0.5}]}


@pytest.mark.usefixtures("no_figures")
def test_no_page_has_a_private_text(tmp_path, monkeypatch):
    """Planted in the entry of a model, the place of the data, the facts of the engine, and the errors of replies."""
    root = tmp_path / "project"
    set_environment(monkeypatch, tmp_path, root)
    run = make(
        root,
        questions=15,
        variants_kept=["original", "nota_only"],
        models=("oracle", "pocket"),
        reply=lambda model, question, dice: Reply("A") if model == "oracle" else Reply("", error=TEXT),
    )
    raw = run.params.file.plain()
    raw["benchmarks"]["humblebench"]["data"]["pocket"] = {"source": "folder", "path": "/data/outside/mine"}
    served = {"engine": "openai", "source": "/srv/secret/model", "base_url": "http://10.20.30.40:8000/v1"}
    raw["models"]["pocket"] = served | {"key_env": "PLANTED_CREDENTIAL"}
    run.params = params_from(raw)
    engine = run.results / "replies/pocket/humblebench/engine.json"
    facts = {"text": TEXT, "endpoint": served["base_url"], "folder": str(root / "models")}
    engine.write_text(json.dumps(json.loads(engine.read_text()) | {"facts": facts, "about": {TEXT: [TEXT]}}))
    write(run, root=root)
    pages = {path.name: path.read_text(encoding="utf-8") for path in run.page.parent.glob("*.html")}
    for name, page in pages.items():
        assert [text for text in [*PLANTED, str(tmp_path), KEY[:12], CREDENTIAL[:12]] if text in page] == [], name
    assert "[private address]" in pages["provenance.html"] and "[key]" in pages["provenance.html"]
    assert "Unusable: " in pages["index.html"] and "[private address]" in pages["index.html"]


@pytest.mark.usefixtures("no_figures")
def test_a_page_quotes_a_reply_as_the_model_wrote_it(tmp_path, monkeypatch):
    set_environment(monkeypatch, tmp_path, tmp_path / "project")
    quoted = "<b>/usr/bin/python</b> or /opt/conda/bin/python at http://10.20.30.40:8000"
    run = make(
        tmp_path / "project",
        questions=15,
        variants_kept=["original", "nota_only"],
        models=("oracle", "pocket"),
        reply=lambda model, question, dice: Reply("A" if model == "oracle" else f"{quoted} {KEY}"),
    )
    page = write(run, root=tmp_path / "project")["index.html"]
    (sentence,) = [each.text for each in page.all("p") if "Unusable: " in each.text]
    assert f"'{quoted} [key]'" in sentence
    assert not page.all("b")
