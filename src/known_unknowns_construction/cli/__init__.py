"""The commands of this package: ``construct`` and ``review``. pyproject.toml registers this module."""

COMMANDS = {
    "known_unknowns_construction.cli.review": {
        "review start": "Review questions in the browser, or tag wrong answers.",
        "review summary": "Show a review's counts, agreement and disputes.",
        "review apply": "Write what the decisions make of the questions.",
    },
    "known_unknowns_construction.cli.construct": {
        "construct graphs": "Import scene graphs with images, or render scenes.",
        "construct attributes": "Let a model describe every object.",
        "construct generate": "Generate candidates with one generator.",
        "construct generators": "List the generators and filters of an entry.",
        "construct filter": "Apply the filters to all candidates.",
        "construct release": "Write the questions in the benchmark's format.",
        "construct endpoint": "Run a command with a scripted endpoint.",
    },
}
GROUPS = {
    "review": """Review questions in the browser, and use the decisions.

docs/construction.md#review is the guide.""",
    "construct": """Construct a benchmark from scene graphs.

NAME is an entry of the section construction in params.yaml. Files are written to construction/NAME/; replies of models
are journalled below journal/construction/NAME/, so that a stopped command continues when it is run again.

The steps of the entry "pocket" that ask a model need the scripted endpoint: construct endpoint -- COMMAND.

\b
Examples:
  make construct                              all steps of "pocket", offline
  known-unknowns construct graphs pocket      graphs, images and masks
  known-unknowns construct generate pocket scenes
  known-unknowns construct endpoint -- known-unknowns construct filter pocket
  known-unknowns review start construction/pocket/filtered.jsonl
  known-unknowns construct release pocket \\
    --decisions construction/pocket/filtered.decisions.jsonl""",
}
