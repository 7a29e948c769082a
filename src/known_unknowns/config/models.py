"""Entries of ``models`` in params.yaml and of the catalogue: one class for each engine.

The classes here are those of the engines that other code configures. Any other engine has its class in its own module
(`settings_of`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from known_unknowns.config.base import (
    INVALID,
    Count,
    Entry,
    Name,
    NotNegative,
    Positive,
    Seed,
    Seeds,
    Text,
    error_line,
)
from known_unknowns.config.prompt_template import mistake
from known_unknowns.config.redaction import address_mistake, may_be_secret
from known_unknowns.entry_points import ENGINES, of_group

QUESTION = "{question}"
"""The place of the question and its options in an entry's ``prompt``."""


def _sound_address(address: str) -> str:
    if mistake := address_mistake(address):
        raise ValueError(mistake)
    return address


def _no_secret_address(name: str) -> str:
    return _sound_address(name) if "://" in name else name


def _with_question(prompt: str) -> str:
    if prompt.count(QUESTION) != 1:
        raise ValueError(f"write {QUESTION} once, where the question and its options stand")
    return prompt


def _sound_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return pattern


def _other_fields(extra: dict[str, Any]) -> dict[str, Any]:
    for name in extra:
        if name in _FIELDS:
            raise ValueError(f"{name} is set otherwise: {_FIELDS[name]}")
        if may_be_secret((name,), None):
            raise ValueError(f"{name} may be a secret, which would be recorded with every run")
    return extra


_FIELDS = {
    **dict.fromkeys(("messages", "model", "n", "response_format", "logprobs", "prompt_logprobs"), "by the engine"),
    **dict.fromkeys(("temperature", "top_p", "top_k", "repetition_penalty", "seed", "stop"), "by decoding"),
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "by decoding.max_new_tokens"),
    **dict.fromkeys(("stream", "stream_options"), "by stream"),
    "top_logprobs": "by top_logprobs",
    "reasoning_effort": "by reasoning.effort",
    "mm_processor_kwargs": "by processor",
    "chat_template_kwargs": "by template",
}
"""Fields of a request that ``extra`` must not have, and what sets them."""

Address = Annotated[str, Field(pattern=r"^https?://"), AfterValidator(_sound_address)]
Shards = Annotated[int, Field(ge=1, le=1024)]
Images = Literal["many", "concatenated", "captioned"]
"""What a model accepts in one turn: several images; one image, with several placed side by side; or one image, with
descriptions by the model itself in place of all images but the current one."""


class Card(Entry):
    """Facts about a model, for `known-unknowns models list`. They change no reply."""

    family: Text
    """The series of models that it belongs to."""
    model_type: Text | None = None
    """The architecture's name in the checkpoint's config.json."""
    parameters: Positive | None = None
    """Number of parameters in billions. The memory requirement is computed from it and the dtype."""
    thinking: bool = False
    """Whether the model reasons before it answers."""
    licence: Text
    """Licence of the weights, as an SPDX identifier if there is one."""
    gated: bool = False
    """Whether the licence has to be accepted on the hub first (HF_TOKEN)."""
    remote_code: bool = False
    """Whether the weights load only by running code from the repository, or a server's own code."""
    needs: list[str] = []
    """Python packages that the model needs besides those of the extra "models"."""
    paper: Text | None = None
    note: Text | None = None
    unverified: Annotated[list[Text], Field(min_length=1)] | None = None
    """Facts that could not be verified."""


class Job(Entry):
    """What a job of the model needs, in place of the estimates (docs/clusters.md). It changes no reply."""

    memory_gib: Positive | None = None
    """Main memory in GiB. A second attempt gets half as much again."""
    hours: Positive | None = None
    """The time limit. A job that it ends is continued by its next attempt."""
    gpus: Count | None = None
    """Number of GPUs: for a server's other kinds of parallelism, or an engine of another distribution."""


class Decoding(Entry):
    """Generation settings. Without ``temperature`` or ``sampling``, decoding is greedy."""

    sampling: Literal["checkpoint"] | None = None
    """checkpoint: sample as the checkpoint's generation_config.json says. The keys below override its settings."""
    temperature: Annotated[NotNegative, Field(le=2)] | None = None
    """Temperature of sampling; 0 is greedy."""
    top_p: Annotated[Positive, Field(le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    """0 for all tokens. Sampling in this process has 50 by default, as ``generate``."""
    repetition_penalty: Positive | None = None
    max_new_tokens: Count | None = None
    """Maximum length of a reply, in place of the protocol's."""
    stop: Annotated[list[Text], Field(min_length=1)] | None = None
    """Texts that end a reply. The reply does not contain them."""


class EndpointDecoding(Decoding):
    """Generation settings. A setting that is null is not sent. By default, temperature and seed are 0."""

    nullable = frozenset({"temperature", "top_p", "seed"})

    temperature: Annotated[NotNegative, Field(le=2)] | None = 0
    seed: Seed | None = 0


class Reasoning(Entry):
    """Settings of models that reason before they answer."""

    marks: Annotated[list[Text], Field(min_length=2, max_length=2)] | None = None
    """The texts that open and close the reasoning, besides the known ones (known_unknowns/reasoning_marks.py)."""


class EndpointReasoning(Reasoning):
    """Settings of models that reason before they answer. The tokens are allowed in addition to max_new_tokens."""

    effort: Text | None = None
    tokens: Seed | None = None
    opened: bool = False
    """Whether the chat template opens the reasoning, so that the mark is no part of a reply. A reply that the limit
    cuts within the reasoning is then no answer."""


class InferenceSettings(Entry):
    """How a model is asked: what a paper says of it, besides the weights. All keys are part of a reply's identity.

    The settings of published rows have the same keys (`known_unknowns.config.models.InferenceSettings`).
    """

    system: str | None = None
    """System prompt."""
    prompt: Annotated[str, AfterValidator(_with_question)] | None = None
    """The text of a question, in place of the benchmark's own: {question} stands for the question and its options."""
    order: Literal["in_place", "images_first", "text_first"] = "in_place"
    """Order of images and text. in_place is the protocol's own. Otherwise the text calls an image that stood within it
    "image 1", and so on."""
    decoding: Decoding = Decoding()
    processor: Annotated[dict[Text, Any], Field(min_length=1)] | None = None
    """Arguments of the processor: pixel limits, tiles (min_pixels, max_pixels, do_image_splitting)."""
    template: Annotated[dict[Text, Any], Field(min_length=1)] | None = None
    """Variables of the chat template (enable_thinking: false)."""
    kept: Annotated[str, AfterValidator(_sound_pattern)] | None = None
    """What the official parser reads of a reply: the group of this regular expression that takes part in its first
    match, or the whole match. Without a match it reads the whole reply. A dot also matches a line break."""
    reasoning: Reasoning | None = None


class LocalInferenceSettings(InferenceSettings):
    """How a checkpoint is asked that runs in this process."""

    attention: Literal["eager", "sdpa", "flash_attention_2"] | None = None
    """Implementation of attention; by default the one that transformers chooses."""


class EndpointInferenceSettings(InferenceSettings):
    """How a model behind an endpoint is asked."""

    decoding: EndpointDecoding = EndpointDecoding()
    reasoning: EndpointReasoning | None = None
    extra: Annotated[dict[Text, Any], Field(min_length=1), AfterValidator(_other_fields)] | None = None
    """Further fields of a request that a provider or a server has (provider: {order: [a]})."""


class _Settings(Entry):
    implementation: ClassVar[str]
    """The engine's class: "package.module:class"."""
    not_in_the_reply: ClassVar[frozenset[str]] = frozenset({"job", "shards"})
    """Keys that cannot change a reply."""

    @property
    def gpus(self) -> int:
        """Number of GPUs of a job that asks the model."""
        return 0

    @property
    def takes_any_gpus(self) -> bool:
        """Whether jobs on different GPUs may each ask a part of the questions."""
        return self.gpus > 0

    def reply_keys(self) -> dict[str, Any]:
        """Return the keys that were set and can change a reply."""
        return {key: value for key, value in self.plain().items() if key not in self.not_in_the_reply}

    def other_keys(self) -> dict[str, Any]:
        """Return the other keys that were set, such as how fast the model is asked."""
        return {key: value for key, value in self.plain().items() if key in self.not_in_the_reply}

    @property
    def greedy(self) -> bool:
        """Whether a request always gets the same reply, so that it is asked once. A server can give another one."""
        return False

    def published_row(self, benchmark: str) -> str | None:
        """Return the row of a benchmark's published tables that this model corresponds to."""
        return None

    def asked_in(self, benchmark: str) -> Self:
        """Return the entry as the benchmark's questions are asked: without ``asked``, with its settings for them."""
        values = self.plain()
        own = values.pop("asked", None)
        if own is None:
            return self
        for key, value in own.get(benchmark, {}).items():
            both = isinstance(value, Mapping) and isinstance(values.get(key), Mapping)
            values[key] = values[key] | value if both else value
        return type(self).model_validate(values)


class _Published(_Settings):
    not_in_the_reply = _Settings.not_in_the_reply | {"card", "published"}

    published: Text | Annotated[dict[str, Text], Field(min_length=1)] = {}
    """The row of the published tables that this model corresponds to: for each benchmark, or one name for all."""

    def published_row(self, benchmark: str) -> str | None:
        return self.published if isinstance(self.published, str) else self.published.get(benchmark)


class _Asked(_Settings):
    images: Images = "many"
    """How many images the model accepts in one turn. It applies to all protocols that show several images."""
    samples: Count | None = None
    """How often each question is asked, each time with another seed of the sampling; by default as the edition says."""
    shards: Shards | None = None
    """Number of jobs that ask the questions of a benchmark, each on GPUs of its own (docs/workflow.md). By default as
    many as the GPUs of the run are enough for. The tables are the same for every number."""
    job: Job = Job()
    """Memory, time and GPUs of a job, in place of the estimates."""

    @property
    def gpus(self) -> int:
        return self.job.gpus or 0


class ModelSettings(_Asked, _Published):
    """Base class of the settings of an engine that answers questions.

    A subclass declares ``engine`` as a literal, and the class variable ``implementation``.
    """

    engine: str


class ImportedModel(_Published):
    """Replies from another tool's file: imported with `known-unknowns rescore --import`, or released by a benchmark."""

    implementation = f"{ENGINES}.imported:ImportedEngine"

    engine: Literal["imported"]
    images: ClassVar[Images] = "many"
    """Not a key. The replies were given elsewhere, so every protocol is accepted."""
    job: ClassVar[Job] = Job()
    """Not a key either: no job asks the model."""
    cells: dict[str, dict[str, Seeds]] = {}
    """The benchmarks, variants and seeds that were imported. Of released replies, it is found in the files."""
    samples: Count = 1
    """The number of imported replies to each question."""
    released: dict[Name, Text] = {}
    """Benchmark to the model's name in its released files."""

    @field_validator("samples")
    @classmethod
    def _of_cells(cls, samples: int, info: ValidationInfo) -> int:
        if samples > 1 and not info.data.get("cells"):
            raise ValueError("only replies that `rescore --import` added, under cells, have samples")
        return samples


class RespondentModel(_Asked):
    """A scripted respondent: a baseline with a known score. It corresponds to no row of a published table."""

    implementation = f"{ENGINES}.respondents:Respondent"
    not_in_the_reply = _Settings.not_in_the_reply | {"seconds_per_reply"}

    engine: Literal["respondent"]
    behaviour: Literal["oracle", "always_refuse", "always_a", "uniform", "calibrated", "overconfident", "uninformative"]
    """The last three have a known calibration: right as often as their confidence says, 25 percentage points less
    often, and in half of all cases."""
    seconds_per_reply: NotNegative = 0
    """Delay of each reply, to simulate a slow model."""


class TransformersModel(LocalInferenceSettings, ModelSettings):
    """A checkpoint that runs in this process."""

    implementation = f"{ENGINES}.transformers:TransformersEngine"
    not_in_the_reply = ModelSettings.not_in_the_reply | {
        "batch_size",
        "device",
        "sharing",
        "threads",
    }
    removed: ClassVar[Mapping[str, str]] = {
        "cache_gib": "images that are kept from one batch of turns to the next have 1 GiB of memory; remove the key",
        "template_date": "a chat template that writes the day of the run writes 2024-07-26; remove the key. If it was "
        "another date, the prompts change and these questions are asked again",
    }

    engine: Literal["transformers"]
    source: Text
    """A local folder, or a repository on the hub."""
    revision: Text
    """For a folder, the sha256 of its weights; for a repository, a commit."""
    dtype: Literal["float32", "bfloat16", "float16"]
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:[0-9]+)?)$")] = "auto"
    """cpu, cuda, cuda:1, ...; auto uses a GPU if there is one. It is not part of a reply's identity."""
    batch_size: Count | None = None
    """Maximum number of questions per forward pass; by default as many as fit in memory."""
    threads: Count | None = None
    """CPU threads (2). A small model gains little from a second thread: with 1, one model runs on each core."""
    sharing: Literal["off", "auto", "on"] | bool = "auto"
    """Compute the tokens of an image once for all questions on it (docs/shared_prefixes.md). auto does so if it saves
    time, on for every turn with an image. Both are checked against generate at the first use and disabled if the
    replies differ. (YAML reads off and on as false and true.)"""
    adapter: Text | None = None
    """A LoRA adapter in peft's format: a folder in the source, a folder of its own, or a repository of its own on the
    hub, as OWNER/NAME@REVISION. It is merged into the weights and used for every question, with an image or without."""
    image_backend: Literal["pil", "torchvision"] | None = None
    """Image processor. pil and torchvision give different pixels, so that the choice is always explicit."""
    asked: dict[Name, LocalInferenceSettings] = {}
    """How the questions of single benchmarks are asked: the keys given here override those of the entry."""
    prompt_template: Text | None = None
    """The prompt of a question, instead of the checkpoint's chat template: a text with {prompt} where the question
    stands ("Question: {prompt} Answer:"), and {system} where the system prompt stands, or a chat template in Jinja.
    For checkpoints without a chat template."""
    trust_remote_code: bool = False
    """Run Python code from the model's repository. Only for code that you have read."""
    card: Card | None = None

    @property
    def gpus(self) -> int:
        return self.job.gpus or int(self.device != "cpu")

    @property
    def takes_any_gpus(self) -> bool:
        return self.device == "auto"

    @property
    def greedy(self) -> bool:
        return self.decoding.top_k == 1 or not (self.decoding.temperature or self.decoding.sampling)

    @model_validator(mode="after")
    def _is_sound(self) -> TransformersModel:
        if self.prompt_template and (wrong := mistake(self.prompt_template, self.system)):
            raise ValueError(f"prompt_template: {wrong}")
        if (self.decoding.top_p or self.decoding.top_k) and not (self.decoding.temperature or self.decoding.sampling):
            raise ValueError("decoding: top_p and top_k have no effect without a temperature")
        for benchmark in self.asked:
            self.asked_in(benchmark)
        return self


class ImageFormat(Entry):
    """How images are sent. png is lossless."""

    format: Literal["png", "jpeg"] = "png"
    quality: Annotated[int, Field(ge=1, le=100)] | None = None
    detail: Literal["auto", "low", "high", "original"] | None = None


class MaxCost(Entry):
    """The maximum cost of one run on one benchmark. The run stops before it."""

    usd: Positive | None = None
    tokens: Count | None = None

    @model_validator(mode="after")
    def _has_a_limit(self) -> MaxCost:
        if not self.model_fields_set:
            raise ValueError("set usd or tokens")
        return self


class Launch(Entry):
    """A server that the job starts and ends (docs/models.md)."""

    command: Text = "vllm serve"
    """The program and its first arguments. The model's source follows, or stands in place of {source}."""
    tensor_parallel_size: Count = 1
    """Number of GPUs that share the model. The job waits for as many."""
    quantization: Text | None = None
    """Quantise the weights in this way (fp8, bitsandbytes, ...)."""
    max_model_len: Count | None = None
    """Maximum number of tokens of a prompt and its reply."""
    arguments: list[Text] = []
    """Further arguments of the command."""
    wait_minutes: Positive = 30
    """The time limit for the start, a download of the weights included."""

    @model_validator(mode="after")
    def _is_sound(self) -> Launch:
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise ValueError(f"command: {error}") from None
        if not words:
            raise ValueError("command: name a program")
        for word in (*words, *self.arguments):
            option = word.partition("=")[0].lstrip("-").replace("_", "-") if word.startswith("-") else ""
            if instead := _NO_ARGUMENTS.get(option):
                raise ValueError(f"{word.partition('=')[0]} is not allowed in a command or its arguments; {instead}")
            if _SECRET_OPTION.search(option):
                raise ValueError(
                    f"{word.partition('=')[0]} takes a secret, which would be recorded with every run; set it in the "
                    "environment, which the server has as well (HF_TOKEN)"
                )
        return self


_SECRET_OPTION = re.compile(r"(^|-)(token|api-key|password|passphrase|secret|credentials?)$")
_NO_ARGUMENTS = {
    **dict.fromkeys(("tensor-parallel-size", "tp"), "write launch.tensor_parallel_size"),
    **dict.fromkeys(("quantization", "q"), "write launch.quantization"),
    "max-model-len": "write launch.max_model_len",
    "revision": "write the entry's revision",
    **dict.fromkeys(("host", "port", "api-key", "served-model-name"), "the job sets it"),
}
"""Arguments that `Launch` or the job sets, and what to do instead."""


class OpenAIModel(EndpointInferenceSettings, ModelSettings):
    """A model behind an endpoint with OpenAI's chat completions API (docs/models.md)."""

    implementation = f"{ENGINES}.openai:OpenAIEngine"
    not_in_the_reply = ModelSettings.not_in_the_reply | {
        "answers_as",
        "check_served",
        "concurrency",
        "key_env",
        "max_cost",
        "max_retries",
        "patience",
        "requests_per_minute",
        "stream",
        "timeout",
        "tokens_per_minute",
    }

    engine: Literal["openai"]
    source: Text
    """The model's name at the endpoint. A dated name is best: gpt-4o-2024-08-06 rather than gpt-4o."""
    revision: Text | None = None
    """Commit of a served checkpoint. The endpoint must serve the model as source@revision."""
    base_url: Address | None = None
    """The endpoint's address, without any secret; by default OPENAI_BASE_URL, or else OpenAI's own."""
    endpoint: Annotated[Text, AfterValidator(_no_secret_address)] | None = None
    """A name for the endpoint in a reply's identity, for addresses that change from run to run."""
    launch: Launch | None = None
    """Let the job start a server on this machine, in place of base_url."""
    key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """Environment variable with the key (OPENAI_API_KEY). Never write the key itself here."""
    answers_as: Text | None = None
    """The model's name in the endpoint's replies, if it differs."""
    asked: dict[Name, EndpointInferenceSettings] = {}
    """How the questions of single benchmarks are asked: the keys given here override those of the entry."""
    top_logprobs: Annotated[int, Field(ge=0, le=20)] = 20
    """Number of log-probabilities per step; 0 requests none."""
    image: ImageFormat = ImageFormat()
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8
    """Number of concurrent requests."""
    requests_per_minute: Positive | None = None
    tokens_per_minute: Positive | None = None
    timeout: Positive = 120
    """Seconds for one request, even if data arrive in the meantime."""
    max_retries: Seed = 5
    """Number of retries before the question moves to the end of the queue."""
    patience: Positive = 600
    """Seconds without any reply after which the run stops."""
    stream: bool = False
    """Receive each reply in parts, for endpoints that send no whole ones."""
    max_cost: MaxCost | None = None
    check_served: bool = True
    """Ask the endpoint for its list of models before the first question, and stop if the model is not in it. Set it to
    false for an endpoint whose list fails or lacks the model."""
    card: Card | None = None

    @property
    def gpus(self) -> int:
        return self.job.gpus or (0 if self.launch is None else self.launch.tensor_parallel_size)

    @property
    def takes_any_gpus(self) -> bool:
        return self.launch is not None and self.max_cost is None

    def reply_keys(self) -> dict[str, Any]:
        keys = super().reply_keys()
        if "launch" in keys:
            keys["launch"] = {key: value for key, value in keys["launch"].items() if key != "wait_minutes"}
        return keys

    @model_validator(mode="after")
    def _has_one_server(self) -> OpenAIModel:
        for key in ("base_url", "endpoint", "key_env"):
            if self.launch is not None and getattr(self, key) is not None:
                raise ValueError(f"launch and {key} exclude each other: the job starts a server of its own")
        if self.launch is None and self.shards is not None:
            raise ValueError("shards needs launch: an endpoint has concurrency instead")
        return self


_BuiltIn = ImportedModel | OpenAIModel | RespondentModel | TransformersModel
_BUILT_IN = {get_args(each.model_fields["engine"].annotation)[0]: each for each in get_args(_BuiltIn)}
ModelEntry = ImportedModel | RespondentModel | ModelSettings


@cache
def settings_of(engine: str) -> type[ModelSettings] | None:
    """Return the settings of an engine that is not built in; None if there is no such engine.

    They are ``SETTINGS`` of the module `ENGINES`.<engine>, or the value of an entry point in the group `ENGINES`.
    Raises ImportError, or TypeError if the module does not define the settings, or they do not name the engine's class.
    """
    named = of_group(ENGINES).get(engine)
    if named is None and not (engine.isidentifier() and find_spec(f"{ENGINES}.{engine}")):
        return None
    place = named.value if named else f"SETTINGS of {ENGINES}.{engine}"
    found: Any = named.load() if named else getattr(import_module(f"{ENGINES}.{engine}"), "SETTINGS", None)
    if not (isinstance(found, type) and issubclass(found, ModelSettings)):
        raise TypeError(f"{engine!r} is not an engine: {place} must be a subclass of ModelSettings")
    if not isinstance(getattr(found, "implementation", None), str):
        raise TypeError(f'{place} must have `implementation`, the engine\'s class as "package.module:class"')
    return found


def _validated(value: Any, validate: ValidatorFunctionWrapHandler) -> ModelEntry:
    engine = value.get("engine") if isinstance(value, Mapping) else None
    try:
        settings = settings_of(engine) if isinstance(engine, str) and engine not in _BUILT_IN else None
    except TypeError as error:
        lines = [error_line(INVALID, str(error), ("engine",), engine)]
        raise ValidationError.from_exception_data("Model", lines, hide_input=True) from None
    except Exception as error:  # the code of another distribution
        text = f"the engine {engine} cannot be imported: {type(error).__name__}: {error}"
        lines = [error_line(INVALID, text, ("engine",), engine)]
        raise ValidationError.from_exception_data("Model", lines, hide_input=True) from None
    return validate(value) if settings is None else settings.model_validate(value)


Model = Annotated[Annotated[_BuiltIn, Field(discriminator="engine")], WrapValidator(_validated)]
