"""pytest plugin: run each mutant in a forked process, with the tests that execute the mutated statement.

The tests are collected once. A first child process runs them all under coverage.py, which records the lines of every
test and of every fixture with a wider scope. Then every mutant has a child of its own, which replaces the code of the
mutated functions and stops at the first failure. What other processes execute (commands that a test starts) has no
mutants.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType

import coverage
import mutants
import pytest
from hypothesis import Phase, settings

PROJECT = Path.cwd()
OUT = Path(os.environ["MUTATION_OUT"])
NUMBER = int(os.environ["MUTATION_NUMBER"])
SEED = int(os.environ["MUTATION_SEED"])
MOST_SECONDS = 4  # CPU time of the tests of one mutant, without it: the cheapest ones are taken
_FUNCTIONS: dict[str, list[FunctionType]] = defaultdict(list)  # by file
KILLED, SURVIVED, UNTESTED, TIMEOUT = "killed", "survived", "no test", "timeout"


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile("mutation", deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
    settings.load_profile("mutation")


def pytest_runtestloop(session: pytest.Session) -> bool:
    files = sorted(name for names in mutants.subject_files(PROJECT).values() for name in names)
    for name in files:
        importlib.import_module(Path(name).relative_to("src").with_suffix("").as_posix().replace("/", "."))
    for function in gc.get_objects():
        if isinstance(function, FunctionType):
            _FUNCTIONS[function.__code__.co_filename].append(function)
    gc.collect()
    gc.freeze()  # a collection in a child would copy all memory
    started = time.monotonic()
    coverage_file = OUT / "coverage.json"
    if not coverage_file.exists():
        _in_child(session, lambda: _record(session.items, files, coverage_file), cpu_seconds=3000)
    recorded = json.loads(coverage_file.read_text())
    print(f"coverage: {time.monotonic() - started:.0f} s, {len(recorded['seconds'])} tests pass", file=sys.stderr)
    rows = OUT / "mutants.jsonl"
    done = {} if not rows.exists() else {_key(row): row for row in map(json.loads, rows.read_text().splitlines())}
    with rows.open("w") as out:
        for mutant in mutants.choose(PROJECT, NUMBER, SEED):
            row = done.get(_key(vars(mutant))) or _outcome(session, mutant, recorded)
            out.write(json.dumps(row) + "\n")
            out.flush()
    return True


def _key(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("file", "line", "operator", "change"))


def _record(items: list[pytest.Item], files: list[str], out: Path) -> None:
    """Run all tests and write, for each line of the files, the names of the tests and fixtures that execute it."""
    measured = coverage.Coverage(data_file=None, include=[str(PROJECT / name) for name in files], config_file=False)
    results = _Results()
    contexts = _Contexts(measured)
    items[0].config.pluginmanager.register(results)
    items[0].config.pluginmanager.register(contexts)
    measured.start()
    _run(items)
    measured.stop()
    data = measured.get_data()
    lines: dict[str, dict[int, list[str]]] = {}
    for name in files:
        found = data.contexts_by_lineno(str(PROJECT / name))
        lines[name] = {line: [context for context in names if context] for line, names in found.items()}
    users: dict[str, list[str]] = defaultdict(list)
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            users[f"fixture {fixture}"].append(item.nodeid)
    for name, took in contexts.shared_test_seconds.items():
        results.seconds[name] -= took
    seconds = {name: took for name, took in results.seconds.items() if name not in results.failed}
    recorded = {"lines": lines, "fixtures": users, "seconds": seconds, "shared": contexts.shared_seconds}
    out.write_text(json.dumps(recorded | {"failed": results.failed}))


def _outcome(session: pytest.Session, mutant: mutants.Mutant, recorded: dict) -> dict[str, object]:
    lines = recorded["lines"].get(mutant.file, {})
    names = {name for line in range(mutant.first, mutant.last + 1) for name in lines.get(str(line), ())}
    names = {test for name in names for test in recorded["fixtures"].get(name, [name])}
    items, total = _cheapest([item for item in session.items if item.nodeid in names], recorded)
    row = {
        "subject": mutant.subject,
        "file": mutant.file,
        "line": mutant.line,
        "operator": mutant.operator,
        "change": mutant.change,
        "tests": len(items),
        "outcome": UNTESTED,
        "by": "",
        "cpu_seconds": 0.0,
    }
    if items:
        result, used = _try(session, items, mutant, 10 + 3 * total)
        row |= {"outcome": result[0], "by": result[1], "cpu_seconds": round(used, 2)}
        if result[0] == KILLED and not _passes(session, items, result[1]):
            row["outcome"] = SURVIVED  # the test fails without the mutant, too
    return row


def _cheapest(items: list[pytest.Item], recorded: dict) -> tuple[list[pytest.Item], float]:
    """Return tests up to `MOST_SECONDS`, those of cheap files first, and their CPU seconds."""
    seconds, total = recorded["seconds"], 0.0
    paid: set[str] = set()
    costs: dict[str, float] = {}
    for item in sorted(items, key=lambda item: seconds.get(item.nodeid, 0) + sum(_shared(item, recorded).values())):
        shared = {name: took for name, took in _shared(item, recorded).items() if name not in paid}
        cost = seconds.get(item.nodeid, MOST_SECONDS) + sum(shared.values())
        if item.nodeid in seconds and (not costs or total + cost <= MOST_SECONDS):
            costs[item.nodeid] = cost
            paid |= set(shared)
            total += cost
    files: dict[str, float] = defaultdict(float)
    for name, cost in costs.items():
        files[_file(name)] += cost
    chosen = [item for item in items if item.nodeid in costs]
    return sorted(chosen, key=lambda item: files[_file(item.nodeid)]), total  # the tests of a file stay together


def _shared(item: pytest.Item, recorded: dict) -> dict[str, float]:
    """CPU seconds of the fixtures that the test shares with others of its file."""
    names = (f"{_file(item.nodeid)} {fixture}" for fixture in getattr(item, "fixturenames", ()))
    return {name: recorded["shared"][name] for name in names if name in recorded["shared"]}


def _file(test: str) -> str:
    return test.split("::")[0]


def _try(
    session: pytest.Session, items: list[pytest.Item], mutant: mutants.Mutant | None, limit: float
) -> tuple[tuple[str, str], float]:
    """Outcome, test that failed, CPU seconds."""
    out = OUT / "outcome.json"
    out.unlink(missing_ok=True)

    def child() -> None:
        results = _Results(stop=True)
        session.config.pluginmanager.register(results)
        if mutant is not None:
            _replace(mutant)
        _run(items)
        out.write_text(json.dumps([KILLED, results.failed[0]] if results.failed else [SURVIVED, ""]))

    used = _in_child(session, child, limit)
    return tuple(json.loads(out.read_text())) if out.exists() else (TIMEOUT, ""), used


_PASSING: dict[str, bool] = {}


def _passes(session: pytest.Session, items: list[pytest.Item], name: str) -> bool:
    """Whether a test passes alone without a mutant."""
    if name not in _PASSING:
        alone = [item for item in items if item.nodeid == name]
        _PASSING[name] = _try(session, alone, None, 120)[0][0] == SURVIVED
    return _PASSING[name]


def _run(items: list[pytest.Item]) -> None:
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.session.shouldstop:
            break


def _replace(mutant: mutants.Mutant) -> None:
    """Give the functions of a file the code of the mutant."""
    path = str(PROJECT / mutant.file)
    codes: dict[tuple[str, int], CodeType] = {}
    found = [compile(mutant.code, path, "exec", dont_inherit=True)]
    for code in found:
        codes[code.co_qualname, code.co_firstlineno] = code
        found += [part for part in code.co_consts if isinstance(part, CodeType)]
    for function in _FUNCTIONS[path]:
        with suppress(ValueError):  # a closure that uses other variables; the function that makes it is replaced, too
            function.__code__ = codes[function.__code__.co_qualname, function.__code__.co_firstlineno]


def _in_child(session: pytest.Session, work, cpu_seconds: float) -> float:
    """Run in a forked process with a limit on its CPU time, and on wall time for a process that waits."""
    temporary = tempfile.mkdtemp(prefix="mutation-")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TMPDIR"] = tempfile.tempdir = temporary
            log = os.open(OUT / "child.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, int(cpu_seconds) + 5))
            signal.alarm(int(10 * cpu_seconds) + 60)
            work()
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError(f"the process of a mutant failed; see {OUT / 'child.log'}")
    shutil.rmtree(temporary, ignore_errors=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class _Results:
    """Which tests failed, and the CPU seconds of each test in this process."""

    def __init__(self, stop: bool = False) -> None:
        self.failed: list[str] = []
        self.seconds: dict[str, float] = {}
        self._stop = stop

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        started = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = round(time.process_time() - started, 4)
            if self._stop and self.failed:
                item.session.shouldstop = "first failure"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


class _Contexts:
    """Name the test that runs, or the fixture with a wider scope that is made, to coverage.py."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self._test = ""
        self.shared_seconds: dict[str, float] = defaultdict(float)
        self.shared_test_seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        self._test = item.nodeid
        self._measured.switch_context(self._test)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request) -> object:
        if fixturedef.scope == "function":
            return (yield)
        self._measured.switch_context(f"fixture {fixturedef.argname}")
        started = time.process_time()
        try:
            return (yield)
        finally:
            took = time.process_time() - started
            self.shared_seconds[f"{_file(self._test)} {fixturedef.argname}"] += took
            self.shared_test_seconds[self._test] += took
            self._measured.switch_context(self._test)
