"""The `openai` engine: any endpoint with OpenAI's chat completions (hosted models, vLLM, SGLang, llama.cpp).

See docs/endpoints.md. Needs the extra "api": the openai client (its HTTP is httpx2) and python-dotenv.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai

from known_unknowns.config import OpenAIModel
from known_unknowns.engines import launched_server, prices
from known_unknowns.engines.endpoint.budget import Budget, UsageEstimator
from known_unknowns.engines.endpoint.capabilities import Capabilities
from known_unknowns.engines.endpoint.client import CircuitBreaker, LoopThread, RateLimiter, RequestLimits, connect
from known_unknowns.engines.endpoint.endpoint_check import find_model
from known_unknowns.engines.endpoint.request import ImageEncoder, PendingTurn, Requester
from known_unknowns.engines.endpoint.request_queue import RequestQueue
from known_unknowns.engines.endpoint.settings import EndpointSettings, print_message
from known_unknowns.engines.launched_server import LaunchedServer
from known_unknowns.errors import ConfigError
from known_unknowns.records import Reply, Turn


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
        self.proven: Turn | None = None
        self._price, priced_as_of = prices.find(self.settings.source) or (None, None)
        if "usd" in self.settings.max_cost and self._price is None:
            raise ConfigError(
                f"a budget in money needs the price of {self.settings.source}: write it into {prices.PROJECT} in the "
                f"project's folder (format: {prices.TABLE}), or give the budget in tokens",
                path=self.settings.path("max_cost"),
            )
        self._capabilities = Capabilities(self.settings)
        self._estimator = UsageEstimator(
            self.settings.system, self._price.image_tokens if self._price else prices.IMAGE_TOKENS
        )
        self._budget = Budget(self.settings.max_cost, self._price, path=self.settings.path("max_cost"))
        self.about = {
            "openai": openai.__version__,
            "base_url": self.settings.base_url,
            "prices_as_of": priced_as_of,
            "declined": self._capabilities.declined,
            "spent": self._budget.spent,
        }

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that can change a reply. If the job starts the server, this does, because of its version."""
        server = self._running_server()
        return self.settings.facts() | ({} if server is None else {"server": server.facts})

    def _running_server(self) -> LaunchedServer | None:
        """Return the server that the job starts, after its start; None if the endpoint is another one."""
        if self._server is None and self._entry.launch is not None:
            log = self.notes.name.removesuffix(".notes.jsonl") if self.notes else "server"
            self._server = server = launched_server.start(self.settings.name, self._entry, self._entry.launch, log)
            self.settings = replace(self.settings, base_url=server.base_url, launched_key=server.key)
            self.about |= {"base_url": None, "server": {"version": server.version, "log": str(server.log)}}
        return self._server

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        """Answer every turn once, in batches of the finished replies.

        Raises the class's errors, and DataError for an unreadable image, after the finished replies were yielded.
        """
        if (server := self._running_server()) is not None:
            server.raise_if_ended()
        with LoopThread() as loop:
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

    async def _connect(self, folder: Path) -> Requester:
        settings = self.settings
        request_limits = RequestLimits(
            requests=RateLimiter(settings.requests_per_minute),
            tokens=RateLimiter(settings.tokens_per_minute),
            breaker=CircuitBreaker(
                patience=settings.patience, on_pause=lambda text: print_message(settings.name, text)
            ),
        )
        key = settings.key()
        client = connect(settings, request_limits=request_limits, budget=self._budget)
        try:
            served = await find_model(client, settings, key) if settings.check_served else {"listed": None}
        except BaseException:
            await client.close()
            raise
        self.about["served"] = served
        return Requester(
            settings=settings,
            client=client,
            key=key,
            capabilities=self._capabilities,
            encoder=ImageEncoder(folder, settings.image),
            estimator=self._estimator,
            budget=self._budget,
            request_limits=request_limits,
            model=served.get("id", settings.model),
        )
