"""Names of files and fields in the data's entry of params.yaml."""

from __future__ import annotations

import pytest

from known_unknowns.errors import ConfigError
from known_unknowns_benchmarks.mmsap.format import Fields
from tests.factories import data_entry


def test_the_number_of_rendered_images_is_not_a_folder():
    assert Fields.from_settings(data_entry("scenes", images=330)).images is None
    assert Fields.from_settings(data_entry("hub", images="pictures")).images == "pictures"


def test_an_own_folder_may_name_its_fields_but_not_answers_by_number():
    fields = {"question": "query", "options": ["a", "b"]}
    found = Fields.from_settings(data_entry("folder", fields=fields))
    assert (found.question, found.options, found.answer) == ("query", ("a", "b"), "answer")
    with pytest.raises(ConfigError, match=r"answer_is: 'number' is not known"):
        Fields.from_settings(data_entry("folder", answer_is="number"))
    with pytest.raises(ConfigError, match=r"refusal: is \['a', 'b'\], not a text"):
        Fields.from_settings(data_entry("folder", refusal=["a", "b"]))
