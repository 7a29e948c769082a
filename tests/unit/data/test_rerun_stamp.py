"""The parameter of the lock in the workflow changes only if the lock's entry changes."""

from __future__ import annotations

import shutil

import pytest

from known_unknowns.config import locked_commits
from known_unknowns.data import lock_file, rerun_stamp

from .conftest import REPOSITORY


@pytest.fixture
def rule(serve, place):
    """The current parameter of the rule `fetch`."""
    hub = serve()
    hub.commit(REPOSITORY, {"a": b"1"})

    def given(name="humblebench"):
        return rerun_stamp.rule_parameter(place.out.with_name(name), place.params.data(name), place.lock_path)

    given.hub = hub
    return given


def move(place, hub, content):
    hub.commit(REPOSITORY, {"a": content})
    with lock_file.update(place.lock_path) as entries:
        (key,) = entries
        entries[key] = lock_file.resolve(locked_commits.Source("dataset", REPOSITORY, "main"), None)


def test_the_rule_fetch_reruns_once_after_the_source_moved(rule, place):
    was_given = rule()
    place.fetch()
    assert rule() == was_given == ""

    for content in (b"2", b"3"):
        move(place, rule.hub, content)
        now = rule()
        assert now != was_given
        shutil.rmtree(place.out)
        place.fetch()
        assert rule() == now
        was_given = now

    shutil.rmtree(place.out)
    place.fetch()
    assert rule() == was_given


def test_a_revision_in_params_does_not_depend_on_the_lock(rule, place):
    assert rule("actiview") == ""
