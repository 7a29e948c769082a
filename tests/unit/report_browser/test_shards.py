"""Shards: what is written is read again, and no text can leave its string."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from known_unknowns.report.browser.build import data_block
from known_unknowns.report.browser.shards import ShardFolder, read

NASTY = st.sampled_from(["</script>", "<!--", "\u2028", "\u2029", '")', "\\", "\x00", "\u202e", "']", "\U0001f600"])
TEXTS = st.lists(NASTY | st.text(max_size=20), max_size=6).map("".join)
STATEMENT = re.compile(rb'shard\("[0-9a-f]{16}","[A-Za-z0-9+/=]*"\);\n')


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(value=st.recursive(TEXTS | st.none() | st.integers(-9, 9), lambda v: st.lists(v, max_size=4), max_leaves=12))
def test_any_text_survives_and_stays_inside_its_string(value, tmp_path):
    name = ShardFolder(tmp_path).write_json(value)
    assert STATEMENT.fullmatch((tmp_path / f"{name}.js").read_bytes())
    assert json.loads(read(tmp_path / f"{name}.js")) == value


@pytest.mark.parametrize("text", ["", "alert(1)", 'shard("0","eA==");\n', 'shard("0123456789abcdef","");alert(1)\n'])
def test_another_file_is_not_a_shard(tmp_path, text):
    (tmp_path / "0123456789abcdef.js").write_text(text)
    with pytest.raises(ValueError, match="not a shard"):
        read(tmp_path / "0123456789abcdef.js")


def test_a_shard_under_another_name_is_refused(tmp_path):
    name = ShardFolder(tmp_path).write(b"one")
    other = (tmp_path / f"{name}.js").rename(tmp_path / "0123456789abcdef.js")
    with pytest.raises(ValueError, match="another name"):
        read(other)


@given(TEXTS)
def test_the_data_block_of_the_page_has_no_markup(value):
    block = data_block([value])
    assert json.loads(block) == [value]
    assert block.isascii() and not set("<>&") & set(block)
