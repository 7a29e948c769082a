"""Images of a benchmark's own questions, for questions that come from released replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from known_unknowns import tables
from known_unknowns.config import ReleasedData
from known_unknowns.files import link_or_copy
from known_unknowns.images import files_of
from known_unknowns.records import Question


def with_published_images(questions: Iterable[Question], settings: ReleasedData, folder: Path) -> Iterator[Question]:
    """Give each question the images and the group of the benchmark's own question of the same id and text.

    Parameters
    ----------
    questions : iterable of Question
        Questions whose images are known by their paths alone.
    settings : ReleasedData
        The data's entry in params.yaml. ``questions`` names the folder of the benchmark's own questions, which may be
        absent.
    folder : Path
        The folder of questions to write. Images are linked into it.

    Yields
    ------
    Question
        Unchanged if there is no such question.
    """
    (folder / "images").mkdir(parents=True, exist_ok=True)
    source = Path(settings.questions or folder / "absent")
    table = source / "questions.parquet"
    own = {question.id: question for question in tables.read_questions(table)} if table.is_file() else {}
    for question in questions:
        same = own.get(question.id)
        if same is None or same.rendered != question.rendered:
            yield question
            continue
        for path in (path for image in same.images for path in files_of(image)):
            _link(source / path, folder / path)
        yield replace(question, images=same.images, group=same.group)


def _link(source: Path, target: Path) -> None:
    """Link an image unless it is there already."""
    if target.exists() or not source.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    link_or_copy(source, target)
