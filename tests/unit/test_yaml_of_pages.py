"""YAML on the pages is part of a configuration that is accepted: blocks, and keys within lines."""

from __future__ import annotations

import re
from textwrap import dedent, indent

import pytest
import yaml

from known_unknowns import config
from known_unknowns.config import (
    BenchmarkEntry,
    Edition,
    FolderData,
    OpenAIModel,
    ProtocolEntry,
    TransformersModel,
    catalogue,
)
from known_unknowns.config.construction import ConstructionEntry
from known_unknowns.config.models import Decoding, Launch
from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration
from known_unknowns.yaml_reader import parse_yaml
from tests import pages
from tests.paths import ROOT

BLOCKS = [(page, block) for page in pages.pages() for block in pages.blocks(page, "yaml")]
PARTS = {
    ("docs/own_data.md", "mine"): "benchmarks.multiple_choice.data",
    ("docs/workflow.md", "protocols"): "benchmarks.actiview",
    ("src/known_unknowns_benchmarks/multiple_choice/README.md", "fields"): "benchmarks.multiple_choice.data.mine",
}
"""Page and first key of a block that begins deeper in params.yaml, and the place that its text names."""
OTHER_FILES = {
    (
        "docs/data.md",
        "sources",
    ): "params.lock.yaml with shortened digests; tests/unit/data/test_lock.py reads whole ones",
    ("docs/tutorial_benchmark.md", "benchmark"): "published.yaml, which tests/workflow/test_own_benchmarks.py uses",
}
"""Page and first key of a block of another file. It is YAML; what reads it is tested elsewhere."""
OWN_BENCHMARKS = {"docs/tutorial_benchmark.md"}
"""Pages that make a benchmark, which tests/workflow/test_own_benchmarks.py runs: names are not looked up here."""
LOCAL = {"engine": "transformers", "source": "models/pocket", "revision": "0" * 64, "dtype": "float32"}
ADDED = {
    "edition": "pocket",
    "models": {
        **{
            name: {"engine": "respondent", "behaviour": "uniform"}
            for name in ("my-model", "my-vision-model", "my-language-model", "another-model")
        },
        "local": LOCAL,
        "sampled": LOCAL | {"decoding": {"temperature": 1.0}},
        "launched": {"engine": "openai", "source": "x", "revision": "main", "launch": {}},
        "endpoint": {"engine": "openai", "source": "x", "base_url": "http://localhost:8000/v1"},
    },
}
"""Models that the reader has."""
PLACES = {
    "benchmarks.multiple_choice.data.mine": FolderData,
    "benchmarks.multiple_choice": BenchmarkEntry,
    "editions.pocket": Edition,
    "models.local": TransformersModel,
    "models.local.decoding": Decoding,
    "models.sampled.decoding": Decoding,
    "models.endpoint": OpenAIModel,
    "models.launched.launch": Launch,
    "protocols.full_image": ProtocolEntry,
    "construction.pocket": ConstructionEntry,
}
"""Where a key within a line can stand, and the class of the place."""
NO_KEYS = {
    "protocols.py: single_turn": "a file and its function",
    "by: column": "published.yaml",
    "weights: questions": "published.yaml",
    "countable: false": "published.yaml",
    "cache: false": "a .dvc file",
    'resources: ["gpu=8"]': "a profile of Snakemake",
    "add_generation_prompt: false": "a request to a server",
    "prompt_logprobs: 0": "a request to a server",
    "card: {parameters: ...}": "shortened",
    "data: NAME": "a placeholder",
    "Name: vllm": "the output of pip",
    "Version: 0.32.0+cpu": "the output of pip",
}
"""Inline code that looks like a key of params.yaml and is none."""
INLINE = [
    (page, code)
    for page in pages.pages()
    for code in dict.fromkeys(pages.inline(page))
    if re.match(r"[\w.-]+: \S", code)
]


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Read params.yaml with the models of the reader and a text over it."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "added.yaml").write_text(yaml.safe_dump(ADDED), encoding="utf-8")

    def read(text: str, place: str = "") -> dict:
        keys = place.split(".") if place else []
        above = "".join(f"{'  ' * depth}{key}:\n" for depth, key in enumerate(keys))
        (folder / "page.yaml").write_text(above + indent(dedent(text), "  " * len(keys)), encoding="utf-8")
        return config.read(ROOT / "params.yaml", folder / "added.yaml", folder / "page.yaml")

    return read


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{page}: {block.split()[0]}" for page, block in BLOCKS])
def test_a_block_is_accepted(page, block, read):
    first = next(iter(parse_yaml(dedent(block))))
    if (page, first) in OTHER_FILES:
        return
    raw = read(block, PARTS.get((page, first), ""))
    if page in OWN_BENCHMARKS:
        config.check(raw)
    else:
        configuration.check(raw)


@pytest.mark.parametrize(("page", "code"), INLINE, ids=[f"{page}: {code}" for page, code in INLINE])
def test_a_key_within_a_line_is_accepted(page, code, read):
    """Somewhere in params.yaml, the key takes the value. A key that a page shows is known."""
    key, mistakes = code.partition(":")[0], []
    takes = [
        place for place, kind in PLACES.items() if key in kind.model_fields or kind.model_config["extra"] == "allow"
    ]
    for place in ["models"] if key in catalogue.entries() else takes:
        try:
            configuration.check(read(code, place))
            return
        except ConfigError as error:
            mistakes.append(str(error))
    assert code in NO_KEYS, "\n".join(mistakes) or f"no key of params.yaml: {key}"
