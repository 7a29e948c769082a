"""No message about the configuration shows a value that may contain a secret."""

import copy
import traceback

import pytest

from known_unknowns import config
from known_unknowns.config.redaction import invalid
from known_unknowns.errors import ConfigError
from tests.paths import ROOT

SOUND = config.read(ROOT / "params.yaml")
HOSTED = {"engine": "openai", "source": "m"}
SECRET = "hunter2"


def message(models):
    """All that a mistake in these models shows, the traceback included."""
    with pytest.raises(ConfigError) as raised:
        config.check(SOUND | {"models": copy.deepcopy(SOUND["models"]) | models})
    return "".join(traceback.format_exception(raised.value)) + str(raised.value)


ADDRESSES = {
    "password": "https://me:hunter2@host/v1",
    "password with a slash": "https://me:hun/hunter2@host/v1",
    "query": "https://host/v1?key=hunter2",
    "another scheme": "ftp://me:hunter2@host/v1",
    "no scheme": "me:hunter2@host/v1",
    "an open bracket": "https://[hunter2/v1",
    "a character that urlsplit rejects": "https://hunter2\u2100.com/v1",
}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
def test_an_invalid_address_is_not_printed(address):
    text = message({"hosted": HOSTED | {"base_url": address}})
    assert "models.hosted.base_url: " in text
    assert SECRET not in text


def test_an_endpoint_name_that_is_an_address_may_have_no_secret():
    text = message({"hosted": HOSTED | {"endpoint": "https://me:hunter2@host/v1"}})
    assert "models.hosted.endpoint: " in text and SECRET not in text
    named = SOUND["models"] | {"hosted": HOSTED | {"endpoint": "vllm#2"}}
    assert config.check(SOUND | {"models": named}).model("hosted").endpoint == "vllm#2"


ENTRIES = {
    "the variable's name": HOSTED | {"key_env": "sk-hunter2"},
    "an unknown key": HOSTED | {"api_key": "hunter2"},
    "an address under another key": HOSTED | {"timeout": "https://me:hunter2@host"},
    "an address for an entry": "https://me:hunter2@host",
    "a header": HOSTED | {"headers": {"Authorization": "Bearer hunter2"}},
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_values_of_a_model_that_may_be_secret_are_not_printed(entry):
    text = message({"hosted": entry})
    assert "models.hosted" in text and SECRET not in text


@pytest.mark.parametrize("name", ["api_key", "Authorization"])
def test_values_whose_key_suggests_a_secret_are_not_printed(name):
    text = message({name: "hunter2"})
    assert f"models.{name}: " in text and SECRET not in text


def test_an_invalid_line_is_not_printed(tmp_path):
    """PyYAML's own message repeats the line."""
    (tmp_path / "params.yaml").write_text("models:\n  m:\n    api_key: hunter2: x\n")
    with pytest.raises(ConfigError) as raised:
        config.read(tmp_path / "params.yaml")
    shown = "".join(traceback.format_exception(raised.value))
    assert "mapping values are not allowed here (line 3, column 21)" in shown and SECRET not in shown


def test_the_address_of_a_folder_is_shown():
    """It has no place for a password, and the message must say which repository is wrong."""
    where = ("repository",)
    assert "'file:///data/mirror' is not valid" in invalid(where, "file:///data/mirror", "String should match")
    assert "mirror" not in invalid(where, "https://user:mirror@example.org", "String should match")
