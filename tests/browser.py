"""A browser for tests: Chromium over the pipe of its debugging protocol, without network access."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from base64 import b64decode
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9", "--remote-debugging-pipe", "about:blank",
)  # fmt: skip
_SECONDS = 60.0


class Browser:
    """One page in a browser. Use it as a context manager.

    Parameters
    ----------
    server : bool
        Whether pages of servers at 127.0.0.1 can be opened too.

    Attributes
    ----------
    errors : list of str
        Exceptions, errors of the console and violations of the policy since the last `open`.
    requests : list of str
        Addresses that the page requested since the last `open`, without data and blob URLs.
    """

    def __init__(self, *, server: bool = False) -> None:
        self._server = server
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._number, self._buffer, self._events = 0, b"", []
        self._session = ""

    def __enter__(self) -> Browser:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.downloads = Path(self._profile.name, "downloads")
        self.downloads.mkdir()
        pipes = [*os.pipe(), *os.pipe()]  # the browser reads from file 3 and writes to file 4
        theirs = [fcntl.fcntl(pipes[end], fcntl.F_DUPFD, 10) for end in (0, 3)]
        os.close(pipes[0])
        os.close(pipes[3])
        self._out, self._in = pipes[1], pipes[2]

        def connect() -> None:
            for end, number in zip(theirs, (3, 4), strict=True):
                os.dup2(end, number)

        options = [f"{o}, EXCLUDE 127.0.0.1" if self._server and "resolver" in o else o for o in _OPTIONS]
        command = [CHROMIUM or "chromium", f"--user-data-dir={self._profile.name}", *options]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, stdin=quiet, stdout=quiet, stderr=quiet, preexec_fn=connect, pass_fds=(3, 4)
        )
        for end in theirs:
            os.close(end)
        target = next(t for t in self._targets() if t["type"] == "page")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads), eventsEnabled=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=_SECONDS)
        os.close(self._out)
        os.close(self._in)
        self._profile.cleanup()

    def open(self, page: Path | str, *, width: int = 1400, height: int = 900, dark: bool = False) -> None:
        """Open a file or address in a window of this size, and wait until it is loaded."""
        self.resize(width, height)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self._load("about:blank")  # else an address that differs in its fragment only is not loaded again
        self.errors.clear()
        self.requests.clear()
        self._load(address)
        self.requests = [request for request in self.requests if request.split("#")[0] != address.split("#")[0]]

    def _load(self, address: str) -> None:
        self._events.clear()
        document = self.call("Page.navigate", url=address)["loaderId"]
        wanted = {"name": "load", "loaderId": document}
        self._wait(lambda: any(wanted.items() <= event["params"].items() for event in self._events))

    def resize(self, width: int, height: int) -> None:
        """Set the size of the window in CSS pixels; a narrow one is that of a phone."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page, or of the promise it gives."""
        reply = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            raise AssertionError(_exception(reply["exceptionDetails"]))
        return reply["result"].get("value")

    def wait_for(self, script: str, seconds: float = _SECONDS) -> None:
        """Wait until an expression is true in the page."""
        end = time.monotonic() + seconds
        while not self.evaluate(script):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {script}")
            time.sleep(0.02)

    def press(self, key: str) -> None:
        """Press and release a key, such as "j" or "Enter"."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **(text if kind == "keyDown" else {}))

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return self.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def screenshot(self, out: Path, *, whole: bool = False) -> None:
        """Save the window, or the whole page, as PNG."""
        out.write_bytes(b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]))

    def downloaded(self, ending: str) -> str:
        """Return the text of the next saved file with this ending, and remove it."""
        return self.downloaded_bytes(ending).decode("utf-8")

    def downloaded_bytes(self, ending: str) -> bytes:
        """Return the next saved file with this ending, and remove it."""
        # The file has its name before it has its content: only the browser knows when it is complete.
        self._wait(lambda: any(name.endswith(f".{ending}") for name in self._saved()))
        file = next(name for name in self._saved() if name.endswith(f".{ending}"))
        self._events.clear()
        content = (self.downloads / file).read_bytes()
        (self.downloads / file).unlink()
        return content

    def _saved(self) -> list[str]:
        """Return the names of the files that the events since the last `open` call complete."""
        names = {e["params"]["guid"]: e["params"]["suggestedFilename"] for e in self._told("downloadWillBegin")}
        progress = self._told("downloadProgress")
        return [names[e["params"]["guid"]] for e in progress if e["params"]["state"] == "completed"]

    def _told(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self._events if event["method"] == f"Browser.{name}"]

    def pdf(self) -> bytes:
        """Return the page as it prints on A4."""
        size = {"paperWidth": 8.27, "paperHeight": 11.69}
        return b64decode(self.call("Page.printToPDF", printBackground=True, **size)["data"])

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Call a method of the debugging protocol."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        replies: list[dict[str, Any]] = []
        self._wait(lambda: bool(replies), number, replies)
        if "error" in replies[0]:
            raise RuntimeError(f"{method}: {replies[0]['error']['message']}")
        return replies[0]["result"]

    def _targets(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while not any(target["type"] == "page" for target in found):
            found = self.call("Target.getTargets")["targetInfos"]
        return found

    def _wait(self, done: Any, number: int = 0, replies: list[dict[str, Any]] | None = None) -> None:
        end = time.monotonic() + _SECONDS
        while not done():
            if not select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("the browser ended")
            *messages, self._buffer = (self._buffer + data).split(b"\0")
            for message in map(json.loads, messages):
                if "method" in message:
                    self._note(message)
                elif message.get("id") == number and replies is not None:
                    replies.append(message)

    def _note(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        method, told = event["method"], event["params"]
        if method == "Runtime.exceptionThrown":
            self.errors.append(_exception(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] == "error":
            self.errors.append(" ".join(str(part.get("value", part)) for part in told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            address = told["request"]["url"]
            if not address.startswith(("data:", "blob:", "about:")):
                self.requests.append(address)


REDUCED = """(() => {
  const signature = (e) => e.tagName + [...new Set([e, ...e.querySelectorAll('*')].map((d) =>
    `${d.tagName}.${d.getAttribute('class') ?? ''}${d.getAttribute('aria-selected') ?? ''}`))].sort().join();
  const reduce = (parent) => {
    const seen = new Map();
    for (const child of [...parent.children]) {
      const kind = signature(child);
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
      if (seen.get(kind) > 1 && !child.closest('svg')) child.remove();
      else if (child.tagName !== 'svg') reduce(child);
    }
  };
  reduce(document.querySelector('main'));
})()"""
"""Keep one element of those with the same parent, tags and classes, which have the same colours."""


def contrast(browser: Browser) -> list[str]:
    """Return the elements of a page with too little contrast. The page is reduced to one element of each kind."""
    browser.evaluate(REDUCED)
    return violations(browser, "color-contrast")


def violations(browser: Browser, *rules: str, without: tuple[str, ...] = ()) -> list[str]:
    """Return the rules of axe-core (all, or those named) that the page violates, with the first element."""
    package = find_spec("axe_core_python")
    assert package is not None and package.origin is not None, "axe-core-python is not installed; run  make setup"
    browser.evaluate(Path(package.origin).with_name("axe.min.js").read_text(encoding="utf-8") + "; 0")
    left_out = {name: {"enabled": False} for name in without}
    options = json.dumps({"resultTypes": ["violations"], "rules": left_out, **({"runOnly": rules} if rules else {})})
    found = "found.violations.map(v => `${v.id}: ${v.nodes[0].html}`)"
    return browser.evaluate(f"axe.run({options}).then(found => {found})")


def _exception(details: dict[str, Any]) -> str:
    return str(details.get("exception", {}).get("description") or details["text"])
