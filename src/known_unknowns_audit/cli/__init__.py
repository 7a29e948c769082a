"""The command of this package. pyproject.toml registers this module."""

COMMANDS = {"known_unknowns_audit.cli.audit": {"audit": "List what does not agree in published numbers."}}
GROUPS: dict[str, str] = {}
