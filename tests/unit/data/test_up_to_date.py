from __future__ import annotations

import os
from pathlib import Path

from known_unknowns.data.up_to_date import UpToDate


def made(folder: Path, code: str = "1", settings: object = ("robust",)) -> tuple[UpToDate, Path, str]:
    """The record of a table that was made from one input, as a later process reads it."""
    state = UpToDate(folder / "made_from.json", code=code)
    return state, folder / "table", state.digest_of([folder / "input"], settings)


def written(folder: Path) -> None:
    (folder / "input").write_text("input")
    (folder / "table").write_text("table")
    state, table, digest = made(folder)
    assert not state.keep(table, digest)
    state.add(table, digest)


def test_a_table_is_kept_while_nothing_changes_and_gets_a_new_time(tmp_path):
    written(tmp_path)
    os.utime(tmp_path / "table", (1, 1))
    state, table, digest = made(tmp_path)
    assert state.keep(table, digest)
    assert table.stat().st_mtime > 1


def test_a_table_is_made_again_after_any_change(tmp_path):
    written(tmp_path)

    def kept(**changes) -> bool:
        state, table, digest = made(tmp_path, **changes)
        return state.keep(table, digest)

    assert not kept(code="2")
    assert not kept(settings=("official",))
    (tmp_path / "input").write_text("other")
    assert not kept()
    (tmp_path / "input").write_text("input")
    assert kept()
    (tmp_path / "table").write_text("changed by hand")
    assert not kept()
    (tmp_path / "table").unlink()
    assert not kept()


def test_a_damaged_record_keeps_nothing(tmp_path):
    written(tmp_path)
    (tmp_path / "made_from.json").write_text("{")
    state, table, digest = made(tmp_path)
    assert not state.keep(table, digest)


def test_without_a_file_nothing_is_recorded(tmp_path):
    (tmp_path / "table").write_text("table")
    UpToDate().add(tmp_path / "table", "digest")
    assert [path.name for path in tmp_path.iterdir()] == ["table"]
