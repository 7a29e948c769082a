"""Rules of other tools are executed from their own code."""

import subprocess

import pytest

from bench.parser import tools

ROWS = [
    {"reply": "It is B", "options": {"A": "red", "B": "blue"}},
    {"reply": "It is D", "options": {"A": "red", "B": "blue"}},
    {"reply": "no idea", "options": {"A": "red", "B": "blue"}},
]

MATCHING = """
import a_package_that_is_not_installed

def can_infer(answer, choices):
    choices.pop("A")  # the tool changes its argument
    return answer[-1] if answer[-1].isupper() else False

raise SystemExit("only the functions may run")
"""


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ("git", "-C", str(folder), *identity, *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_rule_is_that_of_the_commit(tmp_path):
    file = tmp_path / "vlmeval/utils/matching_util.py"
    file.parent.mkdir(parents=True)
    file.write_text(MATCHING, encoding="utf-8")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "rule")
    commit = git(tmp_path, "rev-parse", "HEAD")
    file.write_text("edited afterwards", encoding="utf-8")

    parsed = tools.vlmevalkit(tmp_path, commit)(ROWS)

    assert [reply.label for reply in parsed] == ["B", None, None]  # D is not offered, False is no option
    assert ROWS[0]["options"] == {"A": "red", "B": "blue"}
    with pytest.raises(SystemExit, match=r"evaluate_from_api\.py"):
        tools.mmlu_pro(tmp_path)
