"""The `openai` engine: any endpoint with OpenAI's chat completions (hosted models, vLLM, SGLang, llama.cpp).

See docs/models.md. Needs the extra "api": the openai client (its HTTP is httpx2) and python-dotenv.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import openai

from known_unknowns.config import OpenAIModel
from known_unknowns.engines import launched_server, prices
from known_unknowns.engines.endpoint import refused_defaults, server_prompt
from known_unknowns.engines.endpoint.budget import Budget, UsageEstimator
from known_unknowns.engines.endpoint.client import LoopThread, RateLimiter, RequestLimits, connect
from known_unknowns.engines.endpoint.refused_defaults import LeftOut
from known_unknowns.engines.endpoint.request import ImageEncoder, PendingTurn, Requester
from known_unknowns.engines.endpoint.request_queue import RequestQueue
from known_unknowns.engines.endpoint.served_model import find_model
from known_unknowns.engines.endpoint.settings import ApiKey, EndpointSettings
from known_unknowns.engines.launched_server import LaunchedServer
from known_unknowns.errors import ConfigError, KnownUnknownsError
from known_unknowns.reasoning_marks import opens_reasoning
from known_unknowns.records import Reply, Turn

T = TypeVar("T")

_TEXT_TURN = Turn("probe", "probe", ("Which letter comes first: A or B?",), ("A", "B"))


class OpenAIEngine:
    """Answers turns with a model behind an endpoint.

    Raises
    ------
    ConfigError
        The entry or the API key is not valid, or the endpoint does not serve the model.
    MachineError
        The endpoint fails, or its quota or the budget is exhausted. The same command continues the run.

    Notes
    -----
    ``Reply.text`` is the answer without the model's reasoning. ``Reply.details`` holds the reasoning ("reasoning"), the
    sha256 of each image as sent ("images"), the price ("usd"), and the faults on the way ("faults"). For
    ``Reply.finish`` see `known_unknowns.engines.endpoint.replies`. ``Reply.logprobs`` are natural logarithms of the
    labels that the endpoint reports. Replies come in the order in which they are finished.

    Neither the endpoint nor the key is needed before there is a question that is not in the journal. A server that the
    job starts (``launch``) is started for the first of ``facts`` and `answer`, and ends with the process.
    """

    scripted = False
    ends_requests = True  # after a signal, requests under way are finished

    def __init__(self, name: str, entry: OpenAIModel) -> None:
        self.settings = EndpointSettings.from_entry(name, entry)
        self._entry = entry
        self._server: LaunchedServer | None = None
        self.notes: Path | None = None
        self.settings_folder: Path | None = None  # of the file of the defaults that are left out
        self._left_out: LeftOut | None = None
        self._served: dict[str, Any] | None = None  # what the list of models says, which is asked for once
        self._key: ApiKey | None = None
        self._opens_reasoning = False  # what the server tells of its chat template
        self.proven: Turn | None = None
        known_price = prices.find(self.settings.source)
        self._price = None if known_price is None else known_price[0]
        if "usd" in self.settings.max_cost and self._price is None:
            raise ConfigError(
                f"a budget in money needs the price of {self.settings.source}: write it into {prices.PROJECT} in the "
                f"project's folder (format: {prices.TABLE}), or give the budget in tokens",
                path=self.settings.path("max_cost"),
            )
        self._estimator = UsageEstimator(
            self.settings.system, self._price.image_tokens if self._price else prices.IMAGE_TOKENS
        )
        self._budget = Budget(self.settings.max_cost, self._price, path=self.settings.path("max_cost"))
        self.about: dict[str, Any] = {
            "openai": openai.__version__,
            "base_url": self.settings.base_url,
            "prices_as_of": None if known_price is None else known_price[1],
            "left_out": {},
            "spent": self._budget.spent,
        }

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that can change a reply. If the job starts the server, this does, because of its version."""
        server = self._running_server()
        if self._left_out is None:
            self._leave_out_refused()
        return self.settings.facts() | ({} if server is None else {"server": server.facts})

    def _leave_out_refused(self) -> None:
        """Leave out the defaults that the endpoint was found to refuse. A server of the job is asked now."""
        if self._server is not None:
            self.leave_out(self.find_refused(_TEXT_TURN, Path()))
        elif self.settings_folder is not None:
            self.leave_out(refused_defaults.read(self.settings_folder, self.settings, of_any_settings=True) or {})

    def leave_out(self, left_out: LeftOut) -> None:
        """Send these settings no more."""
        self._left_out = left_out
        self.settings = refused_defaults.apply(self.settings, left_out)
        self.about["left_out"] = left_out

    def find_refused(self, turn: Turn, folder: Path) -> LeftOut:
        """Return the defaults that the endpoint refuses, by sending a turn (`refused_defaults.find`)."""
        return self._send_probe(partial(refused_defaults.find, turn=turn), folder)

    def check_accepted(self, turn: Turn, folder: Path) -> None:
        """Raise ConfigError if the endpoint refuses the settings with which it is asked."""
        self._send_probe(partial(refused_defaults.check, turn=turn), folder)

    def _send_probe(self, send: Callable[[Requester], Coroutine[Any, Any, T]], folder: Path, *, find: bool = True) -> T:
        with self._redacted(), LoopThread() as loop:
            requester = loop.run(self._connect(folder, find=find))
            try:
                return loop.run(send(requester))
            finally:
                loop.run(requester.client.close())

    @contextmanager
    def _redacted(self) -> Iterator[None]:
        """Remove the key from an error that leaves the engine."""
        try:
            yield
        except KnownUnknownsError as error:
            error.args = tuple(self._key.redact(list(error.args))) if self._key is not None else error.args
            raise

    def _running_server(self) -> LaunchedServer | None:
        """Return the server that the job starts, after its start; None if the endpoint is another one."""
        if self._server is None and self._entry.launch is not None:
            log = self.notes.name.removesuffix(".notes.jsonl") if self.notes else "server"
            self._server = server = launched_server.start(self.settings.name, self._entry, self._entry.launch, log)
            self.settings = replace(self.settings, base_url=server.base_url, launched_key=server.key)
            self.about |= {"base_url": None, "server": {"version": server.version, "log": str(server.log)}}
        return self._server

    def reference_prompt(self) -> dict[str, Any]:
        """Return what a fixed question is sent as, and what the server makes of it (`engines.RendersReference`)."""
        self._running_server()
        found = self._send_probe(server_prompt.record, Path(), find=False)
        marks = self.settings.reasoning.get("marks")
        self._opens_reasoning = found["rendered"] is not None and opens_reasoning(found["rendered"], marks)
        return found

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        """Answer every turn once, in batches of the finished replies.

        Raises the class's errors, and DataError for an unreadable image, after the finished replies were yielded.
        """
        if (server := self._running_server()) is not None:
            server.raise_if_ended()
        if self._left_out is None:
            self._leave_out_refused()
        with self._redacted(), LoopThread() as loop:
            requester = loop.run(self._connect(folder))
            questions = RequestQueue(
                requester,
                [PendingTurn(index, turn) for index, turn in enumerate(turns)],
                concurrency=self.settings.concurrency,
                proven=self.proven,
                raise_if_ended=self._server.raise_if_ended if self._server else lambda: None,
            )
            try:
                while rows := loop.run(questions.next_batch()):
                    self.proven = questions.proven
                    yield rows
            finally:
                loop.run(questions.close())
                loop.run(requester.client.close())

    def _is_unlisted(self) -> bool:
        """Return whether the step `probe` has found that the list of models fails, or lacks the model."""
        return self.settings_folder is not None and refused_defaults.is_unlisted(self.settings_folder, self.settings)

    async def _connect(self, folder: Path, *, find: bool = True) -> Requester:
        """Return what sends requests, after the endpoint was found to serve the model."""
        settings = self.settings
        request_limits = RequestLimits(
            requests=RateLimiter(settings.requests_per_minute),
            tokens=RateLimiter(settings.tokens_per_minute),
        )
        self._key = key = settings.key()
        client = connect(settings, request_limits=request_limits, budget=self._budget)
        served: dict[str, Any] = self._served or {"listed": None}
        if find:
            if self._served is None and settings.check_served and not self._is_unlisted():
                try:
                    self._served = served = await find_model(client, settings, key)
                except BaseException:
                    await client.close()
                    raise
                if self._server is not None:
                    self._server.forget_errors()
            self.about["served"] = served
            self.about["requested_model"] = served.get("id", settings.model)
        return Requester(
            settings=settings,
            client=client,
            key=key,
            encoder=ImageEncoder(folder, settings.image),
            estimator=self._estimator,
            budget=self._budget,
            request_limits=request_limits,
            model=served.get("id", settings.model),
            opens_reasoning=self._opens_reasoning,
        )
