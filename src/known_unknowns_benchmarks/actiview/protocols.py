"""ActiView's pipelines (Section 4.1), as the released toolkit runs them; README.md has their turns and their variants.

``wording`` is the source of the prompts (`known_unknowns_benchmarks.actiview.wording`), ``parser`` the parser of
replies that decide the next turn (`known_unknowns_benchmarks.actiview.parsing`), ``split`` the number of views of the
image (Table 14), and ``images`` what the model takes in one turn (README.md).

With one image per turn, zooming and groundtruth_views ask about each chosen view in turn, all but the last in the step
"view", and the question is correct if any of the answers is (Appendix G.3; see `known_unknowns.scoring.table`).

No pipeline takes more than 2 turns for each view and 3 more, whatever the replies are.
"""

from __future__ import annotations

import json
import random
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from known_unknowns.benchmark.protocol import (
    ANSWER,
    CAPTIONED,
    CONCATENATED,
    IMAGES,
    MANY,
    VIEW,
    Dialogue,
    Protocol,
    by_name,
)
from known_unknowns.records import Image, Question, Reply, Turn
from known_unknowns_benchmarks.actiview import prompts, views
from known_unknowns_benchmarks.actiview.parsing import (
    FAILED_REPLY,
    NONE,
    OFFICIAL,
    PARSERS,
    needs_more,
    parse_missing,
    parse_operation,
    parse_selection,
    parse_zoom,
)
from known_unknowns_benchmarks.actiview.views import NAMES
from known_unknowns_benchmarks.actiview.wording import TOOLKIT, WORDINGS, Fields, NamedView, Wording, WordingName

Said = Generator[Turn, Reply, str]
"""Turns, and in the end what was said to the last of them."""

SELECT, MORE, ZOOM, OPERATE, CAPTION = "select", "more", "zoom", "operate", "caption"
"""The steps without options. The steps "answer" and "view" offer options."""
IMAGE_SUPPORT = (MANY, CONCATENATED, CAPTIONED)
LEVELS = ("R", "E", "M", "H")
"""Where shifting starts: anywhere, or in a view with a whole clue, with a part of one, with none (easy to hard)."""
Level = Literal["R", "E", "M", "H"]
Split = Literal[4, 6, 8, 9, 16]
Parser = Literal["official", "robust"]
Template = Literal["commonsense", "guess"]
LENGTH, SHORT_LENGTH = 200, 20
"""Tokens of a reply, at most: the released ``max_new_tokens``. The short one is that of the full image and zooming."""
_FULL, _GRIDDED, _FIRST_VIEW = 1, 2, 3
"""Places in ``Question.images``."""


def full_image(question: Question, *, wording: WordingName = TOOLKIT, max_new_tokens: int = SHORT_LENGTH) -> Dialogue:
    """General question answering (Table 2, "Full image")."""
    talk = _Talk(question, wording=wording, max_new_tokens=max_new_tokens)
    yield from talk.answer("answer", {"image": talk.full})


def single_view(
    question: Question,
    *,
    level: Level = "R",
    split: Split = 4,
    parser: Parser = OFFICIAL,
    wording: WordingName = TOOLKIT,
    max_new_tokens: int = LENGTH,
) -> Dialogue:
    """Only the view that shifting starts with (Table 2, "Single View"). ``parser`` decides how views are numbered."""
    talk = _Talk(question, parser, split, wording=wording, max_new_tokens=max_new_tokens)
    yield from talk.answer_from_view(talk.start(level))


def zooming(
    question: Question,
    *,
    parser: Parser = OFFICIAL,
    split: Split = 4,
    images: str = MANY,
    wording: WordingName = TOOLKIT,
    max_new_tokens: int = SHORT_LENGTH,
) -> Dialogue:
    """Choose views on the gridded full image, then answer from the full image and the chosen views."""
    talk = _Talk(question, parser, split, images, wording, max_new_tokens)
    said = yield from talk.ask(SELECT, "select", {"image": talk.gridded})
    yield from talk.answer_zoomed(parse_selection(said, split, parser).views)


def groundtruth_views(
    question: Question, *, images: str = MANY, wording: WordingName = TOOLKIT, max_new_tokens: int = SHORT_LENGTH
) -> Dialogue:
    """The last turn of zooming with the annotated views (Table 13, ACC_GT)."""
    talk = _Talk(question, images=images, wording=wording, max_new_tokens=max_new_tokens)
    yield from talk.answer_zoomed(talk.needed)


def shifting(
    question: Question,
    *,
    level: Level = "R",
    parser: Parser = OFFICIAL,
    split: Split = 4,
    images: str = MANY,
    wording: WordingName = TOOLKIT,
    max_new_tokens: int = LENGTH,
) -> Dialogue:
    """Start in one view and get the next one, until no more is wanted or none is left; then answer from all of them.

    The views come in the released order, from the start round to it. As the toolkit does, the official parser asks
    whether more is needed after the last view too; the robust one does not.
    """
    talk = _Talk(question, parser, split, images, wording, max_new_tokens)
    start = talk.start(level) - 1
    order = [(start + step) % split + 1 for step in range(split)]
    seen = yield from (talk.shift_to_named if talk.words.names_missing_views else talk.shift_in_order)(order)
    yield from talk.answer("shifted", talk.words.shifted_fields(talk.named(seen)))


def mixed(
    question: Question,
    *,
    parser: Parser = OFFICIAL,
    split: Split = 4,
    images: str = MANY,
    wording: WordingName = TOOLKIT,
    max_new_tokens: int = LENGTH,
) -> Dialogue:
    """Zoom into views of the gridded full image, keep some of them or shift to others, then answer from what is left.

    The paper applies it to multi-image models only. For other models, the images are put side by side, or all but the
    last are described, as in shifting.
    """
    talk = _Talk(question, parser, split, images, wording, max_new_tokens)
    said = yield from talk.ask(ZOOM, "zoom", {"image": talk.gridded})
    choice = parse_zoom(said, split, parser)
    if choice.answers or (not choice.views and wording != TOOLKIT):  # the paper's next prompt needs a view
        yield from talk.answer("answer", {"image": talk.gridded})
        return
    fields = talk.words.operate_fields(talk.gridded, talk.named(choice.views))
    said = yield from talk.ask(OPERATE, "operate", fields)
    chosen = parse_operation(said, choice.views, split, parser, talk.words.keep_field).views
    yield from talk.answer("mixed", talk.words.mixed_fields(talk.gridded, talk.named(chosen)))


def text_only_template(
    question: Question, *, template: Template = "commonsense", max_new_tokens: int = LENGTH
) -> Dialogue:
    """No image, and one of the two templates of Appendix C: "commonsense" may say None, "guess" may not (Table 5)."""
    text = prompts.fill(prompts.TEXT_ONLY[template], question=question.text, options=prompts.options(question))
    yield Turn(question.id, ANSWER, text, question.labels, max_new_tokens)


@dataclass(frozen=True)
class _Talk:
    """One question's dialogue: its images, and turns that fit the model's image support.

    Raises ValueError for a setting that is not known and for a question without ActiView's seven images.
    """

    question: Question
    parser: str = OFFICIAL
    split: int = 4
    images: str = MANY
    wording: str = TOOLKIT
    max_new_tokens: int = LENGTH
    captions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known_settings = {"parser": PARSERS, "split": tuple(views.SPLITS), "images": IMAGE_SUPPORT, "wording": WORDINGS}
        for name, known in known_settings.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} {getattr(self, name)!r} is not one of {', '.join(map(str, known))}")
        if len(self.question.images) != _FIRST_VIEW + len(views.NAMES):
            raise ValueError(
                f"question {self.question.id} has {len(self.question.images)} images, but this protocol needs "
                "ActiView's seven: as taken, resized, gridded, and four views"
            )

    @property
    def words(self) -> Wording:
        return WORDINGS[self.wording]

    @property
    def full(self) -> Image:
        images = self.question.images
        return images[_FULL] if self.split == 4 else views.reduce(images[0], self.split)

    @property
    def gridded(self) -> Image:
        images = self.question.images
        return images[_GRIDDED] if self.split == 4 else views.add_grid(images[0], self.split)

    def view(self, number: int) -> Image:
        """View ``number`` (from 1). Of other splits than four, the official parser numbers as the toolkit cuts."""
        if self.split == 4:
            return self.question.images[_FIRST_VIEW + number - 1]
        return views.view(self.question.images[0], number, self.split, released=self.parser == OFFICIAL)

    def start(self, level: str) -> int:
        """The view that shifting starts with, from 1: the published one of the level.

        Where the level has none, and at random (R): the released draw. Only splits into four have levels, and for
        another split the draw is ours, of the question alone.
        """
        if level not in LEVELS:
            raise ValueError(f"level {level!r} is not one of {', '.join(LEVELS)}")
        if self.split != 4:
            if level != "R":
                raise ValueError(f"level {level} is published for 4 views, not for {self.split}: use level R")
            return random.Random(f"{self.question.id}:{self.split}").randrange(self.split) + 1
        start = None if level == "R" else self.question.extra["start"][level]
        return (self.question.extra["random_start"] if start is None else start) + 1

    @property
    def needed(self) -> tuple[int, ...]:
        """The annotated views."""
        return needed_views(self.question, self.split)

    def named(self, numbers: Iterable[int]) -> list[NamedView]:
        return [NamedView(self.view(number), self.words.view_name(number, self.split)) for number in numbers]

    def shift_in_order(self, order: Sequence[int]) -> Generator[Turn, Reply, list[int]]:
        """Show the views in this order until the reply needs no more; return those that were shown."""
        seen: list[int] = []
        for number in order:
            seen.append(number)
            if len(seen) == len(order) and self.parser != OFFICIAL:
                break
            said = yield from self.ask(MORE, "more", self.words.more_fields(self.named(seen), ()))
            if not needs_more(said, self.parser):
                break
        return seen

    def shift_to_named(self, order: Sequence[int]) -> Generator[Turn, Reply, list[int]]:
        """Show the first view, then those that replies name; return those that were shown."""
        seen = list(order[:1])
        while len(seen) < len(order):
            others = [number for number in range(1, self.split + 1) if number not in seen]
            fields = self.words.more_fields(self.named(seen), [view.name for view in self.named(others)])
            said = yield from self.ask(MORE, "more", fields)
            missing = parse_missing(said, seen, self.split, self.parser)
            if missing.answers:
                break
            seen += missing.views or [next(number for number in order if number not in seen)]
        return seen

    def ask(self, step: str, template: str, fields: Fields) -> Said:
        """Yield a turn without options; return the reply, or what the toolkit replaces a failed reply by."""
        content = yield from self._fitted(self._filled(template, fields))
        reply = yield Turn(self.question.id, step, content, None, self.max_new_tokens)
        return FAILED_REPLY if reply.error is not None else reply.text

    def answer(self, template: str, fields: Fields, *, step: str = ANSWER, current: Image | None = None) -> Dialogue:
        """A turn that is answered by a letter. ``current`` is the image that is not described, by default the last."""
        content = yield from self._fitted(self._filled(template, fields), current)
        yield Turn(self.question.id, step, content, self.question.labels, self.max_new_tokens)

    def answer_from_view(self, number: int, step: str = ANSWER) -> Dialogue:
        """From one view alone."""
        (view,) = self.named([number])
        yield from self.answer("answer", self.words.view_fields(view), step=step)

    def answer_zoomed(self, chosen: Sequence[int]) -> Dialogue:
        """From the full image and the chosen views; with one image per turn, from each of the views in turn.

        A view side by side with others would be no closer, so it is shown alone; or with descriptions of the others.
        """
        fields = self.words.zoomed_fields(self.full, self.named(chosen))
        if self.images == MANY or not chosen:
            yield from self.answer("zoomed", fields)
            return
        for number in chosen:
            step = ANSWER if number == chosen[-1] else VIEW
            if self.images == CONCATENATED:
                yield from self.answer_from_view(number, step)
            else:
                yield from self.answer("zoomed", fields, step=step, current=self.view(number))

    def _filled(self, template: str, fields: Fields) -> prompts.Content:
        described = self.words.description(self.split)
        known = {"question": self.question.text, "options": prompts.options(self.question)}
        return prompts.fill(
            self.words.templates[template], **known, split=str(self.split), description=described, **fields
        )

    def _fitted(
        self, content: prompts.Content, current: Image | None = None
    ) -> Generator[Turn, Reply, prompts.Content]:
        """The content with no more images than the model supports, after the turns that this needs."""
        images = [part for part in content if isinstance(part, Image)]
        if self.images == MANY or len(images) < 2:
            return content
        if self.images == CONCATENATED:
            labels = iter(range(1, len(images) + 1))
            text = [part if isinstance(part, str) else f"image {next(labels)}" for part in content]
            return prompts.merge_texts([views.concatenate(images), *text])
        current = images[-1] if current is None else current
        for image in images:
            if image != current and image.sha256 not in self.captions:
                reply = yield Turn(self.question.id, CAPTION, (image, prompts.CAPTION), None, LENGTH)
                self.captions[image.sha256] = "" if reply.error is not None else reply.text
        return prompts.merge_texts(
            self.captions[part.sha256] if isinstance(part, Image) and part != current else part for part in content
        )


def needed_views(question: Question, split: int) -> tuple[int, ...]:
    """The views that show the clues, from 1. Only the split into four is annotated; the others take view 1."""
    return tuple(sorted(set(question.extra["groundtruth_views"]))) if split == 4 else (1,)


def _impossible(settings: Mapping[str, Any]) -> tuple[str, str] | None:
    """The published starting views, and the paper's prompts, are those of the split into four."""
    split = settings.get("split", 4)
    wording = settings.get("wording", TOOLKIT)
    if wording not in WORDINGS:
        return "wording", f"{wording!r} is not one of {', '.join(WORDINGS)}"
    if split != 4 and wording != TOOLKIT:
        return "wording", f"the paper prints prompts for 4 views, not for {split}: use wording {TOOLKIT}"
    if split != 4 and settings.get("level", "R") != "R":
        return "level", f"levels are published for 4 views, not for {split}: use level R"
    return None


PROTOCOLS: Mapping[str, Protocol] = by_name(
    [
        *(
            Protocol(function, frozenset({IMAGES}), check=_impossible)
            for function in (full_image, single_view, zooming, shifting, mixed, groundtruth_views)
        ),
        Protocol(text_only_template),
    ]
)
"""ActiView's protocols, by name."""


def expected_reply(question: Question, turn: Turn) -> str:
    """Return the reply to a step "select", "more", "zoom", "operate" or "caption"."""
    if turn.step == CAPTION:
        return "-"
    shown = prompts.shown_views(turn.text, question)
    needed = needed_views(question, prompts.shown_split(turn.text, question))
    if turn.step == MORE:
        missing = [view for view in needed if view not in shown]
        if prompts.names_missing_views(turn.text):
            return ", ".join(NAMES[view - 1] for view in missing) or "NO"
        return "yes" if missing else "no"
    if turn.step == SELECT:
        return _listed(needed)
    if turn.step == ZOOM:
        return json.dumps({"part": _listed(needed), "reason": "the clues are there"})
    keep, shift = ([view for view in needed if (view in shown) == is_shown] for is_shown in (True, False))
    return json.dumps({prompts.keep_field(turn.text): _listed(keep), "shift": _listed(shift)})


def _listed(views: Iterable[int]) -> str:
    """Views as the prompts request them: "1,3", or "none"."""
    return ",".join(map(str, views)) or NONE
