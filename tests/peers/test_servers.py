"""Released servers give the replies of the engine `transformers`: real processes with one tiny checkpoint.

`transformers serve` is installed with the project. vLLM needs an environment of its own; it is used if the program
`vllm` is on PATH, or in the folder that the variable KNOWN_UNKNOWNS_VLLM names.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pytest

from known_unknowns import engines
from known_unknowns.config import OpenAIModel, typed_model
from known_unknowns.engines import launched_server
from known_unknowns.errors import ConfigError
from known_unknowns.images import recipe_image
from known_unknowns.model_runs.probe import probe
from known_unknowns.records import Image, Reply, Turn
from tests.factories import model_entry
from tests.servers.processes import started

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")]

LETTERS = ("A", "B", "C", "D", "E")
SIZES = [recipe_image("normal-noise", *size) for size in ((64, 32, 1), (24, 48, 2), (32, 32, 3), (48, 48, 4))]
TILES = [recipe_image("normal-noise", 32, 32, seed) for seed in range(4)]
"""Images that no processor resizes: torchvision (in vLLM) and PIL (here) round the pixels of others differently."""
QUESTIONS = (
    "What colour is the ball?\nA. Red\nB. Blue\nC. Green\nD. Yellow\nE. None of the above",
    "Which animal sits beside the tree?\nA. A cat\nB. A dog\nC. A cow\nD. A fox\nE. None of the above",
    "How many chairs are there?\nA. Two\nB. Three\nC. Four\nD. Five\nE. None of the above",
    "Is it open?\nA. Yes\nB. No\nC. Both\nD. Neither\nE. None of the above",
    "Describe what you see in a few words.",
)
VLLM = shutil.which("vllm", path=os.pathsep.join([os.environ.get("KNOWN_UNKNOWNS_VLLM", ""), os.environ["PATH"]]))


def turns(images: Sequence[Image]) -> list[Turn]:
    """Twenty: each question about each image. The last one has no options, and few tokens for its answer."""
    asked = [(text, LETTERS, 12) for text in QUESTIONS[:-1]] + [(QUESTIONS[-1], None, 4)]
    return [
        Turn(f"q{image.source}-{text}", "answer", (image, text), labels, max_new_tokens=limit)
        for image in images
        for text, labels, limit in asked
    ]


def answers(engine: engines.Engine, images: Sequence[Image]) -> list[Reply]:
    return ask(engine, turns(images))


def ask(engine: engines.Engine, asked: Sequence[Turn]) -> list[Reply]:
    pairs = [pair for batch in engine.answer(asked, folder=Path()) for pair in batch]
    return [reply for _, reply in sorted(pairs, key=lambda pair: pair[0])]


def likelihoods(image: Image) -> list[Turn]:
    """Options of several scripts, with characters of several tokens, and one that begins another."""
    options = (("Red", "Red ball"), ("5", "-5"), ("🍎", "pie 🍎"), ("猫", "ไก่"), ("ÄÖ", "None of the above"))
    shown = (image, QUESTIONS[0])
    return [Turn(f"l{n}", "likelihood", shown, ("A", "B"), 0, continuations=texts) for n, texts in enumerate(options)]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.unit.engines.tiny import released

    folder = tmp_path_factory.mktemp("checkpoint") / "tiny-llava"
    released.build(folder)
    return folder


@pytest.fixture(scope="module")
def local(checkpoint: Path) -> engines.Engine:
    """The engine in this process."""
    settings = {"source": str(checkpoint), "revision": "unpinned", "dtype": "float32", "device": "cpu"}
    return engines.create("tiny", model_entry("transformers", **settings))


def assert_equal(replies: Sequence[Reply], expected: Sequence[Reply]) -> None:
    assert len({reply.text for reply in expected}) > 5 and {reply.finish for reply in expected} == {"stop", "length"}
    assert [reply.error for reply in replies] == [None] * len(expected)
    for name in ("input_tokens", "text", "finish"):
        assert [getattr(reply, name) for reply in replies] == [getattr(reply, name) for reply in expected]


def test_transformers_serve(checkpoint, local, tmp_path, capsys):
    """It ignores log-probabilities, and cannot list its models in a new cache (status 500)."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "new"), "PYTHONUNBUFFERED": "1"}
    program = Path(sys.executable).with_name("transformers")
    command = [program, "serve", checkpoint, "--device", "cpu", "--dtype", "float32"]
    with started(*command, environment=environment, folder=tmp_path) as server:
        entry = {"engine": "openai", "source": str(checkpoint), "base_url": f"{server.url}/v1", "max_retries": 0}
        expected = answers(local, SIZES)
        server.wait("/health", seconds=240)
        engine = engines.create("served", typed_model("served", entry))
        assert_equal(answers(engine, SIZES), expected)
        assert engine.about["served"] == {"listed": None}
        assert "cannot list its models (status 500)" in capsys.readouterr().err
        unchecked = engines.create("served", typed_model("served", entry | {"check_served": False}))
        assert_equal(answers(unchecked, SIZES), expected)
        assert "cannot list its models" not in capsys.readouterr().err


@contextmanager
def launched(checkpoint: Path, folder: Path, launch: dict) -> Iterator[engines.Engine]:
    """The engine with a server that it starts. A server on a busy machine closes connections that wait too long."""
    entry = {"engine": "openai", "source": str(checkpoint), "max_retries": 3, "launch": launch}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in [name for name in os.environ if name.startswith(("PYTHON", "PYTEST"))]:
            patch.delenv(name)
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        try:
            yield engines.create("served", typed_model("served", entry))
            assert Path("results/server_logs/served/server.log").stat().st_size
        finally:
            launched_server.stop()


def test_transformers_serve_as_a_server_that_the_job_starts(checkpoint, local, tmp_path):
    command = shlex.join([str(Path(sys.executable).with_name("transformers")), "serve"])
    arguments = ["--device", "cpu", "--dtype", "float32"]
    with launched(checkpoint, tmp_path, {"command": command, "arguments": arguments, "wait_minutes": 4}) as engine:
        assert_equal(answers(engine, SIZES), answers(local, SIZES))
        command = ["transformers", "serve", str(checkpoint), *arguments]
        assert engine.facts["server"] == {"command": command, "version": version("transformers")}


@pytest.mark.skipif(VLLM is None, reason="vllm is neither on PATH nor in the folder KNOWN_UNKNOWNS_VLLM names")
@pytest.mark.timeout(1200)
def test_vllm_as_a_server_that_the_job_starts(checkpoint, local, tmp_path):
    arguments = ["--dtype", "float32", "--seed", "0", "--limit-mm-per-prompt", '{"image": 2}', "--enforce-eager"]
    launch = {"command": f"{VLLM} serve", "max_model_len": 1024, "arguments": arguments, "wait_minutes": 15}
    with launched(checkpoint, tmp_path, launch) as engine:
        assert_equal(answers(engine, TILES), answers(local, TILES))
        assert engine.facts["server"]["version"] and engine._running_server()._get("/v1/models")[0] == 200


@pytest.mark.skipif(VLLM is None, reason="vllm is neither on PATH nor in the folder KNOWN_UNKNOWNS_VLLM names")
@pytest.mark.timeout(1200)
def test_vllm(checkpoint, local, tmp_path, monkeypatch):
    """On a CPU, with log-probabilities and a key."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    environment |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    command = [VLLM, "serve", checkpoint, "--served-model-name", "tiny@1", "--dtype", "float32", "--seed", "0"]
    limits = ["--max-model-len", "1024", "--max-logprobs", "20", "--limit-mm-per-prompt", '{"image": 2}']
    command += [*limits, "--api-key", "the-right-key", "--enforce-eager"]
    with started(*command, environment=environment, folder=tmp_path) as server:
        expected = answers(local, TILES)
        server.wait("/health", seconds=900)
        entry = {"engine": "openai", "source": "tiny", "revision": "1", "base_url": f"{server.url}/v1"}
        monkeypatch.setenv("OPENAI_API_KEY", "the-wrong-key")
        with pytest.raises(ConfigError, match="does not take the key"):
            probe("served", OpenAIModel(**entry))
        monkeypatch.setenv("OPENAI_API_KEY", "the-right-key")
        found = probe("served", OpenAIModel(**entry))
        assert found["endpoint"]["listed"] and found["left_out"] == {}
        engine = engines.create("served", typed_model("served", entry))
        replies = answers(engine, TILES)
        assert_equal(replies, expected)
        assert engine.about["served"]["id"] == "tiny@1" and engine.about["left_out"] == {}
        compared = 0
        for reply, ours in zip(replies, expected, strict=True):
            for label, value in (reply.logprobs or {}).items():
                assert value == pytest.approx(ours.logprobs[label], abs=1e-3)
                compared += 1
        assert compared >= 16
        asked = likelihoods(TILES[0])
        for reply, ours in zip(ask(engine, asked), ask(local, asked), strict=True):
            for label, value in ours.continuations.items():
                assert reply.continuations[label].tokens == value.tokens
                assert reply.continuations[label].logprob == pytest.approx(value.logprob, abs=1e-3)
        reference = engine.reference_prompt()
        text = local.reference_prompt()["text"]
        assert reference["rendered"] == text.replace("<image>", "") and reference["versions"]["server"]
