"""The typed configuration: params.yaml, and the catalogue with the entries of the published models.

`load` reads and checks a file, `check` checks a merged configuration; both return `Params`. They check everything that
the file alone can tell. `known_unknowns.workflow.configuration` also checks names and arguments against the registries
of benchmarks, variants, protocols and parsers: use its `load` to run something.
"""

from known_unknowns.config.base import Entry, merged
from known_unknowns.config.loading import check, load, parse, read, sound_part, unknown_names
from known_unknowns.config.models import (
    Card,
    ImportedModel,
    InferenceSettings,
    ModelEntry,
    ModelSettings,
    OpenAIModel,
    RespondentModel,
    TransformersModel,
)
from known_unknowns.config.params import Params, data_entry, typed_model
from known_unknowns.config.sections import (
    BenchmarkEntry,
    Configuration,
    DataEntry,
    Edition,
    FolderData,
    GitData,
    HttpData,
    HubData,
    ProtocolEntry,
    ReleasedData,
    ScenesData,
    Statistics,
    Tracking,
    VariantEntry,
    without_password,
)

__all__ = [
    "BenchmarkEntry",
    "Card",
    "Configuration",
    "DataEntry",
    "Edition",
    "Entry",
    "FolderData",
    "GitData",
    "HttpData",
    "HubData",
    "ImportedModel",
    "InferenceSettings",
    "ModelEntry",
    "ModelSettings",
    "OpenAIModel",
    "Params",
    "ProtocolEntry",
    "ReleasedData",
    "RespondentModel",
    "ScenesData",
    "Statistics",
    "Tracking",
    "TransformersModel",
    "VariantEntry",
    "check",
    "data_entry",
    "load",
    "merged",
    "parse",
    "read",
    "sound_part",
    "typed_model",
    "unknown_names",
    "without_password",
]
