"""Work in several processes."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor


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
