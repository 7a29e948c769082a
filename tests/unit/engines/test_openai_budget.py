"""Cost of a run: the price table, the bounds of a request, and the budget."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns.engines import prices
from known_unknowns.engines.endpoint.budget import Budget, BudgetExhaustedError, UsageEstimator
from known_unknowns.engines.prices import Price, Usage
from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.records import Cell, Image, Reply
from tests.servers.client import engine, run_all, turn
from tests.servers.endpoint import Endpoint

PRICE = Price(input=2.5, output=10.0, cached_input=1.25, image_tokens=1000)


def test_a_price_by_hand():
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=400_000)
    assert PRICE.of(usage) == pytest.approx(0.6 * 2.5 + 0.4 * 1.25 + 0.1 * 10)  # 3.00


@pytest.mark.parametrize(
    "text",
    [
        "models: {x: {input: 1, output: 1}}",
        "as_of: 2026\nmodels: {x: {input: 1}}",
        "as_of: 2026\nmodels: {x: {input: -1, output: 1}}",
        "{",
    ],
)
def test_an_invalid_table_is_an_error(tmp_path, text):
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=r"prices\.yaml"):
        prices.load(path)


def test_sums_over_replies():
    replies = [
        Reply("A", input_tokens=10, output_tokens=5, details={"usd": 0.5, "reasoning_tokens": 4}),
        Reply("B", input_tokens=1, output_tokens=None),
    ]
    assert prices.spent(replies) == {
        "replies": 2,
        "input_tokens": 11,
        "output_tokens": 5,
        "reasoning_tokens": 4,
        "counted": 2,
        "usd": 0.5,
        "priced": 1,
    }
    unknown = prices.spent([Reply("A"), Reply("B")])
    assert unknown == dict.fromkeys(unknown) | {"replies": 2, "counted": 0, "priced": 0}  # null, not 0


def test_replies_without_usage_have_no_spent_tokens():
    """Their maximum counts against the limits, and is no measured number."""
    budget = Budget({"tokens": 1000}, PRICE)

    async def ask():
        await budget.reserve(Usage(400, 16))
        budget.settle(Usage(400, 16), None)

    asyncio.run(ask())
    assert budget.spent == {"tokens": None, "usd": None, "tokens_at_most": 416}
    assert "at most 416 tokens" in str(budget.exhausted())
    budget.spend(Usage(100, 20))
    assert budget.spent == {"tokens": 120, "usd": PRICE.of(Usage(100, 20)), "tokens_at_most": 536}


def test_the_project_has_its_own_prices(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert prices.find("gpt-4o")[1] == "2026-06-21"
    assert prices.find("mine") is None
    text = "as_of: 2027-01-01\nmodels: {gpt-4o: {input: 1, output: 2}, mine: {input: 3, output: 4}}\n"
    (tmp_path / "prices.yaml").write_text(text)
    assert prices.find("gpt-4o") == (Price(1, 2, 1, prices.IMAGE_TOKENS), "2027-01-01")
    assert prices.find("mine")[0].output == 4
    assert prices.find("gpt-4o-mini")[1] == "2026-06-21"


def test_bounds_adapt_to_the_tokens_of_images():
    estimator = UsageEstimator(system="Be brief.", image_tokens=1000)
    small, large = Image("a", "a" * 64, 100, 100), Image("b", "b" * 64, 200, 200)
    text = len("[q1] Which?") + len("Be brief.") + 64
    assert estimator.bound(turn("q1", small, small), 16) == Usage(text + 2000, 16)
    scored = replace(turn("q1", small), labels=("A", "B"), continuations=("Red", "None of the above"))
    assert estimator.bound(scored, 1) == Usage(text + 1000 + len("None of the above"), 1)
    estimator.learn(turn("q1", small), Usage(300, 4))
    assert estimator.bound(turn("q1", small), 16) == Usage(text + 600, 16)
    assert estimator.bound(turn("q1", large), 16) == Usage(text + 2400, 16)  # four times the pixels


@settings(max_examples=50)
@given(
    st.floats(100, 5000),
    st.lists(st.tuples(st.integers(1, 500), st.floats(0, 1), st.sampled_from(["used", "free", "lost"])), max_size=60),
)
def test_the_budget_is_never_exceeded(limit, requests):
    budget = Budget({"tokens": limit}, None)

    async def one(bound, share, end):
        await budget.reserve(Usage(bound))
        await asyncio.sleep(0)
        budget.settle(Usage(bound), {"used": Usage(int(bound * share)), "free": Usage(), "lost": None}[end])

    async def go():
        return await asyncio.gather(*(one(*request) for request in requests), return_exceptions=True)

    outcomes = asyncio.run(go())
    assert budget.spent["tokens_at_most"] <= limit
    assert all(outcome is None or isinstance(outcome, BudgetExhaustedError) for outcome in outcomes)
    if sum(bound for bound, _, _ in requests) <= limit:
        assert not any(outcomes)


def test_a_budget_in_money_needs_a_price():
    with pytest.raises(ConfigError, match=r"models\.parrot\.max_cost: .*prices\.yaml"):
        engine("http://localhost:1/v1", max_cost={"usd": 1})


def test_a_run_stops_before_its_budget_and_can_be_resumed(tmp_path):
    """A question takes 62 tokens; its bound is 92 (12 bytes of text, 64 for the frame, 16 to write) or one less. After
    15 of them, 930 tokens, a sixteenth might exceed 1,000; after 14 a fifteenth could not."""
    with Endpoint(latency=0.002) as server:
        journal, identifiers = tmp_path / "journal", [f"q{number}" for number in range(40)]
        entry = {"max_cost": {"tokens": 1000}, "concurrency": 7}
        for answered in (15, 30):
            with pytest.raises(
                MachineError, match=r"models\.parrot\.max_cost.*1000 tokens.*run the same command again"
            ):
                run_all(identifiers, journal, server.url, **entry)
            assert sum(server.answered.values()) == answered
        outcome = run_all(identifiers, journal, server.url, **entry)
        assert outcome.newly_asked == 10
        assert sorted(row.question_id for row in outcome.replies[Cell("original", 0)]) == sorted(identifiers)
        assert max(server.answered.values()) == 1


def test_a_lost_reply_counts_its_bound_and_a_refused_connection_nothing(tmp_path):
    with Endpoint({"q0": ["hang"]}) as server:
        answering = engine(server.url, timeout=2)
        list(answering.answer([turn("q0")], folder=Path()))
        assert answering.about["spent"] == {"tokens": 62, "usd": None, "tokens_at_most": (11 + 64 + 16) + 62}
    with Endpoint({"q0": ["500", "429"]}) as server:
        answering = engine(server.url)
        list(answering.answer([turn("q0")], folder=Path()))
        assert answering.about["spent"] == {"tokens": 62, "usd": None, "tokens_at_most": 62}
