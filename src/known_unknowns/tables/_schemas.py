"""The Arrow schemas of the tables; see `known_unknowns.tables`."""

from __future__ import annotations

import pyarrow as pa


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


_TEXT, _INT, _FLOAT = pa.string(), pa.int64(), pa.float64()
_OPTION = pa.struct([_required("letter", _TEXT), _required("text", _TEXT), _required("mark", _TEXT)])
_IMAGE = pa.struct(
    [
        _required("source", _TEXT),
        _required("sha256", _TEXT),
        _required("width", _INT),
        _required("height", _INT),
    ]
)

QUESTIONS = pa.schema(
    [
        _required("id", _TEXT),
        _required("benchmark", _TEXT),
        _required("text", _TEXT),
        _required("options", pa.list_(_OPTION)),
        pa.field("answer", _INT),
        pa.field("refusal", _INT),
        _required("images", pa.list_(_IMAGE)),
        _required("category", _TEXT),
        _required("group", _TEXT),
        _required("extra", _TEXT),  # a JSON object: the benchmark's own fields
    ]
)
REPLIES = pa.schema(
    [
        _required("question_id", _TEXT),
        _required("turn", _INT),
        _required("step", _TEXT),
        _required("text", _TEXT),  # the prompt's text
        _required("images", pa.list_(_TEXT)),  # their sha256
        pa.field("letters", pa.list_(_TEXT)),
        _required("key", _TEXT),
        _required("reply", _TEXT),
        pa.field("logprobs", pa.map_(_TEXT, _FLOAT)),
        pa.field("input_tokens", _INT),
        pa.field("visual_tokens", _INT),
        pa.field("output_tokens", _INT),
        _required("finish", _TEXT),
        pa.field("error", _TEXT),
    ]
)
SCORES = pa.schema(
    [
        _required("question_id", _TEXT),
        _required("turn", _INT),
        _required("step", _TEXT),
        _required("parser", _TEXT),
        _required("outcome", _TEXT),
        pa.field("letter", _TEXT),
        pa.field("choice", _INT),
        _required("correct", pa.bool_()),
    ]
)
METRICS = pa.schema(
    [
        _required("model", _TEXT),
        _required("benchmark", _TEXT),
        _required("variant", _TEXT),
        pa.field("seed", _INT),
        _required("parser", _TEXT),
        _required("category", _TEXT),
        _required("name", _TEXT),
        pa.field("value", _FLOAT),
        pa.field("low", _FLOAT),
        pa.field("high", _FLOAT),
        _required("n", _INT),
        _required("method", _TEXT),
        pa.field("spread", _FLOAT),
        pa.field("denominator", _FLOAT),
    ]
)
