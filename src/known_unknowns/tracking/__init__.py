"""Tracking: the results as nested MLflow runs.

There is one run per model, below it one per benchmark, and below that one per cell (a variant and a seed). `contents`
collects what each run holds and does not use MLflow, `store` opens the store, `runs` updates it (`track`), `page` sets
the first page of the experiment.

The tag ``job_key`` is a digest of a run's parameters; a rerun finds its run by it. The tag ``superseded`` is "true" for
a run whose model, benchmark or cell has new parameters, so the filter ``tags.superseded = 'false'`` selects the current
runs. The tag ``level`` is "model", "benchmark" or "cell".
"""

from known_unknowns.tracking.runs import track

__all__ = ["track"]
