"""Mistakes in the address of an endpoint are told apart from those in the name of its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from known_unknowns.config import OpenAIModel
from known_unknowns.engines.endpoint.endpoint_check import check_endpoint
from known_unknowns.errors import ConfigError
from tests.servers.client import engine, turn
from tests.servers.endpoint import MODEL, Endpoint, Response


def test_a_page_in_place_of_the_list_of_models_is_a_warning(capsys, monkeypatch):
    with Endpoint() as server:
        monkeypatch.setattr(server, "_models", lambda: b"<html>Welcome</html>")
        assert check_endpoint("m", OpenAIModel(engine="openai", source=MODEL, base_url=server.url))["listed"] is None
    assert "cannot list its models (its reply is no such list; is base_url right?)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"error": {"message": f"The model `{MODEL}` does not exist"}}, "parrot.source: the endpoint does not know"),
        (
            {"detail": "Not Found"},
            r"parrot.base_url: .*/v1/chat/completions is not found \(Not Found\); most addresses end",
        ),
        (b"<html>404 Not Found</html>", r"parrot.base_url: .*/v1/chat/completions is not found"),
    ],
)
def test_a_question_that_is_not_found_names_the_model_or_the_address(body, told):
    with Endpoint(reply=lambda request: Response(404, body)) as server, pytest.raises(ConfigError, match=told):
        list(engine(server.url).answer([turn("q1")], folder=Path()))
