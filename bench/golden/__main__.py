"""Command line: build, extract and compare; see README.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.golden import build, compare, tables


def main() -> int:
    """Run a command. The exit code is 1 if a comparison has a difference that no entry explains."""
    parser = argparse.ArgumentParser(prog="python -m bench.golden", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "build", help="run the small editions of a commit in a clone and extract their values"
    )
    command.add_argument("folder", type=Path, help="outside the repository: the clone is run, the values are values")
    command.add_argument("--commit", default="HEAD")
    command.add_argument("--python", default=sys.executable, help="interpreter with the requirements")
    command.add_argument("--shared", type=Path, default=build.ROOT.parent / "shared", help="folder with excerpts")
    command.add_argument("--editions", nargs="*", default=build.EDITIONS)
    command.add_argument("--cores", type=int, default=2)
    command = commands.add_parser("extract", help="write the values of a finished run")
    command.add_argument("run", type=Path, help="project folder with results and data")
    command.add_argument("out", type=Path)
    command = commands.add_parser("compare", help="compare the values of two runs row by row")
    command.add_argument("golden", type=Path, help="a built folder, extracted values or a project folder")
    command.add_argument("run", type=Path, help="the same")
    command.add_argument("--kinds", nargs="*", default=("*",), help="compare these tables only")
    command.add_argument("--editions", nargs="*", default=(), help="compare these only")
    command.add_argument("--without-robust", action="store_true", help="leave out rows of the robust parser")
    command.add_argument("--expected", type=Path, default=Path(__file__).with_name("expected.yaml"))
    command.add_argument("--show", type=int, default=5, metavar="N", help="differences printed for each kind")
    arguments = parser.parse_args()
    if arguments.command == "compare":
        lines, differences = compare.report(
            tables.read(arguments.golden),
            tables.read(arguments.run),
            expected=compare.read_expected(arguments.expected),
            kinds=arguments.kinds,
            editions=arguments.editions,
            without_robust=arguments.without_robust,
            shown=arguments.show,
        )
        print("\n".join(lines))
        return int(differences > 0)
    run, out, notes = getattr(arguments, "run", None), getattr(arguments, "out", None), []
    if arguments.command == "build":
        run, notes = build.build(
            arguments.folder,
            arguments.commit,
            python=arguments.python,
            shared=arguments.shared,
            editions=arguments.editions,
            cores=arguments.cores,
        )
        out = arguments.folder / "values"
    found = tables.read_run(run)
    tables.write(found, out)
    print(*(f"{name}: {table.num_rows:,} rows" for name, table in found.items()), *notes, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
