"""Tracking: the finished tables, as runs in MLflow, so that they can be filtered, compared and searched.

- `cells`: which runs there are, what identifies one, and what it holds; knows nothing of MLflow
- `contents`: the metrics, the tables and the description of a run; knows nothing of MLflow
- `store`: the database, made whole or not at all, one writer at a time, with errors that say what to do
- `runs`: `track`, which brings the store in line with the tables
- `curves`: those of a training, for those who ask for them

A run is one model x benchmark x variant x seed, and flat, because the UI compares flat runs well. Two of its tags
matter: ``job_key`` is a hash of all parameters, by which a rerun finds the run again and updates it; ``superseded``
is "true" on the run of a cell whose parameters have changed since, so that ``tags.superseded = 'false'`` shows
exactly the present state.
"""

from known_unknowns.tracking.runs import track

__all__ = ["track"]
