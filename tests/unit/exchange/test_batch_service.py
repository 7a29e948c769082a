"""Batch services: a scripted service answers the files of requests, and its output becomes replies in the journal."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.config import Params
from known_unknowns.data.questions import normalise, vary
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.exchange import batch_service
from known_unknowns.exchange.batch_service import export_requests, import_replies
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.shards import replies_of
from known_unknowns.model_runs import model_run, probe
from known_unknowns.records import Reply
from known_unknowns.workflow import configuration
from tests.cells import read_replies
from tests.factories import published_row, write_published
from tests.paths import ROOT
from tests.servers.endpoint import MODEL, Endpoint, Response

QUESTIONS = 20
NOWHERE = "http://127.0.0.1:9/v1"


def project(folder: Path, *, url: str = NOWHERE, **entry: Any) -> Params:
    """A project with twenty questions on four images, which are asked again after a refusal."""
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["edition"] = "one"
    raw["editions"] = {
        "one": {"data": "full", "benchmarks": ["humblebench"], "models": ["hosted", "oracle"], "seeds": [0]}
    }
    of_benchmark = {"variants": ["original"], "seeds": {}, "protocol": "forced_choice"}
    raw["benchmarks"]["humblebench"] |= of_benchmark
    raw["models"] = {
        "hosted": {"engine": "openai", "source": MODEL, "base_url": url, "endpoint": "there", "max_retries": 0} | entry,
        "oracle": {"engine": "respondent", "behaviour": "oracle"},
    }
    folder.mkdir(exist_ok=True)
    (folder / "params.yaml").write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    params = configuration.load(folder / "params.yaml")
    files = EditionFiles.of(params, folder)
    rows = [published_row(number) for number in range(QUESTIONS)]
    for number, row in enumerate(rows):
        row["question"] = f"[q{number + 1}] {row['question']}"
    if not files.question_table("humblebench").is_file():
        write_published(folder / "raw", rows)
        normalise("humblebench", folder / "raw", files.questions("humblebench"))
        table = files.variants("humblebench") / "original.parquet"
        vary(params.variant("original"), files.question_table("humblebench"), table, seeds=[0])
    return params


def text_of(body: dict[str, Any]) -> str:
    """The scripted model: the refusal to every other question, and a letter in the second turn."""
    (text,) = [part["text"] for part in body["messages"][-1]["content"] if part["type"] == "text"]
    number = int(text.partition("]")[0].removeprefix("[q"))
    if "E. None of the above" in text and number % 2:
        return "E"
    return "ABCD"[zlib.crc32(json.dumps(body, sort_keys=True).encode()) % 4]


def completion(body: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": text_of(body), "refusal": None}
    usage = {"prompt_tokens": 50, "completion_tokens": 1, "total_tokens": 51}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}


def answered(line: dict[str, Any]) -> dict[str, Any]:
    response = {"status_code": 200, "request_id": "r", "body": completion(line["body"])}
    return {"id": f"batch_req_{line['custom_id'][:4]}", "custom_id": line["custom_id"], "response": response} | {
        "error": None
    }


def expired(line: dict[str, Any]) -> dict[str, Any]:
    error = {"code": "batch_expired", "message": "This request could not be executed before the completion window."}
    return {"id": "batch_req_x", "custom_id": line["custom_id"], "response": None, "error": error}


def failed(line: dict[str, Any], status: int, message: str) -> dict[str, Any]:
    response = {"status_code": status, "request_id": "r", "body": {"error": {"message": message, "type": "error"}}}
    return {"id": "batch_req_y", "custom_id": line["custom_id"], "response": response, "error": None}


def read(files: Iterable[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def serve(
    files: Iterable[Path], out: Path, answer: Callable[[dict[str, Any]], dict[str, Any]] = answered
) -> list[Path]:
    """The service: the lines come back in another order, the ones with an error in a file of their own."""
    lines = [answer(line) for line in reversed(read(files))]
    is_answer = [line["error"] is None and line["response"]["status_code"] == 200 for line in lines]
    parts = [[line for line, ok in zip(lines, is_answer, strict=True) if ok is kind] for kind in (True, False)]
    written = []
    for name, part in zip(("output", "errors"), parts, strict=True):
        if part:
            written.append(out.with_name(f"{out.name}_{name}.jsonl"))
            written[-1].write_text("".join(json.dumps(line) + "\n" for line in part), encoding="utf-8")
    return written


def journal(folder: Path) -> Path:
    return folder / "journal/hosted/humblebench.jsonl"


def infer(params: Params, folder: Path) -> list[Any]:
    files = EditionFiles.of(params, folder)
    model_run.infer(
        params,
        "hosted",
        "humblebench",
        questions=files.questions("humblebench"),
        variants=files.variants("humblebench"),
        out=files.replies("hosted", "humblebench").parent,
        journal=journal(folder),
    )
    return read_replies(files.replies("hosted", "humblebench"), "original")


def test_a_dialogue_takes_two_batches_and_gives_the_table_of_the_endpoint(tmp_path):
    params = project(tmp_path)
    first = export_requests(params, "hosted", None, tmp_path / "first", root=tmp_path)
    assert [file.name for file in first.files] == ["hosted-batch-1.jsonl"]
    requests = read(first.files)
    assert {(line["method"], line["url"]) for line in requests} == {("POST", "/v1/chat/completions")}
    assert len({line["custom_id"] for line in requests}) == QUESTIONS
    found = import_replies(params, "hosted", serve(first.files, tmp_path / "a"), root=tmp_path)
    assert (found.recorded["humblebench"], found.problems) == (QUESTIONS, [])
    # q1, q3, ... are refused; of these, the refusal is right for q5 and q15, which are not asked again
    assert found.missing == {"humblebench": 8}
    second = export_requests(params, "hosted", None, tmp_path / "second", root=tmp_path)
    assert len(read(second.files)) == 8
    requests += read(second.files)
    found = import_replies(params, "hosted", serve(second.files, tmp_path / "b"), root=tmp_path)
    assert found.missing == {"humblebench": 0}
    done = export_requests(params, "hosted", None, tmp_path / "third", root=tmp_path)
    assert done.files == () and "every turn" in done.notes[0]

    entry = params.model("hosted")
    assert probe.probe("hosted", entry, journal(tmp_path).parent)["checked"] == "journal"
    table = infer(params, tmp_path)  # nobody is at this address
    assert len(table) == QUESTIONS + 8
    with Endpoint(reply=lambda request: Response(200, completion(request.body))) as server:
        live = project(tmp_path / "live", url=server.url)
        expected = infer(live, tmp_path / "live")
        bodies = [request.body for request in server.log if request.path.endswith("/completions")]
    assert [(row.key, row.step, row.text, row.reply.text) for row in table] == [
        (row.key, row.step, row.text, row.reply.text) for row in expected
    ]

    def sorted_json(values: Iterable[dict[str, Any]]) -> list[str]:
        return sorted(json.dumps(value, sort_keys=True) for value in values)

    assert sorted_json(line["body"] for line in requests) == sorted_json(bodies)


def test_an_expired_batch_loses_nothing_and_is_imported_once(tmp_path):
    params = project(tmp_path)
    requests = export_requests(params, "hosted", "humblebench", tmp_path, root=tmp_path).files
    late = {line["custom_id"] for line in read(requests)[:5]}
    out = serve(requests, tmp_path / "a", lambda line: expired(line) if line["custom_id"] in late else answered(line))
    found = import_replies(params, "hosted", out, root=tmp_path)
    assert (found.recorded["humblebench"], list(found.unanswered.values())) == (15, [5])
    assert "batch_expired: This request could not be executed" in str(found)
    content = journal(tmp_path).read_bytes()
    again = import_replies(params, "hosted", out, root=tmp_path)
    assert (again.recorded["humblebench"], again.already["humblebench"]) == (0, 15)
    assert journal(tmp_path).read_bytes() == content
    rest = export_requests(params, "hosted", "humblebench", tmp_path / "rest", root=tmp_path).files
    assert late <= {line["custom_id"] for line in read(rest)}


def test_both_batches_of_a_dialogue_at_once_in_any_order(tmp_path):
    params = project(tmp_path)
    first = serve(export_requests(params, "hosted", None, tmp_path / "1", root=tmp_path).files, tmp_path / "a")
    import_replies(params, "hosted", first, root=tmp_path)
    second = serve(export_requests(params, "hosted", None, tmp_path / "2", root=tmp_path).files, tmp_path / "b")
    journal(tmp_path).unlink()
    found = import_replies(params, "hosted", [*second, *first], root=tmp_path)
    assert (found.recorded["humblebench"], found.missing["humblebench"]) == (QUESTIONS + 8, 0)


def test_rejected_requests_are_recorded_once_the_model_has_answered(tmp_path):
    params = project(tmp_path)
    requests = export_requests(params, "hosted", None, tmp_path, root=tmp_path).files
    large = read(requests)[0]["custom_id"]
    refused = serve(requests, tmp_path / "a", lambda line: failed(line, 400, "temperature is not supported"))
    found = import_replies(params, "hosted", refused, root=tmp_path)
    assert found.recorded["humblebench"] == 0 and sum(found.unanswered.values()) == QUESTIONS
    assert "temperature is not supported" in str(found)
    found = import_replies(params, "hosted", serve(requests, tmp_path / "b", failed_first(requests)), root=tmp_path)
    assert (found.recorded["humblebench"], found.rejected["humblebench"]) == (QUESTIONS, 1)
    reply = replies_of(journal(tmp_path))[large]
    assert (reply.finish, reply.error) == ("rejected", "status 400: the image is too large")
    # answers under other settings say nothing of these
    params = project(tmp_path, decoding={"temperature": 0.7})
    requests = export_requests(params, "hosted", None, tmp_path / "warm", root=tmp_path).files
    refused = serve(requests, tmp_path / "c", lambda line: failed(line, 400, "temperature is not supported"))
    found = import_replies(params, "hosted", refused, root=tmp_path)
    assert found.recorded["humblebench"] == 0 and found.missing["humblebench"] == QUESTIONS
    # an error file on its own, after the output
    out, errors = serve(requests, tmp_path / "d", failed_first(requests))
    import_replies(params, "hosted", [out], root=tmp_path)
    found = import_replies(params, "hosted", [errors], root=tmp_path)
    assert (found.recorded["humblebench"], found.rejected["humblebench"]) == (1, 1)


def failed_first(requests: Iterable[Path]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The service has a limit of the size of images, which the first request exceeds."""
    first = read(requests)[0]["custom_id"]
    return lambda line: failed(line, 400, "the image is too large") if line["custom_id"] == first else answered(line)


@pytest.mark.parametrize(("status", "message"), [(429, "slow down"), (500, "oh no"), (401, "wrong key")])
def test_faults_of_the_service_are_not_recorded(tmp_path, status, message):
    params = project(tmp_path)
    requests = export_requests(params, "hosted", None, tmp_path, root=tmp_path).files
    bad = {line["custom_id"] for line in read(requests)[:3]}
    out = serve(
        requests,
        tmp_path / "a",
        lambda line: failed(line, status, message) if line["custom_id"] in bad else answered(line),
    )
    found = import_replies(params, "hosted", out, root=tmp_path)
    assert found.recorded["humblebench"] == QUESTIONS - 3
    assert found.unanswered == {f"status {status}: error: {message}": 3}


def test_lines_of_another_model_and_unknown_ones_are_named_and_the_others_recorded(tmp_path):
    params = project(tmp_path)
    requests = export_requests(params, "hosted", None, tmp_path, root=tmp_path).files
    lines = [answered(line) for line in read(requests)]
    lines[0]["response"]["body"]["model"] = "another-1"
    lines[1]["custom_id"] = "q1"
    lines[2]["response"]["body"]["choices"] = []
    lines[3] = {"custom_id": lines[3]["custom_id"]}
    file = tmp_path / "output.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"custom_id": "cut', encoding="utf-8")
    found = import_replies(params, "hosted", [file], root=tmp_path)
    assert found.recorded["humblebench"] == QUESTIONS - 4
    told = sorted(map(str, found.problems))
    expected = {
        1: "another model answered: 'another-1' where 'parrot-1' was asked",
        2: "the custom_id 'q1' is of no turn of hosted in the edition one",
        3: "a completion without a choice",
        4: "not a line of a batch service's output",
        21: "the file ends within the line",
    }
    assert len(told) == 5
    for line, message in expected.items():
        assert any(f"output.jsonl, line {line}:" in text and message in text for text in told), (line, told)


def test_requests_of_other_settings_are_unknown(tmp_path):
    requests = export_requests(project(tmp_path), "hosted", None, tmp_path, root=tmp_path).files
    out = serve(requests, tmp_path / "a")
    changed = project(tmp_path, decoding={"temperature": 0.7})
    found = import_replies(changed, "hosted", out, root=tmp_path)
    assert len(found.problems) == QUESTIONS and "was it exported with other settings" in str(found.problems[0])
    assert not journal(tmp_path).exists()


def test_files_keep_to_the_limits_of_the_service(tmp_path, monkeypatch):
    params = project(tmp_path)
    monkeypatch.setattr(batch_service, "MAX_REQUESTS", 8)
    files = export_requests(params, "hosted", None, tmp_path / "a", root=tmp_path).files
    assert [len(read([file])) for file in files] == [8, 8, 4]
    size = max(len(line) for file in files for line in file.read_bytes().splitlines(keepends=True))
    monkeypatch.setattr(batch_service, "MAX_BYTES", 3 * size)
    smaller = export_requests(params, "hosted", None, tmp_path / "b", root=tmp_path).files
    assert max(file.stat().st_size for file in smaller) <= 3 * size and len(read(smaller)) == QUESTIONS
    monkeypatch.setattr(batch_service, "MAX_BYTES", size - 1)
    with pytest.raises(DataError, match=r"the request of question '\d+' has .* bytes.*send smaller images"):
        export_requests(params, "hosted", None, tmp_path / "c", root=tmp_path)


def test_what_an_export_needs(tmp_path):
    params = project(tmp_path)
    with pytest.raises(ConfigError, match="oracle: the engine respondent has no batch service"):
        export_requests(params, "oracle", None, tmp_path, root=tmp_path)
    with pytest.raises(ConfigError, match="MODEL: edition one: 'host' is not known; did you mean 'hosted'"):
        export_requests(params, "host", None, tmp_path, root=tmp_path)
    notes = export_requests(params, "hosted", None, tmp_path, root=tmp_path).notes
    assert ["models probe hosted --again" in note for note in notes] == [True]
    with pytest.raises(ConfigError, match=r"hosted-batch-1\.jsonl is of an earlier export"):
        export_requests(params, "hosted", None, tmp_path, root=tmp_path)
    table = EditionFiles.of(params, tmp_path).variants("humblebench") / "original.parquet"
    table.unlink()
    with pytest.raises(DataError, match=r"snakemake results/one/variants/humblebench/original\.parquet"):
        export_requests(params, "hosted", None, tmp_path / "b", root=tmp_path)


def test_a_run_that_writes_the_journal_keeps_it(tmp_path):
    params = project(tmp_path)
    out = serve(export_requests(params, "hosted", None, tmp_path, root=tmp_path).files, tmp_path / "a")
    journal(tmp_path).parent.mkdir(parents=True)
    with Journal(journal(tmp_path)) as held:
        held.append([("0" * 64, Reply("A"))])
        with pytest.raises(MachineError, match="another run is writing this journal"):
            import_replies(params, "hosted", out, root=tmp_path)


def test_the_commands(tmp_path, monkeypatch):
    project(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = CliRunner()
    done = command.invoke(cli.app, ["export", "hosted", "--format", "openai_batch"])
    assert done.exit_code == 0 and "hosted-batch-1.jsonl" in done.output, done.output
    (out,) = serve([Path("hosted-batch-1.jsonl")], tmp_path / "a")
    done = command.invoke(cli.app, ["import-batch", "hosted", str(out)])
    assert done.exit_code == 0, done.output
    assert done.output == "humblebench: 20 replies recorded; 8 turns have no reply yet\n"
    done = command.invoke(cli.app, ["import-batch", "hosted", "hosted-batch-1.jsonl"])
    assert done.exit_code == 3 and "and 19 further lines" in done.output
    done = command.invoke(cli.app, ["export", "hosted", "--format", "openai_batch", "--variant", "original"])
    assert "openai_batch has all variants, seeds and samples" in str(done.exception)
