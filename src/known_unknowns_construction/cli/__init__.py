"""The commands of this package: ``construct`` and ``review``. `known_unknowns.cli` finds them by name."""
