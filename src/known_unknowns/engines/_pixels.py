"""A checkpoint's image processor, with the pixels of an image computed once for all prompts that show it alone.

Prompts with several images are passed on: some processors pad or cut an image differently beside others.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from threading import Lock
from typing import Any

import torch

LIMIT = 2**28
"""Bytes of pixels that are kept, the least recently used ones are dropped first."""


class CachingImageProcessor:
    """Wraps a processor's image processor. `name` tells which images the next calls are about."""

    def __init__(self, image_processor: Any, *, limit: int = LIMIT) -> None:
        kept: OrderedDict[Hashable, Any] = OrderedDict()
        started: dict[Hashable, Future[Any]] = {}
        self.__dict__.update(_wrapped=image_processor, _limit=limit, _bytes=0, _kept=kept, _started=started)
        self.__dict__.update(_names={}, _last=None, _lock=Lock())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_wrapped"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            self.__dict__[name] = value
            return
        with self._lock:  # a setting of the image processor: what was computed before is not valid any more
            self._kept.clear()
            self._started.clear()
            self._bytes = 0
        setattr(self._wrapped, name, value)

    def name(self, images: Mapping[str, Any]) -> None:
        """Set the digests of the image objects of the next calls. The caller keeps these objects."""
        self._names = {id(image): (digest, image) for digest, image in images.items()}

    def start(self, images: Iterable[Any], pool: Executor) -> None:
        """Compute the pixels of images in other threads, with the settings of the last call about a single image."""
        with self._lock:
            self._started.clear()
            if self._last is None:
                return
            depth, args, kwargs = self._last
            for image in images:
                key = self._names[id(image)][0], depth, _settings(args, kwargs)
                if key not in self._kept:
                    self._started[key] = pool.submit(self._wrapped, _nested(image, depth), *args, **kwargs)

    def __call__(self, images: Any, *args: Any, **kwargs: Any) -> Any:
        image, depth = _only(images)
        digest, _ = self._names.get(id(image), (None, None))
        if digest is None:
            return self._wrapped(images, *args, **kwargs)
        key = digest, depth, _settings(args, kwargs)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return _copy(self._kept[key])
            started = self._started.pop(key, None)
            result = self._wrapped(images, *args, **kwargs) if started is None else started.result()
            if not isinstance(
                getattr(result, "data", None), Mapping
            ):  # that of Idefics' is a tensor, which is not kept
                return result
            self._last = depth, args, kwargs
            self._keep(key, result)
            return _copy(result)

    def _keep(self, key: Hashable, result: Any) -> None:
        self._kept[key] = result
        self._bytes += _nbytes(dict(result.data))
        while self._bytes > self._limit:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= _nbytes(dict(dropped.data))


def _only(images: Any) -> tuple[Any, int]:
    """Return a single image and how deep it stands in lists; None for several images."""
    depth = 0
    while isinstance(images, (list, tuple)):
        if len(images) != 1:
            return None, depth
        images, depth = images[0], depth + 1
    return images, depth


def _nested(image: Any, depth: int) -> Any:
    return [_nested(image, depth - 1)] if depth else image


def _settings(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Hashable:
    return repr(args), repr(sorted(kwargs.items(), key=str))


def _copy(result: Any) -> Any:
    again = copy.copy(result)
    again.data = dict(result.data)  # processors remove entries
    return again


def _nbytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.nbytes
    if isinstance(value, Mapping):
        value = list(value.values())
    return sum(map(_nbytes, value)) if isinstance(value, (list, tuple)) else 0
