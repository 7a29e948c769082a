"""The rules of the parser. Each returns the options that it finds, or a kind of abstention, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from known_unknowns.scoring.reply_parser import words
from known_unknowns.scoring.reply_parser.options import FIRST_REMOVED, NOTHING, Labels
from known_unknowns.scoring.reply_parser.reply import Reply
from known_unknowns.scoring.reply_parser.text import clean, content_words

_SEEN = re.compile(r"(?!.*\b(?:not|no|nor|or|and|than)\b)[a-z\d ,]{1,30}")
_KINDS = frozenset((words.CANNOT_TELL, words.NONE_RIGHT, words.DECLINES))
_BOX = re.compile(
    r"\\(?:boxed|fbox)\s?\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)(?:\}|\Z)|<\|begin_of_box\|>(.*?)<\|end_of_box\|>|\[[xX✓✔]\]\s?([^\n]*)",
    re.DOTALL,
)
_TAG = re.compile(
    r"<(answer|conclusion|final_answer|choice|response|output|option)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_KEY = re.compile(
    r"[\"'][a-z_ ]*(?:answer|choice|option|prediction|label)[\"']\s?:\s?\[?[\"']?([^\"'\n,}\]]+)", re.IGNORECASE
)
_ASKED_FIRST = re.compile(r"\A\W*(?:is|could|would|can)\s(?:it|this|that|the\sanswer)\s(?:be\s)?", re.IGNORECASE)
_PIECES = re.compile(r"[\n;!?]|[.,](?=\s)")
_OTHER_CLAUSE = re.compile(r";|,\s(?:but|and)\b")
_LINE_AFTER_COLON = re.compile(r":\s*\n+\s*([^\n]+)")


def whole_reply(reply: Reply) -> Labels:
    """Read a reply that is only a label, an option's text, or both. Small models name what they see: "purple E"."""
    last = reply.options.patterns["end"].search(reply.text)
    if last and _SEEN.fullmatch(seen := reply.text[: last.start()]):
        return frozenset((last[1], *(label for label in reply.exact(seen) if label < FIRST_REMOVED)))
    return NOTHING if reply.text.endswith("?") else reply.exact(re.sub(r"</?[A-Za-z_]+>", "", reply.text))


def final_answer(reply: Reply) -> Labels:
    """Read boxes, ticks and tags whose whole content is an option, a tag with an answer in it, or the answer's key."""
    boxes = [(match, match[1] or match[2] or match[3] or "") for match in _BOX.finditer(reply.text)]
    tagged = [(match, match[2].strip()) for match in _TAG.finditer(reply.text)]
    found, end = NOTHING, 0
    for match, content in sorted((*boxes, *tagged), key=lambda item: item[0].start()):
        if labels := reply.exact(clean(content)):
            is_correction = words.TURNS_BACK.search(reply.text, end, match.start())
            found, end = labels if is_correction else found | labels, match.end()
    if found:
        later = [labels for place, labels in _corrections(reply) if place >= end - 1]
        return later[-1] if later else found
    tags = [content for _, content in tagged]
    turn = max((match.end() for match in words.TURNS_BACK.finditer(reply.text)), default=0)
    keys = sorted(_KEY.finditer(reply.text), key=lambda match: match.start() < turn)  # first those after a correction
    values = (reply.exact(match[1]) for match in keys)
    return next(filter(None, (*map(reply.choice, reversed(tags)), *values)), NOTHING)


def last_announcement(reply: Reply) -> Labels:
    """Read the last phrase that announces an option, unless an earlier one differs and is not taken back."""
    corrections = list(_corrections(reply))
    found = sorted((*_announced(reply), *corrections), key=lambda item: item[0])
    every = [item for item in found if not item[1] & _KINDS] or found
    if not every:
        return NOTHING
    place, first, last = every[0][0], every[0][1], every[-1][1]
    same = all(labels == first for _, labels in every)
    if same or every[-1] in corrections:
        return last
    decides = words.TURNS_BACK.search(reply.text, place) or words.CONCLUDES.search(reply.text, place)
    return last if decides else NOTHING.union(*(labels for _, labels in every))


def _corrections(reply: Reply) -> Iterator[tuple[int, Labels]]:
    """Yield places and options of corrections: "Actually, B.", also in a sentence of its own: "Let me recheck. B"."""
    for match in words.CORRECTIONS.finditer(reply.text):
        if labels := reply.whole_clause(reply.text[match.end() :]):
            yield match.start(), labels
    if reply.is_list:
        return
    following = zip(reply.sentences[1:], reply.starts[1:], strict=True)
    for sentence, (answer, place) in zip(reply.sentences, following, strict=False):
        if words.TURNS_BACK.search(sentence) and (labels := reply.whole_clause(answer)):
            yield place, labels


def _announced(reply: Reply) -> Iterator[tuple[int, Labels]]:
    """Yield places and options of announcements."""
    for match in words.ANNOUNCEMENTS.finditer(reply.text):
        before, rest = reply.before(match.start()), reply.text[match.end() :]
        if not words.HYPOTHESES.search(before[-60:]) and (labels := reply.choice(rest)):
            yield match.start(), labels
    for match in _LINE_AFTER_COLON.finditer(reply.text):
        if (match.end() == len(reply.text) or not reply.is_list) and (labels := reply.exact(match[1])):
            yield match.start(), labels
    for match in words.HEADINGS.finditer(reply.text):
        if labels := reply.exact(match[1]):
            yield match.start(), labels
    for match in words.CALLED_RIGHT.finditer(reply.text):
        if labels := _called_right(reply, reply.before(match.start()), reply.text[match.start() :]):
            yield match.start() - 1, labels


def _called_right(reply: Reply, before: str, rest: str) -> Labels:
    """Return the option that is named before "is correct", if nothing denies it."""
    clause = re.split(r";\s|,\s(?:but|and|so)\s|\b(?:that|therefore|thus|hence|so)\b,?\s", before)[-1]
    if words.DENIALS.search(clause) or words.HYPOTHESES.search(before):
        return NOTHING
    if label := reply.options.patterns["end"].search(clause):
        return frozenset((label[1],))
    labels = {mention.label for mention in reply.options.mentions(clause)}
    labels = {label for label in labels if not words.FUNCTION_WORDS.issuperset(reply.options.forms[label])}
    return frozenset(labels) if len(labels) == 1 else NOTHING


def verdicts(reply: Reply) -> Labels:
    """Read a verdict on each option: "A: no. B: yes.", "A - wrong". Where all are denied, no option is right."""
    if reply.options.has_verdicts:
        return NOTHING
    right: set[str] = set()
    wrong: set[str] = set()
    firm, end = False, 0
    for match in words.VERDICT.finditer(reply.text):
        piece = _PIECES.split(reply.text[end : match.start()])[-1]
        named = reply.exact(_ASKED_FIRST.sub("", piece))
        end = match.end()
        if len(named) == 1:
            (right if match["yes"] else wrong).update(named)
            firm = firm or match["mark"] not in (".", ")")  # "B. No, it is red" gives B
    if (not firm and len(right | wrong) < 2) or right & wrong:
        return NOTHING
    others = {label for label, kind in reply.options.meanings.items() if kind is None and label < FIRST_REMOVED}
    return frozenset((words.NONE_RIGHT,)) if not right and wrong >= others else frozenset(right)


def leading_label(reply: Reply) -> Labels:
    """Read the label at the start of a reply that is no list of options, or a last line that is only an option."""
    if reply.is_list:
        return NOTHING
    if match := reply.options.marked_label_at_start(reply.text):
        rest = reply.text[match.end() :]
        if not (words.DENIED_AT_ONCE.match(rest) or _is_denied(reply, match.end("label"))):
            return reply.labels_at_start(reply.text)
    lines = reply.text.split("\n")
    while len(lines) > 1 and words.CLOSINGS.fullmatch(lines[-1]):
        lines.pop()
    return reply.exact(lines[-1]) if len(lines) > 1 else NOTHING


def _is_denied(reply: Reply, end: int) -> bool:
    """Return whether "no" stands after an option that ends there: "A: no". After "A." it is the option's text."""
    verdict = words.VERDICT.match(reply.text, end)
    return bool(verdict and verdict["no"] and verdict["mark"] not in (".", ")"))


def abstention(reply: Reply) -> Labels:
    """Read a sentence near the start or the end that abstains, unless an option is guessed after it."""
    exact = NOTHING.union(*map(reply.exact, () if reply.is_list else reply.sentences))
    if len(exact) == 1 and reply.options.meanings[min(exact)]:
        return exact
    count = len(reply.sentences)
    kinds = [*words.ABSTENTIONS]
    if not (reply.options.has_verdicts or any(map(reply.options.is_number, reply.options.texts))):
        kinds.append((words.CANNOT_TELL, words.NOT_SEEN))
    for number, sentence in enumerate(reply.sentences):
        if sentence.endswith("?") or (2 < number < count - 3):
            continue
        mentions = reply.options.mentions(sentence)
        for kind, pattern in kinds:
            match = pattern.search(sentence)
            before = sentence[: match.start()] if match else ""
            if match is None or words.CONDITIONS.search(before):
                continue
            if any(option.marked and option.start <= match.start() < option.end for option in mentions):
                continue
            if re.search(r"\b(?:although|though|but|even\sif)\b", before, re.IGNORECASE) and reply.asserted(before):
                return NOTHING
            after = (sentence[match.end() :], *reply.sentences[number + 1 :])
            guesses = any(words.GUESSES.search(text) and reply.asserted(text) for text in after)
            if guesses:
                return NOTHING
            if kind == words.NONE_RIGHT:
                return frozenset((kind,))
            if len(exact) == 1:
                return exact
            unknown = before + _OTHER_CLAUSE.split(sentence[match.end() :])[0]
            return NOTHING if _gives_option(reply, unknown) else frozenset((kind,))
    return NOTHING


def _gives_option(reply: Reply, unknown: str) -> bool:
    """Return whether a reply gives an option although something that the question does not ask is unknown to it."""
    if content_words(unknown) - words.VAGUE and not reply.restates(unknown):
        return bool(restatement(reply) or only_option(reply))
    return any(_pairs(reply, sentence) and len(reply.asserted(sentence)) == 1 for sentence in reply.sentences)


def leading_text(reply: Reply) -> Labels:
    """Read an option's text at the start of a reply: "Gold, because ...", "It's gold, as the light shows."."""
    if reply.is_list or not reply.sentences or reply.sentences[0].endswith("?"):
        return NOTHING
    first = reply.sentences[0]
    found, end = reply.options.text_at_start(reply.text)
    if found and _is_denied(reply, end):
        return NOTHING
    rest = reply.text[end:]
    if found and (re.match(r"\s*(?:[.,;:!\n(]|-\s|—|because\b|since\b|\Z)", rest) or reply.has_unit(found, rest)):
        return found
    lead = words.LEAD.match(first)
    if (labels := reply.exact(first)) or not (lead and lead[0].strip()) or words.HYPOTHESES.search(first):
        return labels
    return NOTHING if words.DENIALS.search(first) else reply.choice(first) - _KINDS


def restatement(reply: Reply) -> Labels:
    """Read the sentences that repeat what the question asks with one option: a conclusion, the first, or all alike."""
    found: list[tuple[int, Labels]] = []
    for number, sentence in enumerate(reply.sentences):
        if not (reply.restates(sentence) or _pairs(reply, sentence)):
            continue
        labels = reply.asserted(sentence)
        if not (labels or sentence.endswith("?") or words.HYPOTHESES.search(sentence)):
            part = words.CONTRASTS.split(sentence)[0]
            labels = NOTHING if words.DENIALS.search(part) else reply.options.restated(part) - reply.repeated
        if len(labels) == 1:
            found.append((number, labels))
    for number, labels in reversed(found):
        if words.CONCLUDES.search(reply.sentences[number]):
            return labels
    every = NOTHING.union(*(labels for _, labels in found))
    return found[0][1] if found and (len(every) == 1 or found[0][0] == 0) else NOTHING


def _pairs(reply: Reply, text: str) -> bool:
    """Return whether a sentence gives an option by its text and its label: "the red one (B)", "B. The red one"."""
    mentions = reply.options.mentions(text)
    return any(
        one.label == two.label and two.marked and not one.marked and 0 < two.start - one.end < 12
        for one, two in pairwise(mentions)
    )


def only_option(reply: Reply) -> Labels:
    """Read the only option of one or two sentences, if the last one says little else than it and the question."""
    found = NOTHING.union(*map(reply.asserted, reply.sentences))
    if len(found) != 1 or len(reply.sentences) > 2 or reply.is_list or reply.asserted(reply.sentences[-1]) != found:
        return NOTHING
    last = reply.sentences[-1]
    shows = words.SHOWS.match(last)
    content = content_words(last[shows.end() :] if shows else last)
    known = content_words(reply.question).union({"but"}, *map(content_words, reply.options.texts.values()))
    return found if not reply.asked or 2 * len(content - known - words.NEGATIONS) < len(content) else NOTHING


Rule = Callable[[Reply], Labels]
RULES: tuple[Rule, ...] = (
    whole_reply,
    final_answer,
    last_announcement,
    verdicts,
    leading_label,
    leading_text,
    abstention,
    restatement,
    only_option,
)
"""The rules in their order. The first that finds an option or an abstention decides. Several options are no answer."""
WEAK = frozenset((leading_text, restatement, only_option))
"""Rules that do not apply to a reply that the limit ended."""
