"""Run the command line with ``python -m known_unknowns``."""

from known_unknowns.cli import main

main()
