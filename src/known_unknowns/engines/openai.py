"""The `openai` engine: any endpoint that speaks OpenAI's chat completions (hosted models, vLLM, SGLang, llama.cpp).

See docs/endpoints.md. Needs the openai client (its HTTP is httpx2) and python-dotenv: the extra "api".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import openai

from known_unknowns.engines import prices
from known_unknowns.engines.endpoint.batches import Batches
from known_unknowns.engines.endpoint.budget import Budget, Estimator
from known_unknowns.engines.endpoint.capabilities import Capabilities, say
from known_unknowns.engines.endpoint.client import connect
from known_unknowns.engines.endpoint.endpoint_check import find_model
from known_unknowns.engines.endpoint.loop import LoopThread
from known_unknowns.engines.endpoint.payload import Pictures
from known_unknowns.engines.endpoint.queueing import Questions, Rows
from known_unknowns.engines.endpoint.rate_limit import Breaker, Pacer, Traffic
from known_unknowns.engines.endpoint.request import Asker, Pending
from known_unknowns.engines.endpoint.settings import Settings
from known_unknowns.errors import ConfigError
from known_unknowns.records import Reply, Turn


class OpenAIEngine:
    """Answers turns with a model behind an endpoint; the keys of ``entry`` are in schemas/params.schema.yaml.

    ``Reply.text`` is the answer without the model's reasoning, which is in ``Reply.details["reasoning"]`` beside the
    sha256 of each picture as sent ("images"), the price ("usd"), and what went wrong on the way ("faults"). For
    ``Reply.finish`` see `known_unknowns.engines.endpoint.replies`. ``Reply.logprobs`` are natural logarithms, of the
    letters that the endpoint tells of. Replies come in the order in which they are finished.

    Nothing is asked of the endpoint, nor is the key needed, before there is a question that is not in the journal.
    ``notes`` is a file of the engine's own, where it remembers what it submitted to the Batch API.

    Raises:
        ConfigError: the entry or the key is not sound, or the endpoint does not serve the model.
        MachineError: the endpoint is dying, its quota or the budget is spent; the same command continues.
    """

    scripted = False

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self.settings = Settings.read(name, entry)
        self.facts = self.settings.facts()
        self.notes: Path | None = None
        table = prices.load()
        self._price = table.models.get(self.settings.source)
        if "usd" in self.settings.max_cost and self._price is None:
            raise ConfigError(
                f"a budget in money needs the price of {self.settings.source}: write it into {prices.TABLE.name}, or "
                "give the budget in tokens",
                path=self.settings.path("max_cost"),
            )
        self._capabilities = Capabilities(self.settings)
        self._estimator = Estimator(
            self.settings.system, self._price.image_tokens if self._price else prices.IMAGE_TOKENS
        )
        self._budget = Budget(self.settings.max_cost, self._price, path=self.settings.path("max_cost"))
        self.about = {
            "openai": openai.__version__,
            "base_url": self.settings.base_url,
            "prices_as_of": table.as_of if self._price else None,
            "declined": self._capabilities.declined,
            "spent": self._budget.spent,
        }

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        """Answer every turn once, in batches of whatever is finished. Raises as the class says, and DataError for a
        picture that cannot be read; what was answered before is then handed out first."""
        with LoopThread() as loop:
            asker = loop.run(self._connect(folder))
            pending = [Pending(index, turn) for index, turn in enumerate(turns)]
            try:
                if self.settings.batch is None:
                    yield from self._at_once(loop, asker, pending)
                else:
                    yield from self._in_batches(loop, asker, pending)
            finally:
                loop.run(asker.client.close())

    def _at_once(self, loop: LoopThread, asker: Asker, pending: list[Pending]) -> Iterator[Rows]:
        questions = Questions(asker, pending, concurrency=self.settings.concurrency)
        try:
            while rows := loop.run(questions.next_batch()):
                yield rows
        finally:
            loop.run(questions.close())

    def _in_batches(self, loop: LoopThread, asker: Asker, pending: list[Pending]) -> Iterator[Rows]:
        """Through the Batch API, but for the first question, which finds out what the endpoint supports."""
        if self.notes is None:
            raise ConfigError("the Batch API needs a file to remember its batches in", path=self.settings.path("batch"))
        batches = Batches(asker, pending, notes=self.notes, facts=self.facts)
        for rows in self._at_once(loop, asker, batches.new()[:1]):
            yield rows
            batches.drop(index for index, _ in rows)
        collected = batches.collect()
        while (rows := loop.run(_next(collected))) is not None:
            if rows:
                yield rows

    async def _connect(self, folder: Path) -> Asker:
        settings = self.settings
        traffic = Traffic(
            requests=Pacer(settings.requests_per_minute),
            tokens=Pacer(settings.tokens_per_minute),
            breaker=Breaker(patience=settings.patience, on_pause=lambda text: say(settings.name, text)),
        )
        key = settings.key()
        client = connect(settings, traffic=traffic, budget=self._budget)
        try:
            served = await find_model(client, settings, key)
        except BaseException:
            await client.close()
            raise
        self.about["served"] = served
        return Asker(
            settings=settings,
            client=client,
            key=key,
            capabilities=self._capabilities,
            pictures=Pictures(folder, settings.image),
            estimator=self._estimator,
            budget=self._budget,
            traffic=traffic,
            model=served.get("id", settings.model),
        )


async def _next(rows: AsyncIterator[Rows]) -> Rows | None:
    return await anext(rows, None)
