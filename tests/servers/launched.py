"""A chat server as a program, which jobs start (`launch`): python launched.py MODEL --host HOST --port PORT [OPTIONS].

It requires the key of VLLM_API_KEY, answers B, and prints its process and each question ("[q17] Which?").
SERVER_VERSION is the version that it reports. It needs only Python's library, so that it starts at once.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PARSER = argparse.ArgumentParser()
PARSER.add_argument("model")
PARSER.add_argument("--host")
PARSER.add_argument("--port", type=int)
PARSER.add_argument("--revision")
PARSER.add_argument("--served-model-name")
PARSER.add_argument("--tensor-parallel-size")
PARSER.add_argument("--quantization")
PARSER.add_argument("--max-model-len")
PARSER.add_argument("--config", help="Nothing: a file of settings.")
PARSER.add_argument("--deaf", action="store_true", help="Listen at no port.")
PARSER.add_argument("--never-ready", action="store_true")
PARSER.add_argument("--dies", help="End at the start with this message.")
PARSER.add_argument("--dies-after", type=int, default=10**9, help="End after so many replies.")
PARSER.add_argument("--stubborn", action="store_true", help="Ignore SIGTERM, and so does a child process.")
PARSER.add_argument("--seconds", type=float, default=0, help="Duration of each reply.")
PARSER.add_argument("--starts-for", type=float, default=0, help="Duration of the start.")
PARSER.add_argument("--refuses", default="", help="A parameter that is answered with status 400.")
PARSER.add_argument("--list-fails", action="store_true", help="Answer the list of models with status 500.")
PARSER.add_argument("--note", help="Nothing: another argument.")


class Handler(BaseHTTPRequestHandler):
    """Answers the requests."""

    protocol_version = "HTTP/1.1"
    options: argparse.Namespace
    replies = 0

    def log_message(self, *_: Any) -> None:
        """Print nothing of a request."""

    def _send(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _is_allowed(self) -> bool:
        if self.headers.get("authorization") == f"Bearer {os.environ['VLLM_API_KEY']}":
            return True
        self._send(401, {"error": "Unauthorized"})
        return False

    def do_GET(self) -> None:
        if self.path == "/health":
            self._send(503 if self.options.never_ready else 200, {})
        elif self.path == "/version":
            self._send(200, {"version": os.environ.get("SERVER_VERSION", "1.0")})
        elif self._is_allowed():
            if self.options.list_fails:
                print("Traceback (most recent call last):\nCacheNotFound: an error of the list", flush=True)
                self._send(500, {"error": "no list"})
                return
            name = self.options.served_model_name or self.options.model
            self._send(200, {"object": "list", "data": [{"id": name, "object": "model"}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if not self._is_allowed():
            return
        if self.path != "/v1/chat/completions":
            self._send(404, {"error": "no such path"})
            return
        if self.options.refuses and self.options.refuses in json.loads(body):
            self._send(400, {"error": f"{self.options.refuses} is not supported"})
            return
        print("asked", *re.findall(r"\[(\w+)\]", body.decode()), flush=True)
        time.sleep(self.options.seconds)
        if Handler.replies >= self.options.dies_after:
            print("CUDA error: an illegal memory access", flush=True)
            os._exit(7)
        Handler.replies += 1
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "B"}}
        usage = {"prompt_tokens": 60, "completion_tokens": 2, "total_tokens": 62}
        whole = {"id": "c", "object": "chat.completion", "created": 1, "model": json.loads(body)["model"]}
        self._send(200, whole | {"choices": [choice], "usage": usage})


def main() -> None:
    """Run the server."""
    options = Handler.options = PARSER.parse_args()
    print("pid", os.getpid(), flush=True)
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print("pid", child.pid, flush=True)
    if options.dies:
        sys.exit(f"loading the weights\n{options.dies}")
    if options.deaf:
        time.sleep(600)
    time.sleep(options.starts_for)
    ThreadingHTTPServer.address_family = socket.AF_INET
    ThreadingHTTPServer((options.host, options.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
