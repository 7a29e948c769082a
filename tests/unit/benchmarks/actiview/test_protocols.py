"""Every branch of every pipeline of ActiView, driven with scripted replies."""

from functools import partial

import pytest

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.protocol import ANSWER, VIEW
from known_unknowns.errors import ConfigError
from known_unknowns.inference.bound_protocols import bound
from known_unknowns.protocols import check_arguments
from known_unknowns.records import AnsweredTurn, Reply, ResolvedProtocol
from known_unknowns.scoring.dialogues import combine_views, score_turn
from known_unknowns_benchmarks.actiview import views
from known_unknowns_benchmarks.actiview.protocols import PROTOCOLS
from tests.factories import asked_by, model_entry, right
from tests.factories import question as humble_question
from tests.unit.benchmarks.actiview.perceiving import NAME, OUT_OF_MEMORY, converse, question, scripted, transcript

bound_to = partial(bound, registry.get("actiview"), parsers=[])
KEEP = '{"keep": "%s", "shift": "%s"}'

TRANSCRIPTS = [
    # protocol, settings, what is said, what is asked
    ("full_image", {}, ["B"], ["answer: full"]),
    ("single_view", {}, ["B"], ["answer: ll"]),
    ("single_view", {"level": "M"}, ["B"], ["answer: ur"]),
    ("zooming", {}, ["1,3", "B"], ["select: grid", "answer: full ul ur"]),
    ("zooming", {}, ["3,1", "B"], ["select: grid", "answer: full ul ur"]),  # sorted
    ("zooming", {}, ["1, 3", "B"], ["select: grid", "answer: full ul"]),  # the blank hides the second
    ("zooming", {"parser": "robust"}, ["1, 3", "B"], ["select: grid", "answer: full ul ur"]),
    ("zooming", {}, ["1 and 3", "B"], ["select: grid", "answer: full"]),
    ("zooming", {}, ["none", "B"], ["select: grid", "answer: full"]),
    ("zooming", {}, [OUT_OF_MEMORY, "B"], ["select: grid", "answer: full"]),
    ("zooming", {"parser": "robust"}, [OUT_OF_MEMORY, "B"], ["select: grid", "answer: full"]),
    ("zooming", {}, [Reply("1,2", error="cut off"), "B"], ["select: grid", "answer: full"]),  # what came is not read
    ("shifting", {}, [Reply("no", error="cut off"), "no", "B"], ["more: ll", "more: ll ur", "answer: ll ur"]),
    ("zooming", {}, ["1,2,3,4", "B"], ["select: grid", "answer: full ul ll ur lr"]),
    ("groundtruth_views", {}, ["B"], ["answer: full ul ur"]),
    ("shifting", {}, ["no", "B"], ["more: ll", "answer: ll"]),
    ("shifting", {}, ["yes", "No", "B"], ["more: ll", "more: ll ur", "answer: ll ur"]),
    (
        "shifting",
        {},
        ["yes", "No.", "maybe", OUT_OF_MEMORY, "B"],  # round to the start, and asked after the last one too
        ["more: ll", "more: ll ur", "more: ll ur lr", "more: ll ur lr ul", "answer: ll ur lr ul"],
    ),
    (
        "shifting",
        {"parser": "robust"},
        ["yes", "yes", "yes", "B"],
        ["more: ll", "more: ll ur", "more: ll ur lr", "answer: ll ur lr ul"],
    ),
    ("shifting", {"parser": "robust"}, ["yes", "No.", "B"], ["more: ll", "more: ll ur", "answer: ll ur"]),
    ("shifting", {"level": "E"}, ["no", "B"], ["more: ul", "answer: ul"]),
    ("shifting", {"level": "M"}, ["no", "B"], ["more: ur", "answer: ur"]),
    ("shifting", {"level": "H"}, ["no", "B"], ["more: ll", "answer: ll"]),  # none published: the random one
    ("mixed", {}, ['{"part": "none"}', "B"], ["zoom: grid", "answer: grid"]),
    ("mixed", {}, ["```json\n{}\n```", "B"], ["zoom: grid", "answer: grid"]),
    ("mixed", {}, [OUT_OF_MEMORY, "B"], ["zoom: grid", "answer: grid"]),
    ("mixed", {}, ['{"part": "7"}', "?", "B"], ["zoom: grid", "operate: grid", "answer: grid"]),
    (
        "mixed",
        {},
        ['{"part": "3,1"}', KEEP % ("3", "none"), "B"],  # the first view is dropped
        ["zoom: grid", "operate: grid ur ul", "answer: grid ur"],
    ),
    (
        "mixed",
        {},
        ['{"part": "3,1"}', KEEP % ("3", "2"), "B"],
        ["zoom: grid", "operate: grid ur ul", "answer: grid ll ur"],
    ),
    (
        "mixed",
        {},
        ['{"part": "1"}', KEEP % ("none", "none"), "B"],
        ["zoom: grid", "operate: grid ul", "answer: grid"],
    ),
    (
        "mixed",
        {},
        ['{"part": "3,1"}', "keep them", "B"],  # not JSON: the previous views stay, in their order
        ["zoom: grid", "operate: grid ur ul", "answer: grid ur ul"],
    ),
    (
        "mixed",
        {"parser": "robust"},
        ["```\n{'part': [1]}\n```", '{"zoom_keep": 1, "shift": "lower left"}', "B"],
        ["zoom: grid", "operate: grid ul", "answer: grid ul ll"],
    ),
    ("text_only_template", {}, ["None"], ["answer: "]),
]


@pytest.mark.parametrize(("name", "settings", "said", "asked"), TRANSCRIPTS)
def test_transcripts(name, settings, said, asked):
    turns = scripted(name, *said, **settings)
    assert transcript(turns) == asked
    assert [turn.labels is None for turn in turns] == [turn.step != "answer" for turn in turns]
    assert turns[-1].labels == ("A", "B", "C") and right(question(), turns[-1]) == "B"
    assert {turn.max_new_tokens for turn in turns} == {
        20 if name in ("full_image", "zooming", "groundtruth_views") else 200
    }


OPTIONS = "Question: How many geese? Options: A. Two; B. Three; C. None. Answer:"


def text_with_images(turn):
    """The prompt with each image's name in its place."""
    return "".join(part if isinstance(part, str) else f"<{NAME[part.sha256]}>" for part in turn.content)


def test_images_are_at_their_position_in_the_prompts():
    (turn,) = scripted("full_image", "B")
    assert (
        text_with_images(turn)
        == f"Carefully analysis <full>, and answer the question from the given options. {OPTIONS}"
    )
    more, answer = scripted("shifting", "no", "B")
    assert text_with_images(more) == (
        "Your will be presented with a part or parts of an image and a question concerning the full image.  <ll>, the "
        "lowerleft view,. Given these views, please determine if you need more visual information to answer the "
        'question: "How many geese?"\n===\n\n\nDo not directly answer the question. You should make desicion, if you '
        "need more visial information to answer the question. Yes or No? Your Response:"
    )
    assert text_with_images(answer).startswith("Carefully analysis  <ll>, the lowerleft view,, and answer the question")
    select, zoomed = scripted("zooming", "1,4", "B")
    assert text_with_images(select) == (
        "<grid> is the full image, which is split in to 4 equal parts, numbered from 1 to 4, where 1 is the upperleft "
        "part, 2 is the lowerleft part, 3 is the upperright part, 4 is the lowerright part. \nResponse with the number "
        "of part (at least one part, at most 4 parts), that must be used to answer the question. The question is: How "
        "many geese?\nDo not directly answer the given question. Response with the selected number of parts, split by "
        "',' if there are multiple selections. \nYour Response:"
    )
    assert text_with_images(zoomed) == (
        "<full> is the full image. These are your selected part of image that must be used to answer the question <ul> "
        "is your selected upperleft view. <lr> is your selected lowerright view. . Please answer question according to "
        f"the given images from the the given options. {OPTIONS}"
    )
    zoom, operate, answer = scripted("mixed", '{"part": "2"}', KEEP % ("2", "none"), "B")
    assert text_with_images(zoom).startswith("You will be presented with a full image <grid> and a corresponding")
    assert "to these parts,  <ll>, the lowerleft view,, for detailed checking" in text_with_images(operate)
    assert text_with_images(answer).startswith(
        "Carefully analysis <grid> is the full image, <ll>, the lowerleft view,,"
    )
    assert "{" not in text_with_images(zoom) + text_with_images(operate)


@pytest.mark.parametrize(
    ("template", "sentence"),
    [("commonsense", "please response with 'None'. "), ("guess", "please select a most probable one. ")],
)
def test_text_only_has_no_image(template, sentence):
    (turn,) = scripted("text_only_template", "B", template=template)
    assert turn.images == ()
    assert turn.text.endswith(f"{sentence}How many geese? A. Two; B. Three; C. None Your answer:")


@pytest.mark.parametrize("split", [6, 8, 9, 16])
@pytest.mark.parametrize("parser", ["official", "robust"])
def test_other_splits_cut_the_original(split, parser):
    original, released = question().images[0], parser == "official"
    select, answer = scripted("zooming", f"2,{split}", "B", split=split, parser=parser)
    columns, rows = views.SPLITS[split]
    assert select.images == (views.add_grid(original, split),)
    assert f" images are split into {columns}*{rows} grids, and" in select.text
    assert answer.images == (
        views.reduce(original, split),
        views.view(original, 2, split, released=released),
        views.view(original, split, split, released=released),
    )
    assert f" is your selected no. {split} view. " in answer.text
    turns = [turn for turn, _ in converse("shifting", lambda _: "yes", split=split, parser=parser)]
    assert len(turns) == split + (parser == "official")
    assert len(set(turns[-1].images)) == len(turns[-1].images) == split


def say_view(turn):
    """Whoever describes an image says which one it is."""
    return f"a picture of {NAME[turn.images[0].sha256]}" if turn.step == "caption" else "yes"


def test_concatenated_images_are_one_and_numbered_in_the_text():
    turns = [turn for turn, _ in converse("shifting", lambda _: "yes", images="concatenated")]
    assert [len(turn.images) for turn in turns] == [1] * 5
    one, two, *_, answer = turns
    ll, ur = question().images[4], question().images[5]
    assert one.images == (ll,) and "image.  \n" in one.text + "\n"
    assert two.images == (views.concatenate([ll, ur]),)
    assert two.content[0] is two.images[0]
    assert "full image.  image 1, the lowerleft view, image 2, the upperright view,. Given" in two.content[1]
    assert answer.images[0] == views.concatenate([question().images[k] for k in (4, 5, 6, 3)])


def test_all_images_but_the_current_one_are_described_by_the_model():
    turns = [turn for turn, _ in converse("shifting", say_view, images="captioned")]
    assert transcript(turns) == [
        "more: ll",
        "caption: ll",
        "more: ur",
        "caption: ur",
        "more: lr",
        "caption: lr",
        "more: ul",
        "answer: ul",
    ]
    assert turns[1].text == "Please describe the image:"
    assert "a picture of ll, the lowerleft view, a picture of ur, the upperright view, a picture of lr" in (
        text_with_images(turns[-1])
    )
    assert "<ul>, the upperleft view,," in text_with_images(turns[-1])


@pytest.mark.parametrize("name", ["zooming", "groundtruth_views"])
def test_with_one_image_each_selected_view_is_asked_separately(name):
    first = ["1,3"] if name == "zooming" else []
    *_, one, two = scripted(name, *first, "A", "B", images="concatenated")
    assert transcript([one, two]) == ["view: ul", "answer: ur"]
    assert one.labels == two.labels == ("A", "B", "C") and right(question(), one) == right(question(), two) == "B"
    assert text_with_images(two).startswith("Carefully analysis <ur>, the upperright view., and answer")
    captions = ["a pond", "a goose", "two geese"]  # of the full image, of 3, and of 1, each once
    turns = scripted(name, *first, *captions[:2], "A", captions[2], "B", images="captioned")
    assert transcript(turns[len(first) :]) == ["caption: full", "caption: ur", "view: ul", "caption: ul", "answer: ur"]
    assert text_with_images(turns[-1]).startswith("a pond is the full image.")
    assert "two geese is your selected upperleft view. <ur> is your selected upperright view." in (
        text_with_images(turns[-1])
    )


def scores_of(pairs, parser="official"):
    return [
        score_turn(AnsweredTurn("q", place, turn.step, "", (), turn.labels, "", reply), question(), parser)
        for place, (turn, reply) in enumerate(pairs)
        if turn.labels is not None
    ]


@pytest.mark.parametrize(
    ("said", "right", "letter"),
    [
        (["A", "C", "A"], False, "A"),
        (["B", "C", "A"], True, "B"),  # any view will do
        (["A", "B", "?"], True, "B"),
        (["A", OUT_OF_MEMORY, "B"], True, "B"),
        (["B", "A", OUT_OF_MEMORY], True, "B"),
        (["A", "C", OUT_OF_MEMORY], False, None),  # out of memory counts as wrong
    ],
)
@pytest.mark.parametrize("parser", ["official", "robust"])
def test_a_question_is_right_if_any_view_gives_the_right_answer(said, right, letter, parser):
    replies = iter(["1,2,4", *said])
    pairs = converse("zooming", lambda _: next(replies), images="concatenated")
    scores = scores_of(pairs, parser)
    assert [score.step for score in scores] == [VIEW, VIEW, ANSWER]
    *kept, answer = combine_views(scores)
    assert kept == scores[:2]  # the scores of views do not change
    assert (answer.correct, answer.label, answer.turn, answer.step) == (right, letter, 3, ANSWER)
    assert answer.outcome == ("failed" if letter is None else "answered")


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("zooming", {"parser": "careful"}, "parser 'careful' is not one of official, robust"),
        ("zooming", {"split": 5}, "split 5 is not one of 4, 6, 8, 9, 16"),
        ("zooming", {"images": "one"}, "images 'one' is not one of many, concatenated, captioned"),
        ("shifting", {"level": "X"}, "level 'X' is not one of R, E, M, H"),
        ("shifting", {"level": "E", "split": 9}, "level E is published for 4 views, not for 9"),
    ],
)
def test_an_unknown_setting_is_an_error(name, settings, message):
    with pytest.raises(ValueError, match=message):
        next(asked_by(name, question(), **settings))


def test_a_question_without_views_is_an_error():
    with pytest.raises(ValueError, match=r"question 1 has 1 images, but this protocol needs ActiView's seven"):
        next(PROTOCOLS["zooming"].function(humble_question()))


def test_settings_and_image_support_are_bound():
    one_image, described = (
        model_entry("respondent", behaviour="oracle", images=images) for images in ("concatenated", "captioned")
    )
    one = bound_to(ResolvedProtocol.of(name="shifting", level="E"), model=one_image)(question())
    next(one)
    assert len(one.send(Reply("yes")).images) == 1
    turn = next(bound_to(ResolvedProtocol.of(name="shifting", level="E", max_new_tokens=9))(question()))
    assert (turn.images, turn.max_new_tokens) == ((question().images[3],), 9)
    full = next(bound_to(ResolvedProtocol.of(name="full_image"), model=described)(question()))
    assert full.step == "answer"  # it shows only one
    own = bound_to(ResolvedProtocol.of(name="zooming", images="many"), model=one_image, parsers=[])(question())
    next(own)
    assert len(own.send(Reply("1,2")).images) == 3  # the protocol's own leads


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ResolvedProtocol.of(name="zoming"), r"'zoming' is not known; did you mean 'zooming'"),
        (ResolvedProtocol.of(name="full_image", level="E"), "the protocol 'full_image' takes no argument 'level'"),
        (ResolvedProtocol.of(name="shifting", question="x"), "the protocol 'shifting' takes no argument 'question'"),
        (ResolvedProtocol.of(name="shifting", level="E", split=9), "levels are published for 4 views, not for 9"),
    ],
)
def test_an_invalid_entry_is_an_error(entry, message):
    with pytest.raises(ConfigError, match=message):
        check_arguments(entry, known=PROTOCOLS, path="protocols.x")
