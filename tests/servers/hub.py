"""A hub of data sets and models over HTTP, for huggingface_hub's client, that produces faults on request.

Small files are sent by the hub itself, large ones by its "CDN": another host, by an address with a signature, to which
nobody's token may be sent. ``faults`` says what happens to the first, second, ... request for a file's content
(afterwards all is well); the behaviours are the keys of `Hub.BEHAVIOURS`.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

SIGNATURE = "Signature=c2VjcmV0"


def blob_of(content: bytes) -> str:
    """The name of a git blob."""
    return sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class Request:
    """One request as it came; ``sent`` counts the bytes of the body that were sent back."""

    method: str
    path: str
    host: str
    range: str | None
    token: str | None
    if_range: str | None = None
    sent: int = 0


@dataclass
class Repository:
    """Branches and tags to commits, commits to files."""

    branches: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)


@dataclass(frozen=True)
class Body:
    """What a fault makes of a file's content: the bytes, how many of them are sent before the connection is reset,
    whether ranges are known, and the status instead."""

    content: bytes
    cut: int | None = None
    ranges: bool = True
    status: int | None = None


def _flipped(content: bytes) -> Body:
    place = len(content) // 2
    return Body(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])


class Hub:
    """The server: a context manager that runs it in threads.

    ``large``: from so many bytes on a file is in large storage. ``page``: so many files are listed at a time.
    ``token``: without it, every answer is 401. ``pace``: seconds between pieces of 64 KiB, for those who kill.
    """

    BEHAVIOURS: Mapping[str, Callable[[bytes], Body]] = {
        "ok": Body,
        "cut": lambda content: Body(content, cut=len(content) // 2),
        "cut_at_once": lambda content: Body(content, cut=0),
        "flip": _flipped,
        "no_ranges": lambda content: Body(content, ranges=False),
        "short": lambda content: Body(content[:-7]),
        "long": lambda content: Body(content + b"more"),
        "endless": lambda content: Body(content * 3 + bytes(2**21)),
        "missing": lambda content: Body(b"", status=404),
        "429": lambda content: Body(b"", status=429),
        "500": lambda content: Body(b"", status=500),
    }

    def __init__(
        self,
        faults: Mapping[str, Sequence[str]] | None = None,
        *,
        large: int = 1000,
        page: int = 1000,
        token: str | None = None,
        pace: float = 0.0,
    ) -> None:
        self.faults = {path: list(plan) for path, plan in (faults or {}).items()}
        self.large, self.page, self.token, self.pace = large, page, token, pace
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.log: list[Request] = []
        self._blobs: dict[str, tuple[str, bytes]] = {}
        self._plain: dict[str, bytes] = {}
        self.down = False
        self.portal = False  # as where one has to log in first: every address has a page

    # What it holds

    def commit(
        self, repository: str, files: Mapping[str, bytes], *, kind: str = "dataset", branch: str = "main"
    ) -> str:
        """Make ``files`` what the branch is now; the commit's name."""
        there = self.repositories.setdefault((kind, repository), Repository())
        content = json.dumps([sorted((path, blob_of(data)) for path, data in files.items()), len(there.commits)])
        commit = sha1(content.encode()).hexdigest()
        there.commits[commit] = dict(files)
        there.branches[branch] = commit
        for path, data in files.items():
            self._blobs[sha256(data).hexdigest()] = (path, data)
        return commit

    def asked(self, text: str) -> list[Request]:
        """The requests whose path contains ``text``."""
        return [request for request in self.log if text in request.path]

    def sent(self) -> int:
        """The bytes of files that were sent, from the hub and the CDN."""
        return sum(request.sent for request in self.log if "/resolve/" in request.path or "/cdn/" in request.path)

    # What it says

    def answer(self, request: Request, reply: _Reply) -> None:
        self.log.append(request)
        path = urlsplit(request.path).path  # matched as it came: a revision may have a slash in it
        if self.down:
            return reply.reset()
        if self.portal:
            reply.head(200, 14, {"Content-Type": "text/html"})
            return reply.write(b"<html>Welcome!")
        if path.startswith("/cdn/"):
            return self._content(request, reply, *self._blobs[path.removeprefix("/cdn/")])
        if path.startswith("/files/"):
            name = unquote(path.removeprefix("/files/"))
            return self._content(request, reply, name, self._plain[name])
        if self.token is not None and request.token != f"Bearer {self.token}":
            return reply.error(401, "RepoNotFound", "Invalid username or password.")
        if found := re.fullmatch(r"/api/(dataset|model)s/([^/]+/[^/]+)/(revision|tree)/([^/]+)", path):
            return self._api(request, reply, *map(unquote, found.groups()))
        if re.fullmatch(r"/api/(dataset|model)s/[^/]+/[^/]+/tree/[^/]+/.+", path):
            return reply.error(404, "EntryNotFound", "no such folder")
        if found := re.fullmatch(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            kind = "dataset" if found[1] else "model"
            return self._resolve(request, reply, kind, *map(unquote, found.groups()[1:]))
        return reply.error(404, "RepoNotFound", "no such path")

    def _find(self, reply: _Reply, kind: str, repository: str, revision: str) -> tuple[str, dict[str, bytes]] | None:
        there = self.repositories.get((kind, repository))
        if there is None:
            return reply.error(404, "RepoNotFound", "Repository not found")
        commit = there.branches.get(revision, revision)
        if commit not in there.commits:
            return reply.error(404, "RevisionNotFound", "Invalid rev id")
        return commit, there.commits[commit]

    def _api(self, request: Request, reply: _Reply, kind: str, repository: str, what: str, revision: str) -> None:
        found = self._find(reply, kind, repository, revision)
        if found is None:
            return
        commit, files = found
        if what == "revision":
            return reply.json({"id": repository, "sha": commit, "siblings": [{"rfilename": path} for path in files]})
        first = int(parse_qs(urlsplit(request.path).query).get("cursor", ["0"])[0])
        rows = [{"type": "directory", "path": "data", "oid": "0" * 40, "size": 0}]
        rows += [self._row(path, files[path]) for path in sorted(files)]
        headers = {}
        if first + self.page < len(rows):
            after = f"{request.path.partition('?')[0]}?recursive=True&cursor={first + self.page}"
            headers["Link"] = f'<http://{request.host}{after}>; rel="next"'
        return reply.json(rows[first : first + self.page], headers)

    def _row(self, path: str, content: bytes) -> dict[str, object]:
        row = {"type": "file", "path": path, "size": len(content), "oid": blob_of(content)}
        if len(content) >= self.large:
            row["lfs"] = {"oid": sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        return row

    def _resolve(self, request: Request, reply: _Reply, kind: str, repository: str, revision: str, path: str) -> None:
        found = self._find(reply, kind, repository, revision)
        if found is None:
            return
        commit, files = found
        if path not in files:
            return reply.error(404, "EntryNotFound", "Entry not found")
        content = files[path]
        digest = sha256(content).hexdigest()
        headers = {"X-Repo-Commit": commit, "ETag": f'"{blob_of(content)}"'}
        if len(content) >= self.large:
            headers |= {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(content))}
            headers["Location"] = f"{self.cdn}/cdn/{digest}?{SIGNATURE}"
            return reply.head(302, 0, headers)
        self._content(request, reply, path, content, headers)

    def _content(
        self, request: Request, reply: _Reply, path: str, content: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        headers = {"ETag": f'"{blob_of(content)}"'} | dict(headers or {})
        if request.method == "HEAD":
            return reply.head(200, len(content), headers)
        plan = self.faults.get(path, [])
        body = self.BEHAVIOURS[plan.pop(0) if plan else "ok"](content)
        if body.status is not None:
            return reply.error(body.status, "SomeError", "not now")
        start = 0
        vouched = request.if_range in (None, headers["ETag"])
        if body.ranges and vouched and request.range is not None:
            start = int(re.fullmatch(r"bytes=(\d+)-", request.range)[1])
            if start >= len(body.content):
                return reply.error(416, "Range", "out of range")
            headers["Content-Range"] = f"bytes {start}-{len(body.content) - 1}/{len(body.content)}"
        reply.head(206 if "Content-Range" in headers else 200, len(body.content) - start, headers)
        end = len(body.content) if body.cut is None else max(body.cut, start)
        for place in range(start, end, 2**16):
            piece = body.content[place : min(place + 2**16, end)]
            request.sent += len(piece)  # before the client can have it, so that a test reads the number afterwards
            try:
                reply.write(piece)
            except OSError:
                request.sent -= len(piece)
                raise
            time.sleep(self.pace)
        if body.cut is not None:
            reply.reset()

    # How it says it

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def cdn(self) -> str:
        return f"http://localhost:{self._server.server_port}"

    def address(self, name: str, content: bytes) -> str:
        """Serve ``content`` at a path; return its address."""
        self._plain[name] = content
        return f"{self.url}/files/{name}"

    def __enter__(self) -> Hub:
        hub = self

        class Handler(_Reply):
            def do_GET(self) -> None:
                names = ("Host", "Range", "Authorization", "If-Range")
                hub.answer(Request(self.command, self.path, *map(self.headers.get, names)), self)

            do_HEAD = do_GET

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Do not log errors: clients are killed and connections are reset."""


class _Reply(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def head(self, status: int, length: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(length), "Accept-Ranges": "bytes"} | dict(headers)).items():
            self.send_header(name, value)
        self.end_headers()

    def json(self, value: object, headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(value).encode()
        self.head(200, len(content), {"Content-Type": "application/json"} | dict(headers or {}))
        self.write(content)

    def error(self, status: int, code: str, message: str) -> None:
        self.head(status, 0, {"X-Error-Code": code, "X-Error-Message": message})

    def write(self, content: bytes) -> None:
        if self.command != "HEAD":
            self.wfile.write(content)

    def reset(self) -> None:
        """Reset the connection."""
        self.wfile.flush()
        time.sleep(0.05)  # what was sent arrives first
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def log_message(self, *_: object) -> None:
        pass
