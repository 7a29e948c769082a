"""Work in several processes."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from typing import Any

from known_unknowns.errors import KnownUnknownsError


def fresh_processes(workers: int) -> ProcessPoolExecutor:
    """Return a pool of processes that end with this one.

    They are not forked: pyarrow's threads may hold locks that a copy of this process would wait for.
    """
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    """End this process when its parent ends, even by SIGKILL."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function, which must be picklable, and its arguments."""


def in_processes(calls: Sequence[Call], *, workers: int) -> Iterator[tuple[Call, KnownUnknownsError | OSError | None]]:
    """Make calls in up to ``workers`` processes; yield each call as it ends, and the error that a user can act on.

    With one worker or one call, no process is started. Any other error ends the calls that have not begun.
    """
    if min(workers, len(calls)) < 2:
        for call in calls:
            yield call, _error_of(partial(call[0], *call[1]))
        return
    pool = fresh_processes(min(workers, len(calls)))
    try:
        futures = {pool.submit(call[0], *call[1]): call for call in calls}
        for future in as_completed(futures):
            yield futures[future], _error_of(future.result)
    finally:
        pool.shutdown(cancel_futures=True)


def _error_of(function: Callable[[], Any]) -> KnownUnknownsError | OSError | None:
    try:
        function()
    except (KnownUnknownsError, OSError) as error:
        return error
    return None
