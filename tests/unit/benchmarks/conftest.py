"""Fixtures of the report's tests, for the report sections of the benchmarks."""

from tests.unit.report.conftest import *  # noqa: F403
