"""A checkpoint's image processor, with the pixels of each image computed once, whichever prompt it is part of.

Processors treat images separately, but some pad or cut an image differently beside others. So the result for several
images is put together from the results for each image only after this gave exactly the processor's own result for the
same number and sizes of images.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from threading import Lock
from typing import Any

import torch

LIMIT = 2**28
"""Bytes of pixels that are kept, the least recently used ones are dropped first."""


class CachingImageProcessor:
    """Wraps a processor's image processor.

    `name` tells which images the next calls are about. Calls with other images, or with a list of images for each of
    several prompts, are passed on.

    Attributes
    ----------
    computed, reused : int
        Images whose pixels were computed, and whose pixels were kept.
    """

    def __init__(self, image_processor: Any, *, limit: int = LIMIT) -> None:
        self.__dict__.update(
            _wrapped=image_processor,
            _limit=limit,
            _bytes=0,
            _kept=OrderedDict(),
            _names={},
            _joined={},
            _started={},
            _last=None,
            _lock=Lock(),
            computed=0,
            reused=0,
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_wrapped"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            self.__dict__[name] = value
        else:  # a setting of the image processor: what was computed before is not valid any more
            self.forget()
            setattr(self._wrapped, name, value)

    def forget(self) -> None:
        """Drop everything that was computed."""
        with self._lock:
            self._kept.clear()
            self._joined.clear()
            self._started.clear()
            self._bytes = 0

    def name(self, images: Mapping[str, Any]) -> None:
        """Set the digests of the image objects of the next calls. The caller keeps these objects."""
        self._names = {id(image): (digest, image) for digest, image in images.items()}

    def start(self, images: Iterable[Any], pool: Executor) -> None:
        """Compute the pixels of images in other threads, with the settings of the last call about a single image."""
        with self._lock:
            self._started.clear()
            if self._last is None:
                return
            like, args, kwargs = self._last
            for image in images:
                alone = _nested_alike(like, image)
                key = self._names[id(image)][0], _settings(alone, args, kwargs)
                if key not in self._kept:
                    self._started[key] = pool.submit(self._wrapped, alone, *args, **kwargs)

    def __call__(self, images: Any, *args: Any, **kwargs: Any) -> Any:
        single = list(_flat(images))
        digests = [self._names.get(id(image), (None,))[0] for image in single]
        settings = _settings(images, args, kwargs)
        if not single or None in digests or _nesting(images) < 0:
            self.computed += len(single)
            return self._wrapped(images, *args, **kwargs)
        with self._lock:
            return self._result(images, single, [(digest, settings) for digest in digests], args, kwargs)

    def _result(
        self,
        images: Any,
        single: Sequence[Any],
        keys: Sequence[Hashable],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        parts = [
            self._of_one(key, _nested_alike(images, image), args, kwargs)
            for key, image in zip(keys, single, strict=True)
        ]
        if not all(map(_has_entries, parts)):
            return parts[0] if len(single) == 1 else self._wrapped(images, *args, **kwargs)
        if len(single) == 1:
            return _copy(parts[0])
        kind = keys[0][1], tuple(map(_sizes, parts))
        if kind not in self._joined:
            whole = self._wrapped(images, *args, **kwargs)
            self._joined[kind] = _ways_to_join(parts, whole)
            return whole
        ways = self._joined[kind]
        if ways is None:
            return self._wrapped(images, *args, **kwargs)
        joined = _copy(parts[0])
        joined.data = {name: _JOINS[way]([part[name] for part in parts]) for name, way in ways.items()}
        return joined

    def _of_one(self, key: Hashable, images: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if key in self._kept:
            self.reused += 1
            self._kept.move_to_end(key)
            return self._kept[key]
        self.computed += 1
        started = self._started.pop(key, None)
        result = self._wrapped(images, *args, **kwargs) if started is None else started.result()
        if not _has_entries(result):
            return result
        self._last = images, args, kwargs
        size = _nbytes(dict(result.data))
        if size <= self._limit:
            self._kept[key] = result
            self._bytes += size
            while self._bytes > self._limit:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= _nbytes(dict(dropped.data))
        return result


def _settings(images: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Hashable:
    return repr(args), repr(sorted(kwargs.items(), key=str)), _nesting(images)


def _has_entries(result: Any) -> bool:
    """Return whether a result has named tensors. That of Idefics' image processor is a tensor, which is not kept."""
    return isinstance(getattr(result, "data", None), Mapping)


def _copy(result: Any) -> Any:
    again = copy.copy(result)
    again.data = dict(result.data)  # processors remove entries
    return again


def _flat(images: Any) -> Iterator[Any]:
    if isinstance(images, (list, tuple)):
        for image in images:
            yield from _flat(image)
    else:
        yield images


def _nesting(images: Any) -> int:
    """Return how deep the images of one prompt stand in lists; -1 for several prompts."""
    if not isinstance(images, (list, tuple)):
        return 0
    nested = [part for part in images if isinstance(part, (list, tuple))]
    if not nested:
        return 1
    return -1 if len(images) > 1 else 1 + _nesting(images[0])


def _nested_alike(images: Any, image: Any) -> Any:
    """Return one image in as many lists as ``images``."""
    return [_nested_alike(images[0], image)] if isinstance(images, (list, tuple)) else image


def _sizes(part: Any) -> Hashable:
    """Return the sizes of an image's tensors that must be equal for them to be joined, and how many rows they have."""
    return tuple(
        (name, tuple(value.shape[1:])) for name, value in sorted(part.data.items()) if isinstance(value, torch.Tensor)
    )


def _same(values: Sequence[Any]) -> Any:
    if any(not _equal(value, values[0]) for value in values):
        raise ValueError("the values differ")
    return values[0]


_JOINS: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "rows": lambda values: torch.cat(list(values)),
    "tiles": lambda values: torch.cat(list(values), dim=1),
    "list": lambda values: [item for value in values for item in value],
    "nested": lambda values: [[item for value in values for item in value[0]]],
    "same": _same,
}


def _ways_to_join(parts: Sequence[Any], whole: Any) -> dict[str, str] | None:
    """Return for each entry of ``whole`` how it is made of the entries of ``parts``; None if it is not."""
    ways: dict[str, str] = {}
    for name, expected in whole.data.items():
        if any(name not in part.data for part in parts):
            return None
        values = [part.data[name] for part in parts]
        way = next((way for way, join in _JOINS.items() if _gives(join, values, expected)), None)
        if way is None:
            return None
        ways[name] = way
    return ways


def _gives(join: Callable[[Sequence[Any]], Any], values: Sequence[Any], expected: Any) -> bool:
    try:
        return _equal(join(values), expected)
    except (RuntimeError, TypeError, IndexError, KeyError, ValueError):
        return False


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        return type(one) is type(other) and one.dtype == other.dtype and torch.equal(one, other)
    return type(one) is type(other) and bool(one == other)


def _nbytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.nbytes
    if isinstance(value, Mapping):
        value = list(value.values())
    return sum(map(_nbytes, value)) if isinstance(value, (list, tuple)) else 0
