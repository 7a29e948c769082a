"""A server that the job starts, with a small server as the command. Real processes and HTTP."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from known_unknowns import stopping
from known_unknowns.config import typed_model
from known_unknowns.data import provenance
from known_unknowns.engines import gpus, launched_server, memory_needs, reference_prompt
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.inference import runner
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.model_runs import lazy_engine
from known_unknowns.model_runs.probe import probe
from known_unknowns.records import Cell
from tests.factories import question
from tests.paths import ROOT
from tests.servers.client import asked_once

PROGRAM = shlex.join([sys.executable, str(ROOT / "tests/servers/launched.py")])
JOURNAL = Path("journal/m/b.jsonl")
LOG = Path("results/server_logs/m/b.log")


@pytest.fixture(autouse=True)
def in_temporary_folder(tmp_path, monkeypatch):
    """Run in a temporary folder, without a proxy that works, and end the server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setattr(launched_server, "GRACE_SECONDS", 0.5)
    yield
    launched_server.stop()


def model(*arguments, launch=None, **entry):
    settings = {"command": PROGRAM, "arguments": [*arguments], **(launch or {})}
    return typed_model("m", {"engine": "openai", "source": "me/model", "max_retries": 0, "launch": settings} | entry)


def infer(count=3, *arguments, **changes):
    """Ask as `model_run.infer` does; return the number of new replies and the engine."""
    entry = model(*arguments, **changes)
    cells = {Cell("original", 0): (asked_once, [question(f"q{number}") for number in range(count)])}

    def before_asking(asked, has_replies):
        reference_prompt.check(asked, JOURNAL, has_replies=has_replies)

    with Journal(JOURNAL) as kept:
        engine = lazy_engine.engine("m", entry, JOURNAL)
        engine.notes = JOURNAL.with_suffix(".notes.jsonl")
        try:
            outcome = run(cells, engine, kept, folder=Path(), before_asking=before_asking)
        except lazy_engine.FactsChanged as changed:
            engine = changed.engine
            outcome = run(cells, engine, kept, folder=Path(), before_asking=before_asking)
        lazy_engine.write_facts(JOURNAL, entry, engine.facts, engine.about)
    assert {row.reply.text for row in outcome.replies[Cell("original", 0)]} == {"B"}
    return outcome.newly_asked, engine


def servers():
    """The processes of all servers so far."""
    return [int(line.split()[1]) for line in LOG.read_text().splitlines() if line.startswith("pid")]


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def ended(processes, seconds=5):
    end = time.monotonic() + seconds
    while any(map(is_running, processes)) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(processes) and not any(map(is_running, processes))


def test_it_answers_and_one_server_serves_the_whole_process():
    assert infer()[0] == 3
    assert infer(5)[0] == 2
    assert len(servers()) == 1 and is_running(servers()[0])
    launched_server.stop()
    assert ended(servers())


def test_a_complete_journal_starts_nothing_whatever_the_time_limit():
    _, first = infer()
    launched_server.stop()
    asked, engine = infer(launch={"wait_minutes": 3}, concurrency=2)
    assert asked == 0 and len(servers()) == 1
    assert engine.facts == first.facts


def test_another_version_asks_again(monkeypatch):
    infer()
    launched_server.stop()
    monkeypatch.setenv("SERVER_VERSION", "2.0")
    assert infer(4)[0] == 4  # one is missing, so that the server is started
    facts = json.loads(JOURNAL.with_suffix(".facts.json").read_text())["facts"]
    assert facts["server"]["version"] == "2.0"


def test_arguments_are_part_of_a_reply_and_port_key_and_folder_are_not(tmp_path):
    _, engine = infer()
    assert engine.facts["server"] == {
        "command": [Path(sys.executable).name, str(ROOT / "tests/servers/launched.py"), "me/model"],
        "version": "1.0",
    }
    text = json.dumps(engine.facts)
    assert "127.0.0.1" not in text
    launched_server.stop()
    facts = JOURNAL.with_suffix(".facts.json")
    facts.unlink()
    moved = tmp_path / Path(sys.executable).name
    moved.symlink_to(sys.executable)
    assert infer(launch={"command": PROGRAM.replace(sys.executable, str(moved), 1)})[0] == 0
    assert len(servers()) == 2
    assert infer(3, "--note", "x")[0] == 3
    assert infer(launch={"quantization": "fp8"})[0] == 3
    assert infer(revision="abc")[0] == 3


def test_the_start_of_the_server_is_no_time_of_asking(monkeypatch):
    """The second run knows the facts from the first one, and starts the server for its missing question only."""
    starts: list[float] = []

    def progress(*arguments):
        starts.append(time.monotonic())
        assert is_running(servers()[-1])
        return shown(*arguments)

    shown = runner.progress
    monkeypatch.setattr(runner, "progress", progress)
    for number in (1, 2):
        begun = time.monotonic()
        assert infer(number, "--starts-for", "1.5")[0] == 1
        assert starts[-1] - begun > 1.5
        launched_server.stop()
    with Journal(JOURNAL) as kept:
        assert all(reply.seconds < 1.5 for _, reply in kept.items())


def test_what_the_server_refuses_is_recorded_as_it_is_asked():
    """It is found at the start of each server, and in no file that another server could change."""
    asked, engine = infer(2, "--refuses", "temperature")
    assert asked == 2 and engine.facts["decoding"]["temperature"] is None and engine.facts["decoding"]["seed"] == 0
    assert list(engine.about["left_out"]) == ["temperature"]
    launched_server.stop()
    asked, engine = infer(3, "--refuses", "temperature")
    assert asked == 1 and engine.facts["decoding"]["temperature"] is None
    launched_server.stop()
    assert infer(3)[1].facts["decoding"]["temperature"] == 0


def test_the_command_has_what_the_entry_says():
    given = {"tensor_parallel_size": 4, "quantization": "fp8", "max_model_len": 4096, "command": "vllm serve"}
    entry = model("--dtype", "bfloat16", launch=given, revision="abc")
    assert shlex.join(launched_server.command_of(entry, entry.launch)) == (
        "vllm serve me/model --revision abc --served-model-name me/model@abc --tensor-parallel-size 4 "
        "--quantization fp8 --max-model-len 4096 --dtype bfloat16"
    )
    entry = model(launch={"command": "python -m server --model-path {source}"})
    assert launched_server.command_of(entry, entry.launch)[-2:] == ("--model-path", "me/model")


def test_the_lines_with_errors_are_shown_besides_the_end():
    noise = "\\n".join(["leaked function"] * 40)
    with pytest.raises(MachineError) as raised:
        infer(3, "--dies", f"ValueError: no room for the weights\\n{noise}".replace("\\n", "\n"))
    assert "ValueError: no room for the weights" in str(raised.value)
    assert str(raised.value).count("leaked function") == 15


def test_an_error_before_the_first_answer_is_not_shown_when_the_server_ends_later():
    """As `transformers serve` prints one for its list of models in an empty cache."""
    with pytest.raises(MachineError) as raised:
        infer(30, "--list-fails", "--dies-after", "24", concurrency=1)
    assert LOG.read_text().count("CacheNotFound") > 1
    assert "CacheNotFound" not in str(raised.value)
    assert str(raised.value).endswith("CUDA error: an illegal memory access")


def test_one_that_is_never_ready_is_ended_after_the_limit(capsys, monkeypatch):
    monkeypatch.setattr(launched_server, "_FIRST_REPORT", 0.2)
    with pytest.raises(
        MachineError, match=r"not answered within 0.01 minutes \(launch.wait_minutes\). Its log is results"
    ):
        infer(3, "--never-ready", launch={"wait_minutes": 0.01})
    assert ended(servers())
    assert re.search(r"m: waiting for the server for 0 s; its log: pid \d+", capsys.readouterr().err)


def test_one_that_dies_at_the_start_shows_the_end_of_its_log():
    with pytest.raises(MachineError, match=r"ended \(exit status 1\)(.|\n)*loading the weights\nCUDA out of memory"):
        infer(3, "--dies", "CUDA out of memory")
    assert LOG.read_text().count("loading") == 1


def test_one_that_dies_in_the_middle_stops_the_run_and_the_same_command_continues():
    start = time.monotonic()
    with pytest.raises(MachineError, match=r"ended \(exit status 7\)(.|\n)*asked q\d\nCUDA error: an illegal"):
        infer(6, "--dies-after", "6", concurrency=1)
    assert time.monotonic() - start < 20
    with Journal(JOURNAL) as kept:
        assert len(kept) == 4
    assert infer(6, "--dies-after", "6", concurrency=1)[0] == 2
    assert len(servers()) == 2


def test_a_port_that_another_server_has_taken_is_not_used(monkeypatch):
    """The other one answers at this port, and rejects the key."""
    free = launched_server._free_port
    taken = free()
    command = [*shlex.split(PROGRAM), "me/model", "--host", "127.0.0.1", "--port", str(taken)]
    with subprocess.Popen(command, env=os.environ | {"VLLM_API_KEY": "other"}, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout.readline().startswith(b"pid")
            time.sleep(0.3)
            ports = [taken]
            monkeypatch.setattr(launched_server, "_free_port", lambda: ports.pop() if ports else free())
            assert infer()[0] == 3
            assert "Address already in use" in LOG.read_text() and len(servers()) == 2
        finally:
            other.kill()


@pytest.mark.parametrize("arguments", [[], ["--stubborn"]])
def test_it_and_its_children_end_if_its_guard_is_killed(arguments):
    """A stubborn one and its child ignore SIGTERM."""
    _, engine = infer(3, *arguments)
    assert len(servers()) == 1 + len(arguments)
    engine._running_server().process.kill()
    assert ended(servers())


def test_options_that_only_sound_like_a_secret_are_allowed():
    model("--max-num-batched-tokens", "8", "--tokenizer", "x", "--tokenizer-mode", "slow", "--skip-tokenizer-init")


def test_the_content_of_a_config_file_is_part_of_the_identity():
    Path("server.yaml").write_text("dtype: float32")
    _, first = infer(3, "--config", "server.yaml")
    assert first.facts["server"]["files"].keys() == {"server.yaml"}
    launched_server.stop()
    assert infer(3, "--config", "server.yaml")[0] == 0
    Path("server.yaml").write_text("dtype: bfloat16")
    launched_server.stop()
    assert infer(3, "--config", "server.yaml")[0] == 3
    with pytest.raises(ConfigError, match=r"--config none.yaml: No such file"):
        infer(3, "--config=none.yaml")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start another user's process")
def test_the_key_is_not_sent_to_another_users_process(monkeypatch):
    """It answers whatever the key is, and records what it is sent."""
    program = (
        "import http.server as h, sys\n"
        "class H(h.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        print(self.headers.get('authorization'), flush=True)\n"
        "        self.send_response(200); self.end_headers()\n"
        "s = h.HTTPServer(('127.0.0.1', 0), H); print(s.server_port, flush=True); s.serve_forever()"
    )
    with subprocess.Popen(["/usr/bin/env", "python3", "-c", program], user=65534, stdout=subprocess.PIPE) as other:
        try:
            port = int(other.stdout.readline())
            monkeypatch.setattr(launched_server, "_free_port", lambda: port)
            with pytest.raises(MachineError, match=f"another user listens at the port {port} .*nothing was sent"):
                infer(3, "--deaf")
        finally:
            other.kill()
        assert other.stdout.read() == b""


def test_a_signal_ends_the_wait(monkeypatch):
    monkeypatch.setattr(stopping, "_since", 0.0)
    with pytest.raises(stopping.StoppedError):
        infer(3, "--never-ready")


def test_a_signal_that_ended_the_server_too_is_no_fault_of_the_server(monkeypatch):
    server = infer()[1]._running_server()
    launched_server.stop()
    monkeypatch.setattr(stopping, "_since", 0.0)
    with pytest.raises(stopping.StoppedError):
        server.raise_if_ended()


def test_the_key_is_required_and_nowhere_written(capfd, monkeypatch):
    monkeypatch.setattr(launched_server.secrets, "token_hex", lambda _: "the-key-of-this-server")
    _, engine = infer()
    server = engine._running_server()
    assert "the-key" not in repr(server) + repr(engine.settings) and "the-key" not in json.dumps(dict(engine.about))
    assert server._get("/v1/models")[0] == 200
    server.key = launched_server.ApiKey("another")
    assert server._get("/v1/models")[0] == 401
    written = [path for path in Path().rglob("*") if path.is_file()]
    assert LOG in written and JOURNAL in written
    assert not any(b"the-key" in path.read_bytes() for path in written)
    assert "the-key" not in "".join(capfd.readouterr())
    line = Path(f"/proc/{servers()[0]}/cmdline")
    assert not line.exists() or b"the-key" not in line.read_bytes()


def test_a_program_that_is_not_there_is_found_by_the_probe():
    with pytest.raises(ConfigError, match=r"models.m.launch.command: the program 'no-such-program' is not there"):
        probe("m", model(launch={"command": "no-such-program serve"}))
    assert probe("m", model())["checked"] == "program"
    assert not LOG.exists()


def test_a_server_gets_gpus_that_no_job_has_taken(monkeypatch, tmp_path):
    monkeypatch.setattr(provenance, "gpu_names", lambda: ("A", "B", "C", "D"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(gpus, "_LOCKS", [])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    visible = launched_server._visible_gpus.__wrapped__
    assert gpus.take(4) == 0
    assert visible(2) == {"CUDA_VISIBLE_DEVICES": "1,2"}
    with pytest.raises(MachineError, match="2 GPUs are needed, and other jobs have taken all but 1 of 4"):
        visible(2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")  # as Slurm does
    assert visible(2) == {}
    with pytest.raises(MachineError, match="4 GPUs are needed, and this machine has 2"):
        visible(4)
    os.close(gpus._LOCKS.pop())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,2,1,0")
    assert visible(1) == {"CUDA_VISIBLE_DEVICES": "0"}  # the fourth of them, as the others are taken


@pytest.mark.parametrize(
    ("chosen", "found"),
    [
        (None, ["0", "1", "2", "3"]),
        ("2,3", ["2", "3"]),
        ("", []),
        ("-1", []),
        ("1,7,2", ["1"]),
        ("GPU-8932f937,MIG-GPU-1/2/0", ["GPU-8932f937", "MIG-GPU-1/2/0"]),
    ],
)
def test_the_gpus_are_those_that_the_environment_allows(monkeypatch, chosen, found):
    monkeypatch.setattr(provenance, "gpu_names", lambda: ("A", "B", "C", "D"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert gpus.visible() == found


def test_without_the_drivers_tool_torch_says_which_gpus_there_are(monkeypatch):
    monkeypatch.setattr(provenance, "gpu_names", lambda: ())
    assert gpus.visible() == [str(index) for index in range(len(memory_needs.this_machine().gpus))]
    monkeypatch.setattr(memory_needs, "this_machine", lambda: memory_needs.Machine(64.0, (("MI300X", 192.0),) * 2))
    assert gpus.visible() == ["0", "1"]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"base_url": "http://127.0.0.1:1/v1"}, "launch and base_url exclude each other"),
        ({"key_env": "MY_KEY"}, "launch and key_env exclude each other"),
        ({"launch": {"arguments": ["--api-key=secret"]}}, "--api-key is not allowed .*; the job sets it"),
        ({"launch": {"arguments": ["--tensor_parallel_size", "4"]}}, "write launch.tensor_parallel_size"),
        ({"launch": {"command": "vllm serve -q fp8"}}, "write launch.quantization"),
        ({"launch": {"command": "vllm 'serve"}}, "command: No closing quotation"),
        ({"launch": {"arguments": ["--hf-token", "hf_abc"]}}, "--hf-token takes a secret.*HF_TOKEN"),
        ({"launch": {"arguments": ["--hf_token=hf_abc"]}}, "--hf_token takes a secret"),
        ({"launch": {"command": "vllm serve --ssl-password x"}}, "--ssl-password takes a secret"),
    ],
)
def test_a_mistake_in_the_entry_is_explained(entry, words):
    with pytest.raises(ConfigError, match=words):
        typed_model("m", {"engine": "openai", "source": "me/model", "launch": {}} | entry)
