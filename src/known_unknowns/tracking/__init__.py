"""Tracking: the results as nested MLflow runs, one per model, below it one per benchmark, below that one per cell.

`contents` collects what the runs hold, `store` opens the store, `runs` writes them (`track`), `page` sets the first
page of the experiment. The tag ``level`` is "model", "benchmark" or "cell" (a variant, a seed and a sample);
``tags.superseded = 'false'`` selects the current runs.
"""

from known_unknowns.tracking.runs import track

__all__ = ["track"]
