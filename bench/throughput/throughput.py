"""Measure questions per second of the transformers engine and of other evaluation loops.

    python bench/throughput/throughput.py [--quick] [--device cpu|cuda] [--dtype float32] [--out FILE] [--memory]

A random Qwen2.5-VL is created once under --cache. Each set is asked by every loop in turn (ABCABC...), on new images in
each repeat; medians are compared with the batch-1 loop's, which stops at the end token. The table goes to stdout, all
numbers to --out, progress to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch  # noqa: E402
import transformers  # noqa: E402

from bench.throughput import data, loops, measure, memory, model, peers, random_model, report, vllm_offline  # noqa: E402
from bench.throughput.floor import Flops  # noqa: E402

LOOPS = ("ours", "ours-off", "plain-1", "plain-4", "humblebench", "lmms-eval")
VLLM = "vllm"
OWN_PIXELS = ("lmms-eval-own-pixels",)
SETS = ("questions", "shuffles", "noise", "single")
HUMBLEBENCH = ("humblebench", "humblebench-E", "humblebench-GN")


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--model", choices=list(random_model.SHAPES), help="the shape; default 60m, with --quick tiny")
    add("--device", choices=["cpu", "cuda"], default="cpu")
    add("--dtype", choices=["float32", "bfloat16", "float16"], default="float32")
    add("--sets", nargs="+", choices=[*SETS, *HUMBLEBENCH], default=list(SETS))
    add("--loops", nargs="+", choices=[*LOOPS, *OWN_PIXELS, VLLM], default=list(LOOPS))
    add("--vllm-memory", type=float, default=0.4, help="share of the GPU that vLLM reserves beside the other loops")
    add("--images", type=int, help="images per set; default 8, with --quick 2")
    add("--noise-questions", type=int, help="questions on the noise image; default 48, with --quick 10")
    add("--questions", type=int, default=2000, help="of each of the HumbleBench sets")
    add("--others", type=int, help="ask all loops but the engine's and vLLM's only so many questions of a set")
    add("--launches", action="store_true", help="count each loop's kernel launches per image")
    add("--repeats", type=int, help="default 3, with --quick 1")
    add("--threads", type=int, help="default: all cores")
    add("--batch-size", type=int, help="of the engine; default: the engine's own")
    add("--cache", type=Path, default=Path.home() / ".cache" / "known-unknowns" / "throughput")
    add("--peers", type=Path, help="a folder with the peers' packages (see README.md)")
    add("--out", type=Path, help="write all numbers to this JSON file")
    add("--quick", action="store_true", help="a tiny model and few questions: does everything work?")
    add("--memory", action="store_true", help="measure memory instead, each loop in a process of its own")
    add("--memory-images", type=int, default=2000)
    add("--memory-questions", type=int, default=2, help="questions on each of them")
    add("--memory-of", choices=[*LOOPS, *OWN_PIXELS, VLLM], help=argparse.SUPPRESS)
    return parser


def with_defaults(options: argparse.Namespace) -> argparse.Namespace:
    """Fill in what depends on --quick."""
    full = {"model": "60m", "images": 8, "noise_questions": 48, "repeats": 3}
    quick = {"model": "tiny", "images": 2, "noise_questions": 10, "repeats": 1}
    for name, value in (quick if options.quick else full).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Setup:
    """The checkpoint, and the loops around it. Loops of one process share their weights where they can."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        say(f"{options.model} in {options.dtype} on {options.device}: the checkpoint")
        checkpoint = model.ensure(options.cache, options.model, dtype=options.dtype, device=options.device)
        entry = {} if options.batch_size is None else {"batch_size": options.batch_size}
        self.settings = loops.Settings(checkpoint, options.device, options.dtype, entry)
        self.facts = json.loads((checkpoint / "bench.json").read_text(encoding="utf-8"))
        self.made: dict[str, loops.Loop] = {}
        self._model: Any = None

    def make(self, names: list[str]) -> dict[str, loops.Loop]:
        """The loops by the names that they have in the table; first the engines, whose weights others may use.

        A loop of another tool is left out if its package cannot be imported, vLLM also if it does not start; not if it
        is the only loop.
        """
        makers = self._makers()
        for name in sorted(names, key=lambda name: not name.startswith("ours")):
            try:
                self.made[name] = makers[name]()
            except Exception as error:
                is_left_out = name == VLLM or isinstance(error, ImportError)
                if not is_left_out or len(names) == 1:
                    raise
                say(f"{name} is left out: {type(error).__name__}: {error}")
        return {self.made[name].name: self.made[name] for name in names if name in self.made}

    def _makers(self) -> dict[str, Callable[[], loops.Loop]]:
        return {
            "ours": lambda: self._ours("engine", "on", "the engine; it shares what it can"),
            "ours-off": lambda: self._ours("engine, sharing off", "off", "the engine; it shares nothing"),
            "plain-1": lambda: loops.Plain(self.loaded(), batch_size=1),
            "plain-4": lambda: loops.Plain(self.loaded(), batch_size=4),
            "humblebench": lambda: peers.HumbleBench(self.loaded()),
            "lmms-eval": lambda: peers.LmmsEval(self.loaded()),
            "lmms-eval-own-pixels": lambda: peers.LmmsEval(self.loaded(), peers.LMMS_EVAL),
            VLLM: lambda: vllm_offline.VllmOffline(self.settings, memory=self.options.vllm_memory),
        }

    def _ours(self, name: str, sharing: str, note: str) -> loops.Ours:
        return loops.Ours(self.settings, name=name, sharing=sharing, note=note)

    def loaded(self) -> loops.Loaded:
        """A processor of one's own, and weights; on a GPU those of the engine that shares nothing, if it is there.

        On a CPU the engine may have its linear layers multiplied by oneDNN, which no other loop's model is to have.
        """
        if self._model is None:
            off = self.made.get("ours-off") if self.options.device == "cuda" else None
            self._model = off.engine.checkpoint.model if off else loops.load_model(self.settings)
        return loops.Loaded(self._model, loops.load_processor(self.settings))


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the sets; all numbers, as JSON-able values."""
    setup = Setup(options)
    made = setup.make(options.loops)
    loaded, folder = setup.loaded(), options.cache / "images"
    whole = (loops.Ours, vllm_offline.VllmOffline)  # batches as large as they like
    parts = {name: options.others for name, loop in made.items() if options.others and not isinstance(loop, whole)}
    bench = measure.Bench(made, parts, loaded.model, loaded.processor, folder, say, options.launches)
    makers = data.makers(images=options.images, noise_questions=options.noise_questions, questions=options.questions)
    result = about(setup, loaded) | {"sets": {}}
    for key in options.sets:
        measured = measure.measure(bench, makers[key], repeats=options.repeats)
        result["sets"][key] = measure.summary(measured, Flops(loaded.model.config))
        write(result, options.out)
    last = made.get(measure.REFERENCE, next(iter(made.values())))
    result["letters_by_image"] = measure.by_image(last, data.five_questions(folder, images=4, seed=200))
    result["projected_minutes"] = report.projection(result)
    result["engines"] = {
        name: loop.engine.about | {"facts": loop.engine.facts}
        for name, loop in made.items()
        if isinstance(loop, loops.Ours)
    }
    write(result, options.out)
    return result


def about(setup: Setup, loaded: loops.Loaded) -> dict[str, Any]:
    options = setup.options
    on_gpu = options.device == "cuda"
    return {
        "model": options.model,
        "parameters": sum(weight.numel() for weight in loaded.model.parameters()),
        "dtype": options.dtype,
        "device": torch.cuda.get_device_name() if on_gpu else f"cpu ({platform.machine()})",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
        "checkpoint": setup.facts,
        "loops": {loop.name: loop.note for loop in setup.made.values()},
    }


def write(result: dict[str, Any], out: Path | None) -> None:
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(result, indent=2, default=str) + "\n", encoding="utf-8")


def memory_of(options: argparse.Namespace) -> None:
    """Print one loop's memory as a line of JSON: what ``--memory`` starts for each loop."""
    (loop,) = Setup(options).make([options.memory_of]).values()
    folder = options.cache / "images"
    found = memory.measurements(loop, folder, images=options.memory_images, questions=options.memory_questions)
    print(json.dumps(memory.summary(found)))


def all_memory(options: argparse.Namespace, given: list[str]) -> None:
    measured = {}
    for name in options.loops:
        say(f"memory of {name} over {options.memory_images} images")
        measured[name] = memory.in_own_process(Path(__file__), name, given)
        write({"memory": measured}, options.out)
    print(report.memory_table(measured))


def prepared(given: list[str]) -> argparse.Namespace:
    """The options of a command line, with torch and transformers set up for them."""
    options = with_defaults(arguments().parse_args(given))
    torch.set_num_threads(options.threads or len(os.sched_getaffinity(0)))
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    peers.find_packages(options.peers)
    return options


def main() -> None:
    given = sys.argv[1:]
    options = prepared(given)
    if options.memory_of:
        memory_of(options)
    elif options.memory:
        all_memory(options, given)
    else:
        result = run(options)
        columns = [*report.COLUMNS] if options.launches else report.ALWAYS
        print(report.table(result, columns), "", report.saved(result), sep="\n")


if __name__ == "__main__":
    main()
