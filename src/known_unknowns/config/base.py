"""The base class of the configuration's entries, and the types that their fields share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from known_unknowns.config.redaction import invalid
from known_unknowns.errors import unknown_name
from known_unknowns.records import SEED_LIMIT

MISSING_KEY, UNKNOWN_KEY, NOT_A_TEXT, INVALID = "missing_key", "unknown_key", "not_a_text", "invalid"
"""Types of the errors that validation reports."""
FINAL = (MISSING_KEY, UNKNOWN_KEY, NOT_A_TEXT, INVALID)
"""Their text is final; see `Entry`."""


def _unique(values: list[Any]) -> list[Any]:
    doubled = sorted({str(value) for value in values if values.count(value) > 1})
    if doubled:
        raise PydanticCustomError(INVALID, "{text}", {"text": f"listed more than once: {', '.join(doubled)}"})
    return values


def _unchanged(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Validate, but keep the value as given: an integer where a number is allowed stays an integer."""
    validate(value)
    return value


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
"""A name that becomes part of file names: no slashes, spaces or leading dots."""
Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""A seed of NumPy's generators."""
Positive = Annotated[float, Field(gt=0), WrapValidator(_unchanged)]
NotNegative = Annotated[float, Field(ge=0), WrapValidator(_unchanged)]
Seeds = Annotated[
    list[Annotated[int, Field(ge=0, lt=SEED_LIMIT)]],
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_unique),
]
Names = Annotated[list[str], Field(min_length=1, json_schema_extra={"uniqueItems": True}), AfterValidator(_unique)]


class Entry(BaseModel):
    """A part of params.yaml with typed fields. Types are strict, and unknown keys are errors."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )

    nullable: ClassVar[frozenset[str]] = frozenset()
    """Fields that may be null in the file."""
    removed: ClassVar[Mapping[str, str]] = {}
    """Keys that were removed, and what holds instead."""

    def plain(self) -> dict[str, Any]:
        """Return the keys that were set, with plain values: what a file has."""
        return self.model_dump(exclude_unset=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Leave out null where a field may not be null in the file."""
        schema = handler(core_schema)
        for name, field in handler.resolve_ref_schema(schema).get("properties", {}).items():
            choices = [choice for choice in field.get("anyOf", ()) if choice != {"type": "null"}]
            if name in cls.nullable or len(choices) == len(field.get("anyOf", ())):
                continue
            del field["anyOf"]
            field.pop("default")
            field.update(choices[0] if len(choices) == 1 else {"anyOf": choices})
        return schema

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        """Replace the texts of errors by ours. An unknown key is explained here, where the known keys are at hand."""
        given = dict(value) if isinstance(value, Mapping) else {}
        nulls = [key for key, item in given.items() if item is None and key in cls.model_fields.keys() - cls.nullable]
        lines = [error_line(INVALID, "null is not allowed; leave the key out", (key,), None) for key in nulls]
        try:
            entry = validate({key: item for key, item in given.items() if key not in nulls} if nulls else value)
        except ValidationError as error:
            lines = [_explained(cls, each) for each in error.errors(include_url=False)] + lines
        if lines:
            raise ValidationError.from_exception_data(cls.__name__, lines, hide_input=True)
        return entry


class WithArguments(Entry):
    """An entry whose other keys are the arguments of a function. The function's module checks them."""

    model_config = ConfigDict(extra="allow")

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the function."""
        return dict(self.model_extra or {})


def _explained(entry: type[Entry], error: Mapping[str, Any]) -> InitErrorDetails:
    kind, location, context = error["type"], error["loc"], error.get("ctx", {})
    if kind in FINAL:
        return error_line(kind, error["msg"], location, error["input"])
    if kind == "missing":
        return error_line(MISSING_KEY, "this key is required", location, error["input"])
    if kind == "extra_forbidden":
        key = str(location[-1])
        if key in entry.removed:
            return error_line(UNKNOWN_KEY, f"this key was removed: {entry.removed[key]}", location, None)
        return error_line(UNKNOWN_KEY, f"unknown key: {unknown_name(key, entry.model_fields)}", location, None)
    if kind == "union_tag_invalid":
        known = [tag.strip("' ") for tag in context["expected_tags"].split(",")]
        location = (*location, context["discriminator"].strip("'"))
        return error_line(INVALID, unknown_name(context["tag"], known), location, error["input"])
    if kind == "union_tag_not_found":
        location = (*location, context["discriminator"].strip("'"))
        return error_line(MISSING_KEY, "this key is required", location, error["input"])
    text, value = error["msg"].removeprefix("Value error, "), error["input"]
    own = NOT_A_TEXT if kind == "string_type" else INVALID
    return error_line(own, invalid(location, value, text), location, value)


def error_line(kind: str, text: str, location: tuple[int | str, ...], value: Any) -> InitErrorDetails:
    """Return an error with our text. ``kind`` is one of `FINAL`."""
    return InitErrorDetails(type=PydanticCustomError(kind, "{text}", {"text": text}), loc=location, input=value)


def merged(below: Any, above: Any) -> Any:
    """Return ``above`` over ``below``: mappings are merged by their keys, all else is replaced."""
    if not isinstance(above, Mapping):
        return above
    values = dict(below) if isinstance(below, Mapping) else {}
    for key, value in above.items():
        values[key] = merged(values.get(key), value)
    return values
