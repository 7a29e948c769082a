"""Tracking: every finished cell of the results as one MLflow run.

A cell is one model, benchmark, variant and seed. `contents` collects what the run of a cell holds and does not use
MLflow, `store` opens the MLflow store, `runs` updates the store (`track`).

Runs are flat, because the MLflow UI compares flat runs well. The tag ``job_key`` is a digest of all parameters; a rerun
finds its run by it. The tag ``superseded`` is "true" for a run whose cell has new parameters, so the filter
``tags.superseded = 'false'`` selects the current runs.
"""

from known_unknowns.tracking.runs import track

__all__ = ["track"]
