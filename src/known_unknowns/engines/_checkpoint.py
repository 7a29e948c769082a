"""Checkpoints of the `transformers` engine: find, verify and load them.

A local folder is pinned by the sha256 of its weights. A hub repository is pinned by its commit and, if params.lock.yaml
lists it, by the hash of every file. Local folders are loaded without network access. Code from a repository is executed
only if the entry allows it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import snapshot_download
from huggingface_hub.utils import disable_progress_bars
from jinja2 import TemplateError
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    MODEL_FOR_MULTIMODAL_LM_MAPPING,
    AutoConfig,
    AutoModelForImageTextToText,
    AutoModelForMultimodalLM,
    GenerationConfig,
    GenerationMixin,
    PreTrainedModel,
)
from transformers.image_processing_utils import BaseImageProcessor

from known_unknowns.config import TransformersModel, locked_commits
from known_unknowns.data import hub
from known_unknowns.engines import _adapters, _processors, _prompt_template, _remote_code, _template_date
from known_unknowns.engines._sampling import WARPERS, sampling_settings
from known_unknowns.engines._weights import WEIGHTS, files_sha256, weights_sha256, wrong_pin
from known_unknowns.errors import ConfigError, KnownUnknownsError

UNPINNED = "unpinned"
"""Revision of a folder whose weights still change. Nothing is compared; the actual hash is recorded."""

META = "meta"
"""A device without memory (`load`)."""

_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer*.model",
    "vocab.*",
    "*.tiktoken",
    "*.spm",
    "spiece.model",
    "tekken.json",
)
_PROCESSOR_FILES = ("preprocessor_config.json", "processor_config.json")
_SHOWN = 3
_SETTINGS = ("*.json", "*.jinja", "*.txt", "*.model")
_IRRELEVANT_SETTINGS = (
    "transformers_version",
    "_from_model_config",
    "output_attentions",
    "output_hidden_states",
    "use_cache",
)
_NOT_GREEDY: Mapping[str, Any] = {
    "num_return_sequences": 1,
    "guidance_scale": 1,
    "penalty_alpha": 0,
    "prompt_lookup_num_tokens": None,
    "assistant_early_exit": None,
    "is_assistant": False,
    "dola_layers": None,
    "force_words_ids": None,
    "constraints": None,
    "token_healing": False,
    "max_time": None,
}
"""Settings with which ``generate`` writes other than one reply of the likeliest tokens, or ends it by the clock, and
the values that change nothing."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded model with its processor.

    ``identity`` holds the pins as JSON values: "source" of a repository (the path of a folder is no part of it),
    "revision", "settings", "image_backend", "chat_template", "template_date" if the chat template writes a date, and
    "adapter", "processor" and "attention" if the entry
    has them.
    """

    model: Any
    processor: Any
    identity: Mapping[str, Any]
    unexpected: Sequence[str] = ()
    """The tensors of the weights that the model does not know."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """The settings that replies are sampled with; empty for greedy decoding."""
    stop: Sequence[str] = ()
    """Texts that end a reply."""
    reset: Mapping[str, Any] = field(default_factory=dict)
    """The settings of generation_config.json that are not used, because they ask for other than one greedy reply."""

    @property
    def generation(self) -> GenerationConfig:
        return self.model.generation_config

    @property
    def tokenizer(self) -> Any:
        return self.processor.tokenizer


def load(name: str, entry: TransformersModel, device: str) -> Checkpoint:
    """Load a model's checkpoint onto a device. On the device `META`, its weights have names and shapes, and no values.

    Raises
    ------
    ConfigError
        The folder or repository does not exist; its weights differ from the pinned ones, are not safetensors, lack
        tensors of the model or have others in their place, or are not finite; it is a text-only model; or it lacks a
        tokenizer, an image processor, a chat template or the configured image backend.
    DataError
        A file of a repository differs from params.lock.yaml.
    """
    _silence_transformers()
    path = f"models.{name}"
    source, revision = entry.source, entry.revision
    folder, locked = Path(source).expanduser(), None
    if folder.is_dir():
        identity = _check_folder(folder, revision, code=entry.trust_remote_code, path=path)
        where: dict[str, Any] = {"local_files_only": True}
        source = str(folder)
    elif locked_commits.is_folder_pin(revision):
        raise ConfigError(
            f"there is no folder {source!r} in {Path.cwd()}; run from the project's folder, name a folder that exists, "
            "or, for a hub repository, set revision to one of its commits",
            path=f"{path}.source",
        )
    else:
        locked = locked_commits.model_entry(entry)
        identity, where = {}, {"revision": locked.commit if locked else revision}
    where["trust_remote_code"] = entry.trust_remote_code
    if entry.trust_remote_code:  # before any of its code is executed
        if not folder.is_dir():
            try:
                code = _remote_code.FILES
                folder = Path(snapshot_download(source, revision=where["revision"], allow_patterns=code))
            except (OSError, ValueError) as error:
                raise ConfigError(f"cannot load {source!r}: {error}", path=f"{path}.source") from error
        if locked:
            hub.check_cached(source, where["revision"], locked.files)
        _remote_code.check(folder, path=f"{path}.source")
    processor, model, unexpected = _from_pretrained(source, where, entry, path=path, meta=device == META)
    adapter = _find_adapter(source, where, entry, path=path)
    if locked:
        hub.check_cached(source, where["revision"], locked.files)
    if not identity:
        identity = {
            "source": source,
            "revision": locked.commit if locked else hub.commit_in_cache(source, revision) or revision,
        }
    if entry.prompt_template:
        _complete_processor(processor)
        _prompt_template.apply(processor, entry.prompt_template, path=f"{path}.prompt_template")
    identity |= {
        "image_backend": _check_image_backend(processor, _image_backend(entry), path=path),
        "chat_template": _digest(_check_chat_template(processor, source, path=path)),
    }
    if entry.processor is not None:
        identity["processor"] = entry.processor
    if entry.attention is not None:
        identity["attention"] = entry.attention
    if adapter:
        _adapters.merge_adapter(model, adapter, path=f"{path}.adapter")
        identity["adapter"] = _adapters.file_digests(adapter)
    _complete_processor(processor)
    if day := _template_date.fix(processor, path=path):
        identity["template_date"] = day
    _check_template_takes_images(processor, source, path=path)
    _check_template(processor, entry, path=path)
    _make_vision_bidirectional(model)
    model = model.eval() if device == META else model.to(device).eval()
    _check_finite(model, entry.dtype, path=f"{path}.source")
    decoding = entry.decoding.plain()
    sampling = sampling_settings(model.generation_config, decoding)
    own = model.generation_config.to_diff_dict()
    reset = {name: own[name] for name, neutral in _NOT_GREEDY.items() if own.get(name) not in (None, neutral)}
    stops = own.get("stop_strings") or ()
    stops = (stops,) if isinstance(stops, str) else tuple(stops)
    # generate() completes a given configuration from the model's own, so there is only one.
    model.generation_config = _greedy(model, processor.tokenizer, decoding)
    stop = tuple(dict.fromkeys((*stops, *decoding.get("stop", ()))))
    return Checkpoint(model, processor, identity, unexpected, sampling, stop, reset)


def decoding_facts(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the generation settings that can change a reply, as JSON values: all that differ from the defaults."""
    facts = checkpoint.generation.to_diff_dict()
    for name in _IRRELEVANT_SETTINGS:
        facts.pop(name, None)
    facts |= {"do_sample": bool(checkpoint.sampling), "num_beams": 1, **checkpoint.sampling}
    facts |= {"stop": checkpoint.stop} if checkpoint.stop else {}
    facts |= {"reset": checkpoint.reset} if checkpoint.reset else {}
    return dict(json.loads(json.dumps(facts, sort_keys=True, default=str)))


def _silence_transformers() -> None:
    """Keep transformers from writing to stderr, where it would break the progress display."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    disable_progress_bars()


def _image_backend(entry: TransformersModel) -> str:
    return entry.image_backend or "pil"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _check_folder(folder: Path, revision: str, *, code: bool, path: str) -> dict[str, Any]:
    if not any(folder.glob(WEIGHTS)):
        raise ConfigError(
            f"{folder} has no {WEIGHTS} file; weights in other formats are not loaded, because reading them can "
            "execute code; convert them with save_pretrained",
            path=f"{path}.source",
        )
    found = weights_sha256(folder)
    if revision != UNPINNED and (problem := wrong_pin(folder, found, revision)):
        raise ConfigError(problem, path=f"{path}.revision")
    settings = sorted({file for pattern in _SETTINGS for file in folder.glob(pattern)})
    if code:
        settings += _remote_code.modules(folder)
    return {"revision": found, "settings": files_sha256(settings)}


def _from_pretrained(
    source: str, where: Mapping[str, Any], entry: TransformersModel, *, path: str, meta: bool
) -> tuple[Any, Any, list[str]]:
    """Return the processor, the model, and the names of tensors that the model does not know."""
    try:
        config = AutoConfig.from_pretrained(source, **where)
        _check_sees_images(config, source, entry, path=f"{path}.source")
        processor = _load_processor(source, where, entry, path=f"{path}.source")
        model, info = model_class(type(config)).from_pretrained(
            source,
            dtype=getattr(torch, entry.dtype),
            use_safetensors=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **({"attn_implementation": entry.attention} if entry.attention else {}),
            **({"device_map": META} if meta else {}),
            **where,
        )
    except (KnownUnknownsError, MemoryError, torch.OutOfMemoryError):
        raise
    except (OSError, ValueError, ImportError) as error:
        which = "its generation_config.json is not valid: " if _has_faulty_generation_config(source, where) else ""
        raise ConfigError(f"cannot load {source!r}: {which}{error}", path=f"{path}.source") from error
    except Exception as error:  # readers of damaged files raise errors of many types
        reason = f"a file of it may be damaged ({type(error).__name__}: {error})"
        raise ConfigError(f"cannot load {source!r}: {reason}; fetch it again", path=f"{path}.source") from error
    if not isinstance(model, GenerationMixin):
        raise ConfigError(
            f"{type(model).__name__} of transformers {transformers.__version__} cannot be asked: it does not write one "
            "token after another with transformers' generate() (DiffusionGemma writes blocks of tokens by diffusion); "
            "serve the model behind an endpoint (docs/models.md)",
            path=f"{path}.source",
        )
    _check_tensors(model, info, source, path=f"{path}.source")
    return processor, model, sorted(info["unexpected_keys"])


def _has_faulty_generation_config(source: str, where: Mapping[str, Any]) -> bool:
    try:
        GenerationConfig.from_pretrained(source, **where)
    except ValueError:
        return True
    except OSError:  # there is none
        pass
    return False


def _check_sees_images(config: Any, source: str, entry: TransformersModel, *, path: str) -> None:
    """Raise an error for a configuration that transformers has no class for images and text for."""
    kind, known = type(config), (MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING, MODEL_FOR_MULTIMODAL_LM_MAPPING)
    if any(kind in mapping for mapping in known) or (entry.trust_remote_code and getattr(config, "auto_map", None)):
        return
    if kind in MODEL_FOR_CAUSAL_LM_MAPPING:
        reason = f"{source!r} is a text-only model ({config.model_type}), which cannot be asked about images"
    else:
        reason = (
            f"transformers {transformers.__version__} has no class for images and text of the model type "
            f"{config.model_type!r}; serve the model behind an endpoint (docs/models.md)"
        )
    raise ConfigError(reason, path=path)


def _load_processor(source: str, where: Mapping[str, Any], entry: TransformersModel, *, path: str) -> Any:
    """Return the processor. An error names the part that a folder lacks, which those of the libraries do not."""
    try:
        processor = _processors.load(source, _image_backend(entry), {**where, **(entry.processor or {})})
    except Exception as error:
        if lacking := _lacking(Path(source)):
            raise ConfigError(
                f"{source!r} has no {lacking}; copy it from the original checkpoint", path=path
            ) from error
        raise
    if unknown := [name for name in entry.processor or () if not _processors.takes(processor, name)]:
        raise ConfigError(
            f"{type(processor).__name__} has no argument {', '.join(map(repr, unknown))}",
            path=path.removesuffix("source") + "processor",
        )
    if getattr(processor, "tokenizer", None) is None:
        lacking = _lacking(Path(source)) or f"image processor, only a {type(processor).__name__}"
        raise ConfigError(f"{source!r} has no {lacking}; copy it from the original checkpoint", path=path)
    for name in entry.processor or ():  # the tokenizer keeps all arguments, and gives them to the part for images again
        processor.tokenizer.init_kwargs.pop(name, None)
    return processor


def _check_template(processor: Any, entry: TransformersModel, *, path: str) -> None:
    """Reject variables that the chat template does not use: they would have no effect."""
    template = str(processor.chat_template)
    if unknown := [
        name for name in entry.template or () if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", template)
    ]:
        raise ConfigError(
            f"the chat template of {entry.source!r} has no variable {', '.join(map(repr, unknown))}",
            path=f"{path}.template",
        )


def _lacking(folder: Path) -> str:
    """Return the part of a processor of which a local folder has no file; "" if it has both, or is no folder."""
    if not folder.is_dir():
        return ""
    if not any(True for pattern in _TOKENIZER_FILES for _ in folder.glob(pattern)):
        return f"tokenizer ({_TOKENIZER_FILES[0]})"
    if not any((folder / name).is_file() for name in _PROCESSOR_FILES):
        return f"image processor ({' or '.join(_PROCESSOR_FILES)})"
    return ""


def _check_tensors(model: Any, info: Mapping[str, Any], source: str, *, path: str) -> None:
    """Raise an error for tensors that transformers left random, and print those that it left out."""
    missing, unexpected = sorted(info["missing_keys"]), sorted(info["unexpected_keys"])
    wrong = sorted(
        f"{name} is {tuple(found)} instead of {tuple(wanted)}" for name, found, wanted in info["mismatched_keys"]
    )
    if wrong:
        raise ConfigError(f"{source!r} is not the model that its config.json describes: {_first(wrong)}", path=path)
    if missing:
        begins = {name.partition(".")[0] for name in unexpected}
        begin = f", all beginning with {begins.pop() + '.'!r}" if len(begins) == 1 else ""
        others = (
            f"; it has {len(unexpected)} that the model does not know{begin}: {_first(unexpected)}"
            if unexpected
            else ""
        )
        raise ConfigError(
            f"{source!r} lacks {len(missing)} of {len(model.state_dict())} tensors of {type(model).__name__}, which "
            f"would be random: {_first(missing)}{others}; save or merge the model again",
            path=path,
        )
    if unexpected:
        print(
            f"warning: {source!r} has {len(unexpected)} tensors that {type(model).__name__} does not use: "
            f"{_first(unexpected)}",
            file=sys.stderr,
            flush=True,
        )


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


def _check_finite(model: Any, dtype: str, *, path: str) -> None:
    """Raise an error for weights with NaN or infinity, after the conversion to ``dtype``."""
    for name, weight in model.named_parameters():
        if weight.device.type != META and weight.is_floating_point() and not bool(torch.isfinite(weight).all()):
            raise ConfigError(
                f"the tensor {name} has values that are not finite in {dtype} (NaN or infinity); save the model again, "
                "or try another dtype",
                path=path,
            )


def _find_adapter(source: str, where: Mapping[str, Any], entry: TransformersModel, *, path: str) -> Path | None:
    """Return the folder of the entry's adapter; None if it has none."""
    if entry.adapter is None:
        return None
    try:
        return _adapters.find_adapter(source, entry.adapter, revision=where.get("revision"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot load {entry.adapter!r} of {source!r}: {error}", path=f"{path}.adapter") from error


def model_class(config: type) -> Any:
    """Return the auto class that loads a model with this configuration class.

    Models with audio input (Phi-4 multimodal) are registered with the multimodal class only. Code from a repository
    registers itself with the older class.
    """
    hears = config in MODEL_FOR_MULTIMODAL_LM_MAPPING and config not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    return AutoModelForMultimodalLM if hears else AutoModelForImageTextToText


def _make_vision_bidirectional(model: Any) -> None:
    """Make the vision encoder's attention bidirectional, as such encoders were trained.

    transformers 5.23 marks the attention of Phi-4 multimodal's vision encoder as causal, and SDPA applies that if no
    mask is given. An image's features then depend on whether another image in the batch is padded.
    """
    vision = getattr(model.config, "vision_config", None)
    for tower in model.modules():
        if vision is None or not isinstance(tower, PreTrainedModel) or type(tower.config) is not type(vision):
            continue
        modules: Iterator[Any] = tower.modules()
        for module in modules:
            if getattr(module, "is_causal", False):
                module.is_causal = False


def _check_image_backend(processor: Any, wanted: str, *, path: str) -> str:
    """Raise an error if the processor's backend is not the configured one.

    If that one is missing, transformers silently uses another one, with other pixels.
    """
    part = getattr(processor, "image_processor", None)
    # Classes without the attribute (Emu3's, Video-LLaVA's) are older than the backends, and use Pillow only.
    found = getattr(part, "backend", "pil" if isinstance(part, BaseImageProcessor) else None)
    if found is None:
        raise ConfigError(
            f"{type(processor).__name__} has no image processor with a backend that can be pinned",
            path=f"{path}.image_backend",
        )
    if found != wanted:
        needed = (
            f"torchvision, in a build for torch {torch.__version__}," if wanted == "torchvision" else "what it needs"
        )
        raise ConfigError(
            f"the image processor {wanted!r} is not available, only {found!r}; install {needed} or set "
            f"image_backend to {found}",
            path=f"{path}.image_backend",
        )
    return found


def _check_chat_template(processor: Any, source: str, *, path: str) -> str:
    template = processor.chat_template or getattr(processor.tokenizer, "chat_template", None)
    if not template:
        raise ConfigError(
            f"{source!r} has no chat template; choose an instruction-tuned checkpoint, or set prompt_template to the "
            'text around a question, such as "Question: {prompt} Answer:"',
            path=f"{path}.source",
        )
    return template if isinstance(template, str) else json.dumps(template, sort_keys=True)


def _complete_processor(processor: Any) -> None:
    tokenizer = processor.tokenizer
    if not processor.chat_template:  # some processors (Phi-4's) leave it to the tokenizer
        processor.chat_template = tokenizer.chat_template
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token


def _check_template_takes_images(processor: Any, source: str, *, path: str) -> None:
    """Reject templates for text only. They fail on messages with several parts, or print the parts' Python form."""
    parts = [{"type": "image"}, {"type": "text", "text": "What is it?"}]
    try:
        text = processor.apply_chat_template([{"role": "user", "content": parts}], tokenize=False)
        why = "it prints the message's parts" if "'type'" in text else ""
    except (TypeError, ValueError, TemplateError) as error:
        why = str(error)
    if why:
        raise ConfigError(
            f"the chat template of {source!r} does not support images ({why}); choose another checkpoint",
            path=f"{path}.source",
        )


def _greedy(model: Any, tokenizer: Any, decoding: Mapping[str, Any]) -> GenerationConfig:
    """Return the checkpoint's generation settings, made greedy, with the entry's ``decoding`` on top.

    Sampled replies are drawn by a `Sampler`, after these settings. Texts that end a reply are passed with the
    tokenizer, which ``generate`` needs for them.
    """
    settings = model.generation_config.to_diff_dict()
    for name in (*WARPERS, *_NOT_GREEDY, "stop_strings"):
        settings.pop(name, None)
    settings |= {"do_sample": False, "num_beams": 1}
    settings |= {key: decoding[key] for key in ("repetition_penalty",) if key in decoding}
    generation = GenerationConfig.from_dict(settings)
    if generation.eos_token_id is None:
        generation.eos_token_id = tokenizer.eos_token_id
    generation.pad_token_id = tokenizer.pad_token_id
    generation.max_length = None
    return generation
