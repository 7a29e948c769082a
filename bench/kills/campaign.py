"""Kill random processes of a run of the workflow until it has ended, again and again, and compare the results.

    PYTHONPATH=src:. python bench/kills/campaign.py --kills 200 --seed 0

The kills come at random moments. Six of ten hit the running step that was killed least often so far, the others any
process of the run: that of a step, the shell around it, or Snakemake itself. The run is then continued with the same
command. A run that has ended is compared with an undisturbed run, and the next one begins.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil

from bench.kills import compare
from tests.workflow.project import RESPONDENTS, Project, reduce

VARIANTS = ["original", "nota_only", "noise"]
HEAD, SHELL = "snakemake", "shell of a step"
MAX_RUNS_WITHOUT_KILL = 20


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="kills-") as folder:
        Campaign(arguments, Path(folder)).run()


class Campaign:
    """One campaign: the undisturbed project, and the projects that are killed, one after another."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.rng = random.Random(arguments.seed)
        self.kills, self.folder = arguments.kills, folder
        self.killed: Counter[str] = Counter()
        self.attempts = self.finished = 0
        self.differences: list[str] = []
        self.timing: Counter[str] = Counter()
        self.untouched = Project.copy_of_tree(folder / "untouched")
        models = [*RESPONDENTS, "slow", *(["pocket"] if arguments.pocket else [])]
        self.untouched.change_params(
            partial(reduce, models=models, variants=VARIANTS, images=arguments.images, tracking=True)
        )
        self.untouched.change_params(_slow)
        self.untouched.commit("a small configuration")

    def run(self) -> None:
        calm = self.untouched.twin(self.folder / "calm")
        started = time.monotonic()
        calm.snakemake()
        print(f"undisturbed run: {time.monotonic() - started:.0f} s", flush=True)
        while self.killed.total() < self.kills:
            project = self.untouched.twin(self.folder / f"kill{self.finished % 10}")
            self._until_finished(project)
            self.finished += 1
            found = list(self._compare(calm, project))
            self.differences += found
            print(f"{self.killed.total()} kills, {self.attempts} starts, {self.finished} runs: {found}", flush=True)
            print(self.table(), flush=True)
            shutil.rmtree(project.root)
        sys.exit(bool(self.differences))

    def _until_finished(self, project: Project) -> None:
        """Start the workflow again and again, and kill something each time, until it ends by itself."""
        silent = 0
        while True:
            self.attempts += 1
            before = self.killed.total()
            process = subprocess.Popen(
                ["snakemake", "--cores", "2"],
                start_new_session=True,
                **project._streams() | {"stdout": (self.folder / "printed.txt").open("a")},
            )
            while process.poll() is None:
                if self.killed.total() < self.kills:
                    self._kill_one(process)
                else:
                    process.wait()
            silent = 0 if self.killed.total() > before else silent + 1
            if process.returncode == 0:
                return
            if silent > MAX_RUNS_WITHOUT_KILL:
                tail = (self.folder / "printed.txt").read_text().splitlines()[-30:]
                raise SystemExit("the run does not continue:\n" + "\n".join(tail))

    def _kill_one(self, head: subprocess.Popen) -> None:
        planning = self.rng.random() < 0.1  # Snakemake takes seconds before its first job
        while not planning and head.poll() is None and len(list(_tree(head.pid))) < 2:
            time.sleep(0.05)
        moment = time.monotonic() + self.rng.uniform(0.0, 6.0)
        while head.poll() is None and time.monotonic() < moment:
            time.sleep(0.02)
        tree = list(_tree(head.pid)) if head.poll() is None else []
        steps = [entry for entry in tree if entry[0] not in (HEAD, SHELL)]
        if not tree:
            return
        if steps and self.rng.random() < 0.6:
            name, victim = min(steps, key=lambda entry: self.killed[entry[0]])
        else:
            name, victim = self.rng.choice(tree)
        with suppress(psutil.Error):
            victim.send_signal(signal.SIGKILL)
            self.killed[name] += 1

    def _compare(self, calm: Project, project: Project) -> Iterator[str]:
        one, other = calm.root, project.root
        try:
            if compare.journals(one) != compare.journals(other):
                yield "journals differ"
        except ValueError as error:
            yield str(error)
        first, second = compare.results(one), compare.results(other)
        yield from (f"{name}: in one run only" for name in sorted(first.keys() ^ second.keys()))
        yield from (f"{name} differs" for name in sorted(first.keys() & second.keys()) if first[name] != second[name])
        runs, others = compare.tracked(one), compare.tracked(other)
        yield from (f"MLflow run in the undisturbed store only: {text[:200]}" for text in runs - others)
        yield from (f"MLflow run in the other store only: {text[:200]}" for text in others - runs)
        for difference in compare.report_differences(one, other):
            if ": numbers of " in difference:
                self.timing[difference] += 1
            else:
                yield f"report/{difference}"

    def table(self) -> str:
        """Return the numbers as a table in Markdown."""
        lines = ["| killed process | kills |", "|---|---|"]
        lines += [f"| `{name}` | {count} |" for name, count in sorted(self.killed.items(), key=lambda pair: -pair[1])]
        lines += [f"| all | {self.killed.total()} |", ""]
        lines += [f"{self.attempts} starts, {self.finished} finished runs, {len(self.differences)} differences"]
        lines += [f"- {text}" for text in self.differences]
        lines += [f"- only numbers differ ({count} runs): {text}" for text, count in self.timing.most_common(20)]
        return "\n".join(lines)


def _tree(head: int) -> Iterator[tuple[str, psutil.Process]]:
    """Yield the processes of a run, each with the name of its step."""
    with suppress(psutil.Error):
        root = psutil.Process(head)
        yield HEAD, root
        for child in root.children(recursive=True):
            with suppress(psutil.Error):
                yield _step(child.cmdline()), child


def _step(command: list[str]) -> str:
    if "known_unknowns" in command:
        return command[command.index("known_unknowns") + 1]
    return SHELL if command and Path(command[0]).name in ("bash", "sh") else HEAD


def _slow(params: dict) -> None:
    """Add a respondent that takes long enough to be killed while it answers, in two shards."""
    params["models"]["slow"] = {"engine": "respondent", "behaviour": "uniform", "seconds_per_reply": 0.02, "shards": 2}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="number of SIGKILLs over all runs (200)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments and the victims (0)")
    parser.add_argument("--images", type=int, default=6, help="images, with five questions each (6)")
    parser.add_argument("--pocket", action="store_true", help="also ask the pocket model")
    parser.add_argument("--folder", type=Path, default=None, help="folder for the runs; by default the system's")
    return parser.parse_args()


if __name__ == "__main__":
    main()
