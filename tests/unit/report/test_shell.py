"""The frame of the pages."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from itertools import count

import pytest

from known_unknowns.report import shell
from known_unknowns.report.private_texts import PrivateTexts

from .fake_run import params
from .pages import parse

TEMPLATE = """{% extends "shell.html.j2" %}{% block title %}{{ name }}{% endblock %}
{% block content %}<main id="content"><h1>{{ name }}</h1></main>{% endblock %}"""
HOSTILE = "<img src=x onerror=alert(1)>"


def page(tmp_path, *scripts: str, **settings):
    (tmp_path / "try.html.j2").write_text(TEMPLATE)
    paths = [tmp_path / f"{number}.js" for number, _ in enumerate(scripts)]
    for path, text in zip(paths, scripts, strict=True):
        path.write_text(text)
    environment = shell.environment(PrivateTexts({}), tmp_path)
    return shell.render(
        environment, "try.html.j2", params(), file="index.html", scripts=paths, name=HOSTILE, **settings
    )


def policy(text: str) -> dict[str, str]:
    (meta,) = [e for e in parse(text).all("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy"]
    return dict(part.strip().split(" ", 1) for part in meta.attributes["content"].split(";"))


def test_the_policy_allows_scripts_by_hash_and_no_request(tmp_path):
    text = page(tmp_path, "let a = '<b>';\n", "let c = 1 < 2 && 3;\n")
    inline = re.findall(r"<script>(.*?)</script>", text, flags=re.S)
    hashes = [source(script) for script in inline]
    assert policy(text)["default-src"] == "'none'"
    assert policy(text)["script-src"].split() == hashes
    assert len(hashes) == 2


def test_a_hash_that_looks_like_a_path_stays_in_the_policy(tmp_path):
    """About one of 100 hashes does."""
    scripts = (f"let a = {number};" for number in count())
    script = next(text for text in scripts if PrivateTexts({}).removed(source(text)) != source(text))
    assert policy(page(tmp_path, script))["script-src"] == source(script)


def source(script: str) -> str:
    """What allows a script in the policy."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def test_a_page_may_extend_the_policy(tmp_path):
    found = policy(page(tmp_path, "1;", policy={"script-src": "'strict-dynamic'", "img-src": "'self'"}))
    assert found["script-src"].endswith("' 'strict-dynamic'")
    assert found["img-src"] == "data: 'self'"


def test_a_script_with_a_closing_tag_is_refused(tmp_path):
    with pytest.raises(ValueError, match="closing script tag"):
        page(tmp_path, "'</script>'")


def test_the_navigation_marks_the_current_page_and_values_are_escaped(tmp_path):
    assert not parse(page(tmp_path)).all("img")
    found = parse(page(tmp_path)).all("a")
    assert [e.attributes["href"] for e in found if "aria-current" in e.attributes] == ["index.html"]
    assert "questions.html" in {e.attributes["href"] for e in found}
