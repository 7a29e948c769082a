"""The pages for users, and the blocks, the inline code and the commands in them."""

from __future__ import annotations

import re
import shlex

from tests.paths import ROOT

_BLOCK = r"^( *)```([a-z]*)\n(.*?)^ *```"
_PROGRAMS = (
    *("make", "known-unknowns", "snakemake", "dvc", "mlflow", "git", "pip", "uv", "python", "python3", "pytest"),
    *("bash", "cd", "source", "export", "docker", "apptainer", "vllm", "uvx", "pre-commit"),
)


def pages() -> list[str]:
    """Return the pages for users: README, the documentation, and the READMEs of packages, profiles and results."""
    patterns = ("README.md", "CONTRIBUTING.md", "docs/*.md", "src/**/*.md", "profiles/**/*.md", "results/*.md")
    return [path.relative_to(ROOT).as_posix() for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, *languages: str) -> list[str]:
    """Return the content of the blocks of code in these languages."""
    found = re.findall(_BLOCK, text(page), re.DOTALL | re.MULTILINE)
    return [content for _, language, content in found if language in languages]


def inline(page: str) -> list[str]:
    """Return the code within lines. Code that is broken between two lines is one."""
    rest = re.sub(_BLOCK, "", text(page), flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)", rest)
    return [" ".join(code.split()) for code in found]


def commands(page: str) -> list[str]:
    """Return the commands of a page: the lines of its blocks for a shell, and inline code that is a command.

    Comments and variables in front are left out. The name of a program alone is no command.
    """
    lines = [
        line.partition(" #")[0]
        for block in blocks(page, "sh", "bash", "text")
        for line in block.replace("\\\n", " ").splitlines()
    ]
    found = []
    for line in [*lines, *inline(page)]:
        for part in line.split(" && "):
            command = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", part.strip())
            program, _, arguments = command.partition(" ")
            if arguments and program.rpartition("/")[2] in _PROGRAMS:
                found.append(command)
    return found


def words(command: str) -> list[str]:
    """Return the program and the arguments of a command, without the marks of optional arguments: NAME [OTHER ...]."""
    return [word for word in shlex.split(re.sub(r"\s\[|\](?=\s|$)", " ", command)) if word.strip(".")]
