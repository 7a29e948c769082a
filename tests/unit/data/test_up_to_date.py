from __future__ import annotations

import os
from pathlib import Path

from known_unknowns.data.up_to_date import UpToDate, restore_removed


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


def _again(table: Path) -> Path:
    table.write_text("table")
    return table


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


def test_a_removed_table_of_a_failed_job_is_put_back(tmp_path):
    """Snakemake removes all tables of a failed job, also those of models without an error."""
    written(tmp_path)
    (tmp_path / "table").unlink()
    restore_removed(tmp_path)
    assert (tmp_path / "table").read_text() == "table"
    (tmp_path / "table").unlink()
    state, table, digest = made(tmp_path)
    assert state.keep(table, digest) and table.read_text() == "table"
    table.write_text("a newer one")  # not the job's
    restore_removed(tmp_path)
    assert table.read_text() == "a newer one"


def test_only_sound_tables_of_the_same_inputs_are_put_back(tmp_path):
    written(tmp_path)
    (tmp_path / "table").unlink()
    (tmp_path / "input").write_text("other")
    state, table, digest = made(tmp_path)
    assert not state.keep(table, digest) and not table.exists()
    state.add(_again(table), digest)
    table.unlink()
    (copy,) = (tmp_path / "made_from.tables").iterdir()
    copy.write_text("damaged")
    state, table, digest = made(tmp_path)
    assert not state.keep(table, digest) and not table.exists()


def test_an_outdated_table_of_an_earlier_failed_job_is_not_put_back(tmp_path):
    written(tmp_path)
    (tmp_path / "input").write_text("other")
    state, table, digest = made(tmp_path)
    assert not state.keep(table, digest)  # it is to be made again, and that fails
    table.unlink()
    restore_removed(tmp_path)
    assert not table.exists()


def test_a_table_that_is_put_back_is_as_old_as_it_was(tmp_path):
    """Snakemake compares times: a table must not seem newer than inputs that have changed since."""
    written(tmp_path)
    state, table, digest = made(tmp_path)
    os.utime(table, (1, 1))
    state.add(table, digest)
    table.unlink()
    restore_removed(tmp_path)
    assert (tmp_path / "table").stat().st_mtime == 1


def test_a_successful_job_leaves_no_copies(tmp_path):
    written(tmp_path)
    state, table, digest = made(tmp_path)
    assert state.keep(table, digest)
    state.succeed()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input", "made_from.json", "table"]
    table.unlink()
    restore_removed(tmp_path)
    assert not table.exists()


def test_a_damaged_record_keeps_nothing(tmp_path):
    written(tmp_path)
    (tmp_path / "made_from.json").write_text("{")
    state, table, digest = made(tmp_path)
    assert not state.keep(table, digest)


def test_without_a_file_nothing_is_recorded(tmp_path):
    (tmp_path / "table").write_text("table")
    UpToDate().add(tmp_path / "table", "digest")
    assert [path.name for path in tmp_path.iterdir()] == ["table"]
