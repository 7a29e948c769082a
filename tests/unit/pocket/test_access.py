"""``known_unknowns`` finds the rendered editions of ``known_unknowns_pocket`` by the names of their benchmarks."""

from __future__ import annotations

from known_unknowns import config
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.pocket import Pocket
from known_unknowns_pocket.editions import TERMS
from tests.paths import ROOT


def test_every_pocket_has_a_renderer_and_a_digest() -> None:
    entries = config.load(ROOT / "params.yaml").file.plain()["benchmarks"]
    rendered = {
        name for name, entry in entries.items() if any(data["source"] == "scenes" for data in entry["data"].values())
    }
    assert rendered == {name for name in registry.names() if registry.pocket_of(name) is not None}
    for name in rendered:
        pocket = registry.pocket_of(name)
        assert callable(pocket.render) and callable(pocket.digest)
        assert pocket.terms.redistribute


def test_a_benchmark_may_have_its_own_renderer(monkeypatch) -> None:
    own = Pocket(render=lambda out, **settings: out, digest=str, terms=TERMS)
    monkeypatch.setattr(type(registry.get("humblebench")), "pocket", lambda self: own)
    assert registry.pocket_of("humblebench") == own
