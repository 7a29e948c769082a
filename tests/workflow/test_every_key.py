"""Every key of the configuration: which jobs Snakemake plans after a change of it alone, and that it compares all."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import Any, get_args

import pytest

from known_unknowns.config import models, sections
from known_unknowns.config.base import Entry
from tests.workflow import asked
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
PLANS = Path(__file__).with_name("plan_changes.py")

STEPS = ("fetch", "questions", "check", "vary", "probe", "infer", "parse", "measure")
MODELS = frozenset(asked.MODELS)
Plan = dict[str, frozenset[str]]
"""Step to the models (for `vary`, the variants) that it is planned for; other jobs are tables and pages."""
NOTHING: Plan = {}
TABLES: Plan = {"tables": frozenset()}


def of_model(model: str) -> Plan:
    """The plan after a change of a key that decides a model's replies."""
    steps = ("infer", "parse", "measure") if model == "oracle" else ("probe", "infer", "parse", "measure")
    return {step: frozenset({model}) for step in steps} | TABLES


MEASURED: Plan = {"measure": MODELS} | TABLES
ASKED: Plan = {"infer": MODELS, "parse": MODELS} | MEASURED
FETCHED: Plan = {step: frozenset() for step in ("fetch", "questions", "check")}
DATA: Plan = FETCHED | {"vary": frozenset(asked.VARIANTS)} | ASKED


def vary(*variants: str) -> Plan:
    """The plan after a change of variants."""
    return {"vary": frozenset(variants)} | ASKED


ALONE = [
    *("models.pocket.asked.humblebench", "models.hosted.asked.humblebench"),
    *("models.pocket.shards", "models.oracle.shards", "editions.pocket.models", "editions.pocket.benchmarks"),
]
"""Keys whose plans have a test of their own."""
CARD = {"family": "Parrot", "licence": "MIT"}
OF_ANY = {
    "images": ("concatenated", True),
    "job": ({"hours": 2}, False),
    "samples": (1, True),  # more are refused of a greedy checkpoint
    "shards": (2, None),  # other jobs ask, and the tables are the same; refused of an endpoint
}
OF_BOTH = OF_ANY | {  # the new value, and whether it can change a reply or what is read of it
    "system": ("Be brief.", True),
    "prompt": ("{question} Think first.", True),
    "order": ("text_first", True),
    "decoding.sampling": ("checkpoint", True),
    "decoding.temperature": (0.3, True),
    "decoding.top_p": (0.5, True),
    "decoding.top_k": (5, True),
    "decoding.repetition_penalty": (1.1, True),
    "decoding.max_new_tokens": (5, True),
    "decoding.stop": (["###"], True),
    "processor": ({"do_resize": True}, True),
    "template": ({"enable_thinking": False}, True),
    "kept": ("answer is(.*)", True),
    "reasoning.marks": (["<info>", "</info>"], True),
    "asked.humblebench": ({"system": "Be brief."}, None),  # other than the model's entry, it changes no other benchmark
    "asked.mmsap": ({"system": "Be brief."}, False),
}
HOSTED = OF_BOTH | {
    "published": ("GPT-4o", False),
    "source": ("parrot-2", True),
    "revision": ("abc", True),
    "base_url": ("http://127.0.0.1:9/v1", True),
    "endpoint": ("the lab's", True),
    "launch.command": ("vllm serve --enforce-eager", None),  # refused beside base_url: see the tests of the selection
    "launch.tensor_parallel_size": (2, None),
    "launch.quantization": ("fp8", None),
    "launch.max_model_len": (4096, None),
    "launch.arguments": (["--seed", "1"], None),
    "launch.wait_minutes": (5, None),
    "key_env": ("MY_KEY", False),
    "answers_as": ("parrot-1b", False),
    "decoding.seed": (None, True),
    "reasoning.effort": ("low", True),
    "reasoning.tokens": (100, True),
    "reasoning.opened": (True, True),
    "top_logprobs": (0, True),
    "extra": ({"provider": "a"}, True),
    "stream": (True, False),
    "image.format": ("jpeg", True),
    "image.quality": (50, True),
    "image.detail": ("low", True),
    "concurrency": (2, False),
    "requests_per_minute": (1000, False),
    "tokens_per_minute": (100000, False),
    "timeout": (9, False),
    "max_retries": (1, False),
    "patience": (9, False),
    "max_cost.usd": (5, False),
    "max_cost.tokens": (100000, False),
    "check_served": (False, False),
    "card": (CARD, False),
}
LOCAL = OF_BOTH | {
    "published": ("GPT-4o", False),
    "source": ("models/other", True),
    "revision": ("0" * 64, True),
    "dtype": ("bfloat16", True),
    "device": ("auto", False),
    "batch_size": (8, False),
    "threads": (2, False),
    "sharing": ("off", False),
    "adapter": ("never-refuses", True),
    "image_backend": ("torchvision", True),
    "decoding": ({"temperature": 0.3, "top_p": 0.5, "top_k": 5, "max_new_tokens": 24}, True),
    "decoding.top_p": (0.5, None),  # refused without a temperature
    "decoding.top_k": (5, None),
    "attention": ("eager", True),
    "prompt_template": ("{prompt}", True),
    "trust_remote_code": (True, True),
    "card": (CARD, False),
}
RESPONDENT = OF_ANY | {"behaviour": ("always_a", True), "seconds_per_reply": (1, False)}
BENCHMARK = {
    "protocol": ("forced_choice", ASKED),
    "protocols": (["forced_choice"], vary("forced_choice")),
    "variants": (["original", "noise"], ASKED),
    "seeds": ({"noise": [1]}, vary("noise")),
    "data.pocket.seed": (2, DATA),
    "data.pocket.images": (3, DATA),
    "data.pocket.questions_per_image": (2, DATA),
    "data.pocket.revision": ("0" * 64, DATA),
    "data.pocket.start_seed": (3, DATA),
    "data.full.revision": ("other", TABLES),  # of other editions; pages name editions with published data
    "sources.psg.home": ("https://example.org", NOTHING),
}
EDITION = {
    "data": ("full", DATA),
    "benchmarks": (["humblebench", "mmsap"], None),
    "models": (["oracle", "pocket", "hosted", "always_a"], None),
    "seeds": ([1], vary(*asked.VARIANTS)),
    "samples": (1, TABLES),  # as many as by default
    "confidence": (["verbalised"], ASKED),
    "published_models": (False, TABLES),
    "limit": (2, vary(*asked.VARIANTS)),
    "variants": ({"humblebench": ["original", "noise"]}, ASKED),
}
OTHERS = {
    "protocols.single_turn.max_new_tokens": (17, ASKED),
    "protocols.single_turn.function": ("forced_choice", ASKED),
    "protocols.forced_choice.max_new_tokens": (17, ASKED),
    "protocols.mixed.split": (9, NOTHING),  # of another benchmark
    "variants.noise.noise_seed": (1, vary("noise")),
    "variants.forced.function": ("blank", vary("forced")),
    "variants.forced.protocol": ("single_turn", vary("forced")),
    "variants.gaussian.protocol": ("forced_choice", NOTHING),  # not asked
    "parsers": (["official"], ASKED),  # they decide further turns of forced_choice
    "judge.model": ("hosted", TABLES),
    "statistics.confidence": (0.9, MEASURED),
    "tracking.uri": ("sqlite:///other.db", NOTHING),  # disabled
    "tracking.artifacts": ("elsewhere", NOTHING),
    "tracking.experiment": ("other", NOTHING),
    "report.images": (False, TABLES),
    "models.uniform.behaviour": ("always_a", NOTHING),  # of no edition here
    "editions.full.seeds": ([1], NOTHING),
    "construction.pocket.seed": (3, NOTHING),
}


def every() -> dict[str, tuple[Any, Plan | None]]:
    """Every changed key: its new value, and the plan; None if a test below describes it."""
    found: dict[str, tuple[Any, Plan | None]] = {}
    for name, keys in (("hosted", HOSTED), ("pocket", LOCAL), ("oracle", RESPONDENT)):
        for key, (value, decides) in keys.items():
            plan = None if decides is None else of_model(name) if decides else TABLES
            found[f"models.{name}.{key}"] = value, plan
    found |= {f"benchmarks.humblebench.{key}": each for key, each in BENCHMARK.items()}
    found |= {f"editions.pocket.{key}": each for key, each in EDITION.items()}
    return found | OTHERS


def together() -> list[tuple[dict[str, Any], Plan]]:
    """Changes that are planned at once: keys that change nothing, or no reply, and one key of each model."""
    keys = {key: each for key, each in every().items() if each[1] is not None}
    harmless = [{k: v for k, (v, plan) in keys.items() if plan == same} for same in (NOTHING, TABLES)]
    found = [({key: value}, plan) for key, (value, plan) in keys.items() if not key.startswith("models.")]
    found = [(change, plan) for change, plan in found if plan not in (NOTHING, TABLES)]
    of_each = [[k for k in keys if k.startswith(f"models.{name}.") and keys[k][1] == of_model(name)] for name in MODELS]
    for some in zip_longest(*of_each):
        named = [key for key in some if key is not None]
        plan: dict[str, frozenset[str]] = {}
        for key in named:
            for step, names in (keys[key][1] or {}).items():
                plan[step] = plan.get(step, frozenset()) | names
        found.append(({key: keys[key][0] for key in named}, plan))
    order = {"editions.pocket.models": asked.MODELS[::-1]}
    return [(harmless[0], NOTHING), (harmless[1], TABLES), (order, TABLES), *found]


@pytest.mark.parametrize(
    ("keys", "entry", "left_out"),
    [
        (HOSTED, models.OpenAIModel, {"engine"}),
        (LOCAL, models.TransformersModel, {"engine"}),
        (RESPONDENT, models.RespondentModel, {"engine"}),
        (BENCHMARK, sections.BenchmarkEntry, set()),
        (EDITION, sections.Edition, set()),
        ([key.removeprefix("variants.forced.") for key in OTHERS], sections.VariantEntry, set()),
        ([key.removeprefix("protocols.single_turn.") for key in OTHERS], sections.ProtocolEntry, set()),
        ([key.removeprefix("statistics.") for key in OTHERS], sections.Statistics, set()),
        ([key.removeprefix("tracking.") for key in OTHERS], sections.Tracking, {"enabled"}),
        ([key.removeprefix("report.") for key in OTHERS], sections.Report, set()),
        ([key.partition(".")[0] for key in [*every(), "edition"]], sections.Configuration, set()),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_no_key_is_forgotten(keys: Iterable[str], entry: type[Entry], left_out: set[str]) -> None:
    """A new key of an entry needs a line above; one of a nested entry as well."""
    assert {key.partition(".")[0] for key in keys} >= entry.model_fields.keys() - left_out
    fields = entry.model_fields.items() if issubclass(entry, models.ModelSettings) else ()
    for name, field in ((name, field) for name, field in fields if name != "asked"):  # with the same keys again
        types = get_args(field.annotation) or (field.annotation,)
        nested = [each for each in types if isinstance(each, type) and issubclass(each, Entry)]
        inner = next((each for each in nested if each not in (models.Card, models.Job)), Entry)
        given = {key.removeprefix(f"{name}.") for key in keys if key.startswith(f"{name}.")}
        assert given == inner.model_fields.keys()


@pytest.fixture(scope="module")
def project(asked_once: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a finished run."""
    return asked_once.twin(tmp_path_factory.mktemp("every_key") / "project")


@pytest.fixture(scope="module")
def plans(project: Project) -> list[Plan]:
    """What is planned after each of `together`, and then after each key that has a test of its own."""
    changes = [change for change, _ in together()] + [{key: every()[key][0]} for key in ALONE]
    done = subprocess.run(
        [sys.executable, PLANS],
        input=json.dumps(changes),
        **(project._streams() | {"stdin": None, "stderr": subprocess.PIPE}),
    )
    assert done.returncode == 0, done.stderr
    return list(map(plan_of, json.loads(done.stdout)))


def plan_of(jobs: list[list[str]]) -> Plan:
    found: dict[str, set[str]] = {}
    for rule, path in jobs:
        assert rule != "error", path
        step = rule if rule in (*STEPS, "infer_shard") else "tables"
        names = found.setdefault(step, set())
        if step == "vary" or step == "probe":
            names.add(Path(path).stem)
        elif step in ("infer", "infer_shard", "parse", "measure"):
            names.add(Path(path).parts[3])
    return {step: frozenset(names) for step, names in found.items()}


def test_a_changed_key_plans_what_depends_on_it_and_nothing_else(plans: list[Plan]) -> None:
    wanted = {", ".join(change): plan for change, plan in together()}
    assert dict(zip(wanted, plans, strict=False)) == wanted


def test_shards_overrides_and_additions_leave_the_other_results_alone(plans):
    alone = dict(zip(ALONE, plans[len(together()) :], strict=True))
    for model in ("pocket", "hosted"):  # an override for one benchmark is no other benchmark's, and needs no probe
        asked_again = {step: frozenset({model}) for step in ("infer", "parse", "measure")}
        assert alone[f"models.{model}.asked.humblebench"] == asked_again | TABLES
    for model in ("pocket", "oracle"):
        plan = alone[f"models.{model}.shards"]
        assert plan["infer_shard"] == plan["infer"] == plan["measure"] == {model}
        assert "probe" not in plan
    new = frozenset({"always_a"})
    assert alone["editions.pocket.models"] == {"infer": new, "parse": new, "measure": new} | TABLES
    added = alone["editions.pocket.benchmarks"]
    assert added["infer"] == MODELS and "original" not in added["vary"] and "probe" not in added


def test_a_comment_and_the_order_of_keys_plan_nothing(project):
    path = project.root / "params.yaml"
    text = path.read_text(encoding="utf-8")
    try:
        project.change_params(lambda params: params.update(models=dict(reversed(params["models"].items()))))
        path.write_text(f"# A comment.\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
        assert "Nothing to be done" in project.snakemake()
    finally:
        path.write_text(text, encoding="utf-8")


WRITTEN = """

def write_parameters():
    import json

    def described(value):
        kind = type(value).__name__
        if isinstance(value, dict):
            return [kind, [described(each) for pair in value.items() for each in pair]]
        if isinstance(value, (list, tuple, set)):
            return [kind, [described(each) for each in value]]
        return [kind, []]

    found = {rule.name: [] for rule in workflow.rules}
    for job in workflow.persistence.dag.jobs:
        found.setdefault(job.rule.name, []).append([described(value) for value in job.params])
    for rule in workflow.rules:
        found[rule.name].append([described(value) for value in rule.params if not callable(value)])
    Path("parameters.json").write_text(json.dumps(found))


atexit.register(write_parameters)
"""
PLAIN = {"str", "int", "float", "bool", "NoneType", "list", "dict"}
NOT_COMPARED = {"AnnotatedString", "SimpleNamespace"}
"""Texts of `subpath`, which follow from the files of a job, and settings that change no result (`uncompared`)."""
OUTSIDE = {"import_released", "reply_tables", "released_numbers", "fetch_released"}
"""Rules without a job here: those of released replies, which have to be fetched first."""


def kinds(described: list[Any]) -> set[str]:
    kind, content = described
    return {kind}.union(*map(kinds, content))


@pytest.fixture
def parameters(fresh: Project) -> dict[str, list[list[Any]]]:
    """The parameters of the jobs of each rule."""

    def change(params: dict[str, Any]) -> None:
        params["parsers"] = [*params["parsers"], "judge"]
        params["models"]["hosted"] = {"engine": "openai", "source": "parrot", "base_url": "http://127.0.0.1:9/v1"}
        params["judge"] = {"model": "hosted"}
        params["editions"]["pocket"]["models"] += ["pocket"]

    fresh.change_params(change)
    tags = fresh.root / "reviews/pocket/errors/uniform/humblebench/original-seed0.jsonl"
    tags.parent.mkdir(parents=True)
    tags.touch()
    with (fresh.root / "Snakefile").open("a") as snakefile:
        snakefile.write(WRITTEN)
    targets = ["all", "construction/pocket/release_candidate"]
    fresh.snakemake("--dry-run", *targets)
    whole: dict[str, list[list[Any]]] = json.loads(Path(fresh.root, "parameters.json").read_text())
    return whole


def test_every_parameter_of_every_rule_is_plain(parameters):
    assert parameters.keys() > {"infer", "infer_shard", "judge", "error_table", "track", "construct_filter"}
    without_jobs = {rule for rule, jobs in parameters.items() if len(jobs) < 2}
    assert without_jobs <= OUTSIDE
    used = {rule: set().union(*(kinds(value) for job in jobs for value in job)) for rule, jobs in parameters.items()}
    assert {rule: kinds - PLAIN - NOT_COMPARED for rule, kinds in used.items() if kinds - PLAIN - NOT_COMPARED} == {}
