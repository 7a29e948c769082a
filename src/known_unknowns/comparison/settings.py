"""How the models of published rows were asked (published_settings.yaml), and how entries differ from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from known_unknowns.benchmark import registry
from known_unknowns.config import ModelEntry, catalogue, locked_commits
from known_unknowns.config.models import Decoding, EndpointInferenceSettings, LocalInferenceSettings, OpenAIModel
from known_unknowns.errors import DataError, unknown_name
from known_unknowns.yaml_reader import parse_yaml

if TYPE_CHECKING:
    from known_unknowns.config import Params

EXACTLY, NEARLY, UNKNOWN, NOT = LEVELS = "exactly", "nearly", "unknown", "not"
EXPECTED = ("weights", "revision", "dtype", "system", "prompt", "order", "decoding", "processor", "attention", "kept")
"""Settings that a reproduction needs. Those that a source does not say are named."""
_OTHERS = ("quantization", "image_backend", "batch_size", "decisions")
_OF_ENTRIES = (*LocalInferenceSettings.model_fields, *EndpointInferenceSettings.model_fields)
KEYS = tuple(dict.fromkeys([*EXPECTED, *_OTHERS, *_OF_ENTRIES]))
"""Keys of a row's settings: those of a model's entry, with ``weights`` for its source. The size of a batch is shown and
not compared, because the margin of a verdict allows for numerical flips. ``quantization`` is that of the weights; a row
without it was not quantised. ``decisions`` is how the authors change replies that decide the next turn; ours are read
as they are."""
DECODING = (*Decoding.model_fields, "do_sample")
NUMERICAL = frozenset({"dtype", "attention", "image_backend"})
"""Keys whose differences change few replies."""
_SAMPLING = ("sampling", "temperature", "top_p", "top_k", "do_sample")
_PLACES = ("source", "sources", "note", "unknown", "variants")
_DEFAULTS = {"prompt": "the benchmark's", "kept": "the whole reply", "order": "in_place"}
_DEFAULTS |= dict.fromkeys(("system", "quantization"), "none")
_LONGEST = 50


@dataclass(frozen=True, slots=True)
class PublishedSettings:
    """How the model of a published row (`PublishedCell.model`) was asked.

    ``layers`` are the benchmark's common settings, then the row's, as in the file. ``note`` is what no key can say, and
    ``origin`` the repository or paper of all places.
    """

    row: str
    layers: Sequence[Mapping[str, Any]]
    note: str
    origin: str

    @property
    def variants(self) -> dict[str, dict[str, Any]]:
        """The settings of variants that differ from the others, by variant."""
        names = dict.fromkeys(name for layer in self.layers for name in layer.get("variants", {}))
        base = self.of("")
        changed = {name: {k: v for k, v in self.of(name).items() if base.get(k) != v} for name in names}
        for own in changed.values():
            if "decoding" in own:
                known = base.get("decoding", {})
                own["decoding"] = {k: v for k, v in own["decoding"].items() if known.get(k) != v}
        return changed

    def of(self, variant: str) -> dict[str, Any]:
        """Return the settings of a variant, by `KEYS`. Those that no source states are absent."""
        combined: dict[str, Any] = {}
        for layer in (part for each in self.layers for part in (each, each.get("variants", {}).get(variant, {}))):
            decoding = {**combined.get("decoding", {}), **layer.get("decoding", {})}
            combined |= {key: value for key, value in layer.items() if key in KEYS}
            combined |= {"decoding": decoding} if decoding else {}
            combined = {key: value for key, value in combined.items() if key not in layer.get("unknown", ())}
        return combined

    def source(self, key: str) -> str:
        """Return the place that states a setting."""
        for layer in reversed(self.layers):
            if key in layer or key in layer.get("sources", {}):
                return str(layer.get("sources", {}).get(key, layer["source"]))
        return str(self.layers[-1]["source"])


@cache
def published_settings(benchmark: str) -> Mapping[str, PublishedSettings]:
    """Return how each published row of a benchmark was asked; empty if it has no published_settings.yaml."""
    path = registry.get(benchmark).published_settings
    return read_settings(path) if path.is_file() else {}


def read_settings(path: Path) -> dict[str, PublishedSettings]:
    """Read a file of published settings, by row. DataError if a key is unknown, or a row names no source."""
    try:
        raw = parse_yaml(path.read_text(encoding="utf-8"))
        common, rows = raw["common"], raw["rows"]
        for name, layer in {"common": common, **rows}.items():
            for key in _unknown_keys(layer):
                raise ValueError(f"{name}: {key}")
            if not layer.get("source"):
                raise ValueError(f"{name}: no source")
        return {
            row: PublishedSettings(row, (common, own), own.get("note", ""), raw["from"]) for row, own in rows.items()
        }
    except (KeyError, ValueError, AttributeError, yaml.YAMLError) as error:
        raise DataError(str(error), file=path) from error


def _unknown_keys(layer: Mapping[str, Any]) -> Iterator[str]:
    yield from (unknown_name(key, KEYS) for key in layer if key not in (*KEYS, *_PLACES))
    yield from (unknown_name(key, DECODING) for key in layer.get("decoding", {}) if key not in DECODING)
    yield from (unknown_name(key, KEYS) for key in (*layer.get("sources", ()), *layer.get("unknown", ()))
                if key not in KEYS)  # fmt: skip
    for each in layer.get("variants", {}).values():
        yield from _unknown_keys(each)


def unknown_settings(published: Mapping[str, Any]) -> list[str]:
    """Return the settings of `EXPECTED` that no source states, and those that are left to the checkpoint's files."""
    unknown = [key for key in EXPECTED if key not in published or published[key] == "auto"]
    lengthless = "decoding" in published and "max_new_tokens" not in published["decoding"]
    return [*unknown, *(["max_new_tokens"] if lengthless else [])]


def differences(
    published: Mapping[str, Any], entry: ModelEntry, benchmark: str, max_new_tokens: int | None
) -> dict[str, str]:
    """Return the settings in which a model is asked otherwise than the published row, and how they differ.

    ``published`` are the settings of the row and variant (`PublishedSettings.of`), ``max_new_tokens`` is the length
    that the variant's protocol allows, unless the entry has its own. Settings that the entry cannot say, such as the
    dtype of an endpoint, and those that no source states are left out. A row was not quantised unless a source says so.
    """
    asked: Any = entry.asked_in(benchmark)
    ours = {key: getattr(asked, key) for key in KEYS if hasattr(asked, key)}
    ours["weights"] = str(getattr(asked, "source", "")).rpartition("/")[2]
    ours["revision"] = _commit(asked)
    ours["quantization"] = getattr(getattr(asked, "launch", None), "quantization", None)
    differing: dict[str, str] = {}
    for key, value in {"quantization": None, **published}.items():
        if key == "decoding":
            length = getattr(asked.decoding, "max_new_tokens", None) or max_new_tokens
            differing |= _decoding(value, asked.decoding.plain() | {"max_new_tokens": length})
        elif key == "processor":
            differing |= _named(value or {}, ours.get(key) or {}, "the default")
        elif key == "decisions":
            differing[key] = f"decisions as they are instead of {shown(key, value)}"
        elif key in ours and key != "batch_size" and value != "auto" and not _equal(key, value, ours[key]):
            differing[key] = f"{key} {shown(key, ours[key])} instead of {shown(key, value)}"
    return differing


@dataclass(frozen=True, slots=True)
class Reproducibility:
    """Whether a published row can be asked as published, by the entry ``model`` (empty if there is none).

    The level is `EXACTLY`; `NEARLY` if settings are unknown or differ only in `NUMERICAL`; `UNKNOWN` if nothing differs
    and no source states the weights or the prompt, or what is kept depends on marks that the server may remove; or
    `NOT`. ``reasons`` are what differs, or why there is no entry, ``unknown`` what no source states.
    """

    settings: PublishedSettings
    model: str
    level: str
    reasons: tuple[str, ...]
    unknown: tuple[str, ...]


def as_published(params: Params, benchmark: str) -> list[Reproducibility]:
    """Return whether each published row of a benchmark can be asked as published, by the catalogue and params.yaml."""
    entries = {
        entry.published_row(benchmark): (name, entry)
        for name, entry in (dict(catalogue.models()) | params.file.models).items()
        if entry.published_row(benchmark) and not params.is_imported(name)
    }
    absent = catalogue.absent().get(benchmark, {})
    reproducibilities = []
    variants = [
        name for name in registry.get(benchmark).published_protocols if name in params.listed_variants(benchmark)
    ]
    for row, settings in published_settings(benchmark).items():
        unknown = _in_variants({name: unknown_settings(settings.of(name)) for name in variants})
        if row not in entries:
            reason = absent.get(row, "no entry of the catalogue stands for it")
            reproducibilities.append(Reproducibility(settings, "", NOT, (reason,), unknown))
            continue
        model, entry = entries[row]
        served = [key for key in EXPECTED if key not in ("weights", *unknown) and not hasattr(entry, key)]
        unknown += tuple(f"{key} of the endpoint" for key in served)
        hides_marks = _reads_marks(settings, variants) and isinstance(entry.asked_in(benchmark), OpenAIModel)
        unknown += ("kept, if the server returns the reasoning in a field of its own",) if hides_marks else ()
        reasons: dict[str, dict[str, None]] = {}
        for name in variants:
            length = params.protocol(benchmark, name).arguments["max_new_tokens"]
            for key, text in differences(settings.of(name), entry, benchmark, length).items():
                reasons.setdefault(key, {})[text] = None
        level = NOT if reasons.keys() - NUMERICAL else NEARLY if reasons or unknown else EXACTLY
        is_unknown = hides_marks or not {"weights", "prompt"}.isdisjoint(unknown)
        level = UNKNOWN if level == NEARLY and is_unknown else level
        texts = tuple(text for each in reasons.values() for text in each)
        reproducibilities.append(Reproducibility(settings, model, level, texts, unknown))
    return reproducibilities


def _reads_marks(settings: PublishedSettings, variants: Sequence[str]) -> bool:
    """Return whether what the authors kept of a reply depends on marks such as ``</think>``."""
    return any("<" in (settings.of(name).get("kept") or "").replace("(?<", "") for name in variants)


def _in_variants(keys: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return keys by variant as one list, which names the variants of a key that is not in all of them."""
    where = {key: [name for name, each in keys.items() if key in each] for every in keys.values() for key in every}
    return tuple(key if len(names) == len(keys) else f"{key} ({', '.join(names)})" for key, names in where.items())


def _equal(key: str, published: Any, ours: Any) -> bool:
    if key == "weights":
        return str(published).rpartition("/")[2].casefold() == str(ours).casefold()
    return ours in published if isinstance(published, list) else published == ours


def _commit(entry: ModelEntry) -> str | None:
    """Return the commit that the lock gives a model, or else the revision of its entry."""
    locked = locked_commits.model_entry(entry)
    return getattr(entry, "revision", None) if locked is None else locked.commit


def _decoding(published: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, str]:
    known = {key: value for key, value in ours.items() if key != "seed" and value is not None}
    if "max_new_tokens" not in published:
        known.pop("max_new_tokens", None)
    return _named(_sampling(published), _sampling(known), "none")


def _sampling(decoding: Mapping[str, Any]) -> dict[str, Any]:
    """Return generation settings with everything that chooses a token under the key sampling."""
    sampled = decoding.get("sampling") or decoding.get("do_sample") or decoding.get("temperature")
    greedy = not sampled or decoding.get("top_k") == 1
    chosen = {key: decoding[key] for key in _SAMPLING if decoding.get(key) is not None}
    how = ", ".join(str(value) if key == "sampling" else f"{key} {value}" for key, value in chosen.items())
    return {"sampling": "greedy" if greedy else how} | {k: v for k, v in decoding.items() if k not in _SAMPLING}


def _named(published: Mapping[str, Any], ours: Mapping[str, Any], absent: str) -> dict[str, str]:
    keys = [key for key in {**published, **ours} if published.get(key) != ours.get(key)]
    return {key: f"{key} {ours.get(key, absent)} instead of {published.get(key, absent)}" for key in keys}


def shown(key: str, value: Any) -> str:
    """Return the value of a setting on one line: the beginning of a long text."""
    if value is None:
        return _DEFAULTS.get(key, "the default")
    if isinstance(value, list):
        return shown(key, value[0])
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    text = " ".join(str(value).split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return f'"{text}"' if key in ("prompt", "system", "kept") else text
