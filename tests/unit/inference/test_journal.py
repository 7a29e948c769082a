import json
import subprocess
import sys
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns.errors import MachineError
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.shards import combined_about
from known_unknowns.records import Reply

BATCHES = [
    [("k1", Reply("A", {"A": -0.1}, 10, 1)), ("k2", Reply("né\n\u2028E", error=None))],
    [("k3", Reply("", error="out of memory", finish="error"))],
    [("k4", Reply("B")), ("k5", Reply("C")), ("k6", Reply("D"))],
]


def write(path, batches):
    with Journal(path) as journal:
        for batch in batches:
            journal.append(batch)


def contents(path):
    with Journal(path) as journal:
        return {key: journal[key] for key in ("k1", "k2", "k3", "k4", "k5", "k6") if key in journal}


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_truncated_journal_keeps_its_complete_batches(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("journal") / "j"
    ends = []
    for batch in BATCHES:
        write(path, [batch])
        ends.append(path.stat().st_size)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    kept = [batch for batch, end in zip(BATCHES, ends, strict=True) if end <= cut]
    assert contents(path) == {key: reply for batch in kept for key, reply in batch}
    # What was torn off can be asked again, and the journal is then as if it had never been cut.
    write(path, BATCHES[len(kept) :])
    assert path.read_bytes() == whole


def test_a_torn_last_line_is_dropped_even_when_it_is_valid_json(tmp_path):
    write(tmp_path / "j", BATCHES[:1])
    with (tmp_path / "j").open("a") as file:
        file.write(json.dumps({"key": "k9", "i": 0, "n": 1, "reply": {"text": "A"}}))  # no newline: torn
    with Journal(tmp_path / "j") as journal:
        assert "k9" not in journal and len(journal) == 2


def test_a_second_process_is_refused(tmp_path):
    program = "import sys\nfrom known_unknowns.inference.journal import Journal\nJournal(sys.argv[1])"
    with Journal(tmp_path / "j"):
        other = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "j")], capture_output=True, text=True, check=False
        )
    assert other.returncode and "another run is writing this journal" in other.stderr
    with pytest.raises(MachineError), Journal(tmp_path / "j"):
        Journal(tmp_path / "j")


def test_a_line_has_no_field_with_its_default(tmp_path):
    """A full run has millions of lines. The checksum is that of the bytes before it."""
    write(tmp_path / "j", [[("k", Reply("B", {"A": -1.5}, seconds=0.25))]])
    text = b'{"key":"k","i":0,"n":1,"reply":{"text":"B","logprobs":{"A":-1.5},"seconds":0.25}'
    assert (tmp_path / "j").read_bytes() == text + b', "crc32": "%08x"}\n' % crc32(text)


def test_a_forgotten_reply_is_missing_until_the_journal_is_read_again(tmp_path):
    write(tmp_path / "j", BATCHES)
    with Journal(tmp_path / "j") as journal:
        journal.forget(["k1", "k4", "unknown"])
        assert "k1" not in journal and "k4" not in journal and "k2" in journal
    assert len(contents(tmp_path / "j")) == 6


def test_what_shards_report_is_combined():
    shards = [
        {
            "newly_asked": asked,
            "about": {"device": device, "sharing": {"prompts": {"tree": asked}, "differences": {"tree": difference}}},
        }
        for asked, device, difference in ((2, "cuda", 0.5), (3, "cpu", 0.25), (0, "idle", 1.0))
    ]
    found = combined_about({"device": "earlier"}, shards)
    assert found["device"] == "cpu; cuda"
    assert (found["sharing"]["prompts"], found["sharing"]["differences"]) == ({"tree": 5}, {"tree": 0.5})
    assert combined_about({"device": "earlier"}, shards[2:]) == {"device": "earlier"}
