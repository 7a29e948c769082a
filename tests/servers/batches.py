"""The Batch API of the test endpoint: files, batches and their faults."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any


class BatchApi:
    """Keeps files and batches in memory. A batch is over when it was looked at ``polls`` times.

    ``ends`` are the statuses that one after the other ends with (then "completed"); with "expired" only the first half
    was answered. ``lost`` makes so many of the next submissions succeed without a word: the connection is cut instead
    of a reply (a status of 0). With another ``create_status`` than 200 they are declined.
    """

    def __init__(self, chat: Callable[[dict[str, Any]], Any]) -> None:
        self._chat = chat
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.polls, self.lost, self.create_status = 1, 0, 200
        self.ends: list[str] = []
        self._looked: dict[str, int] = {}

    def respond(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[int, Any]:
        parts = path.removeprefix("/v1/").split("/")
        match method, parts:
            case "POST", ["files"]:
                return 200, self._upload(headers, raw)
            case "GET", ["files", name, "content"]:
                return 200, self.files[name]
            case "POST", ["batches"]:
                if self.create_status != 200:
                    return self.create_status, {"error": {"message": "no batches just now"}}
                batch = self._create(json.loads(raw))
                self.lost -= 1
                return (0 if self.lost >= 0 else 200), batch
            case "GET", ["batches"]:
                newest = list(reversed(self.batches.values()))
                return 200, {"object": "list", "data": newest, "has_more": False, "first_id": None, "last_id": None}
            case "GET", ["batches", name]:
                return 200, self._look(name)
        return 404, {"error": {"message": f"no such path: {path}"}}

    def requests(self, batch: str) -> list[dict[str, Any]]:
        """The lines that were submitted as this batch."""
        return [json.loads(line) for line in self.files[self.batches[batch]["input_file_id"]].splitlines()]

    def _upload(self, headers: Mapping[str, str], raw: bytes) -> dict[str, Any]:
        boundary = re.search(r"boundary=([^;]+)", headers["content-type"])[1].strip('"').encode()
        for part in raw.split(b"--" + boundary):
            head, _, content = part.partition(b"\r\n\r\n")
            if b'name="file"' in head:
                return self._keep("file", content.removesuffix(b"\r\n"))
        raise ValueError("no file in the upload")

    def _keep(self, kind: str, content: bytes) -> dict[str, Any]:
        name = f"{kind}-{len(self.files)}"
        self.files[name] = content
        about = {"object": "file", "bytes": len(content), "created_at": 1, "filename": name, "purpose": "batch"}
        return {"id": name, "status": "processed"} | about

    def _create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        name = f"batch_{len(self.batches)}"
        self.batches[name] = {"id": name, "object": "batch", "created_at": 2**31, "status": "in_progress", **body}
        return self.batches[name]

    def _look(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        self._looked[name] = self._looked.get(name, 0) + 1
        if self._looked[name] >= self.polls and batch["status"] == "in_progress":
            self._end(batch)
        return batch

    def _end(self, batch: dict[str, Any]) -> None:
        batch["status"] = self.ends.pop(0) if self.ends else "completed"
        if batch["status"] == "failed":
            batch["errors"] = {"object": "list", "data": [{"code": "x", "message": "too many tokens enqueued"}]}
            return
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        reached = len(lines) // 2 if batch["status"] == "expired" else len(lines)
        good, bad = [], []
        for line in lines[:reached]:
            response = self._chat(line["body"])
            row = {"id": "x", "custom_id": line["custom_id"], "error": None}
            row["response"] = {"status_code": response.status, "body": response.body}
            (good if response.status == 200 else bad).append(row)
        for line in lines[reached:]:
            problem = {"code": "batch_expired", "message": "This request could not be executed in time."}
            bad.append({"id": "x", "custom_id": line["custom_id"], "response": None, "error": problem})
        for field, rows in (("output_file_id", good), ("error_file_id", bad)):
            if rows:
                text = "".join(json.dumps(row) + "\n" for row in reversed(rows))
                batch[field] = self._keep("file", text.encode())["id"]
