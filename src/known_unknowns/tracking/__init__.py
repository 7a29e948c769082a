"""Tracking: the results as MLflow runs, one per model, and below it one per benchmark and seed.

`contents` collects what the runs hold, `store` opens the store, `runs` writes them (`track`), `page` sets the first
page of the experiment. The tag ``level`` is "model" or "seed"; ``tags.superseded = 'false'`` selects the current runs.
"""

from known_unknowns.tracking.runs import track

__all__ = ["track"]
