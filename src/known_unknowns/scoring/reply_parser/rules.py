"""The rules of the parser, in the order in which they are tried."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from known_unknowns.scoring.reasoning_marks import final_text
from known_unknowns.scoring.reply_parser import words
from known_unknowns.scoring.reply_parser.options import NOTHING, Labels, Options
from known_unknowns.scoring.reply_parser.text import clean, forms, sentences

ANSWERED, REFUSED, ABSTAINED, UNPARSED, CUT = "answered", "refused", "abstained", "unparsed", "cut"
NOT_OFFERED = "(not offered)"
SEVERAL = "several"
_KINDS = frozenset((words.CANNOT_TELL, words.NONE_RIGHT, words.DECLINES))


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_ANNOUNCEMENTS = tuple((name, _compile(pattern)) for name, pattern in words.ANNOUNCEMENTS)
_CALLED_RIGHT = _compile(words.CALLED_RIGHT)
_CORRESPONDS = _compile(words.CORRESPONDS)
_CONCLUDES = _compile(words.CONCLUDES)
_TURNS_BACK = _compile(words.TURNS_BACK)
_DENIALS = _compile(words.DENIALS)
_DENIED_AFTER = _compile(words.DENIED_AFTER)
_HYPOTHESES = _compile(words.HYPOTHESES)
_CONTRASTS = _compile(words.CONTRASTS)
_GUESSES = _compile(words.GUESSES)
_NEW_CLAUSE = _compile(r"[,;:]\s|\b(?:but|and|however|while|whereas|although|because|since)\b")
_ON_THE_OTHER_HAND = _compile(r"[^.;]{0,20}\b(?:on\sthe\sother\shand|(?:in|by)\scontrast)\b")
_IF_I = _compile(r"\bif\s(?:I|we)\b")
_GOES_ON = _compile(words.GOES_ON)
_VERDICT = _compile(words.VERDICT)
_LEAD = _compile(
    r"(?:[\s:=>–—*,]|-(?!\d))*(?:(?:that|it\sis|it's|is|be|with|indeed|likely|probably|definitely|clearly|most\slikely|as\sfollows|therefore|thus|the\sfollowing"
    r"|as|for|to\sbe|this\sis|there\s(?:is|are)|because|i\s(?:would\s)?(?:think|say|believe|guess)|either|both|given\sby|simply|only|just|represented\sby)\b[\s:,]*)*(?:(?:the|an)\s(?=\w)|a\s(?=[a-z]{2}))?"
)
_CLAUSE = re.compile(
    r"[^.;\n]*?(?=[;\n]|[.!?,](?:\s|\Z)|\s(?:because|since|as|which|so|but)\b|\s?[—–]|\s-\s|\Z)|[^\n]*"
)
_BOX = re.compile(
    r"\\(?:boxed|fbox)\s?\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}|<\|begin_of_box\|>(.*?)<\|end_of_box\|>|\[[xX✓✔]\]\s?([^\n]*)",
    re.DOTALL,
)
_TAGGED = re.compile(
    r"<(answer|conclusion|final_answer|choice|response|output|option)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_OBJECT = re.compile(r"\{[^{}]*\}")
_KEY = re.compile(
    r"(?:final[_ ]?)?(?:answer|choice|option|prediction|response|label|result|selected|output)\w*", re.IGNORECASE
)
_SMALL_LABEL = re.compile(
    r"(?:(?<!\S)\(|\b(?:option|choice|letter)\s\(?|\banswer(?:\sis|:)\s\(?)([a-z])(?:\)|(?=[.,;]|\s?\Z|\n))",
    re.IGNORECASE,
)
_COLON = re.compile(r":\s*\n+\s*([^\n]+)(?!\s*\n\s*[(\[]?[A-Z][)\].:])")
_POSITION = _compile(r"\W*(?:the\s)?(first|second|third|fourth|fifth|last)\s(?:option|choice|answer)\W*")
_RETRACTS = _compile(words.RETRACTS)
_IT_IS = re.compile(r"\A(?:it\sis|it's|this\sis|there\s(?:is|are))\s", re.IGNORECASE)
_SCALE = re.compile(
    r"\s?(?:hundred|thousand|million|billion|percent|%|dozen|times|or|and|to|out|point)\b|\s?[%/^]", re.IGNORECASE
)
_ONE_UNIT = re.compile(r"\s?[^\W\d_]+(?:\s[^\W\d_]+)?\s*(?:$|[.,;!)\n])")


def _content(sentence: str) -> frozenset[str]:
    """Return the content words of a sentence, without the plural's s."""
    return frozenset(
        form.rstrip("s") for form in forms(sentence) if form not in words.STOP_WORDS | words.QUESTION_WORDS
    )


@lru_cache(maxsize=1024)
def _asked(question: str) -> tuple[frozenset[str], ...]:
    """Return the content words of the sentences of a question that ask, or of its last one."""
    pieces = [sentence.text for sentence in sentences(question)]
    asking = [piece for piece in pieces if piece.endswith("?")] or pieces[-1:]
    return tuple(words for piece in asking if len(words := _content(piece)) > 1)


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What a reply gives as its answer.

    Parameters
    ----------
    outcome : str
        "answered"; "refused" (the offered refusal option); "abstained" (it says that it cannot tell, that no option is
        right, or declines); "unparsed"; or "cut" (the limit ended it before an answer).
    label : str, optional
        The option's label if the outcome is "answered" or "refused". "(not offered)" if an unparsed reply gives an
        option that was removed.
    rule : str
        Name of the rule that decided, or "" if none did.
    kind : str, optional
        How the reply abstains: "cannot_tell", "none_of_options" or "declines".
    """

    outcome: str
    label: str | None = None
    rule: str = ""
    kind: str | None = None


class Reply:
    """A reply that is parsed, with its question.

    Parameters
    ----------
    text : str
        The cleaned final text.
    options : Options
        The options.
    question : str
        The question, for what a reply repeats of it.
    """

    def __init__(self, text: str, options: Options, question: str) -> None:
        self.options = options
        self.question = f" {' '.join(forms(question))} "
        self.asked = _asked(question)
        named = [label for label, own in options.forms.items() if own and f" {' '.join(own)} " in self.question]
        numbers = [label for label in named if options.is_number(label)]
        self.repeated = frozenset(named if len(named) == 1 else numbers)  # of "Red or blue?", an answer repeats one
        text = _RETRACTS.split(text)[-1].strip()
        self.text = self._without_copies(_SMALL_LABEL.sub(self._capital, text), question)
        self.sentences = sentences(self.text)
        starts = re.findall(rf"(?:\A|\n)\s*[(\[]?({options.pattern})[)\].:]|[(\[]({options.pattern})[)\]]\s", self.text)
        self.lists = (
            len({first for first, _ in starts if first}) > 1
            or len({a or b for a, b in starts}) == len(options.texts) > 2
        )

    def _capital(self, match: re.Match[str]) -> str:
        if match[1].upper() not in self.options.texts or match[1] in self.options.texts:
            return match[0]
        start = match.start(1) - match.start()
        return match[0][:start] + match[1].upper() + match[0][start + 1 :]

    def _without_copies(self, text: str, question: str) -> str:
        """Leave out a copy of the question, and of all options in order, if something else is left."""
        if len(question) > 15 and question in text:
            text = text.replace(question, "").strip() or text
        lines = [line for line in text.split("\n") if line.strip()]
        count = len(self.options.texts)
        for start in range(len(lines) - count + 1 if count > 1 else 0):
            block = lines[start : start + count]
            if len(lines) > count and [self._copied(line) for line in block] == list(self.options.texts):
                return "\n".join(lines[:start] + lines[start + count :])
        return text

    def _copied(self, line: str) -> str | None:
        match = self.options.label_at_start(line)
        if match and forms(line[match.end() :]) == self.options.forms[match["label"]] != ():
            return match["label"]
        return None

    def exact(self, text: str) -> Labels:
        """Return the option that is the whole of a short text: a label, its text, both, or a part that only it has."""
        text = text.strip()
        bare = text.strip(" .,:;!()[]{}<>\"'*\n")
        if bare in self.options.texts:
            return frozenset((bare,))
        if bare.upper() in self.options.texts and len(bare) == 1:
            return frozenset((bare.upper(),))
        if len(text) > 400:
            return NOTHING
        match = self.options.label_at_start(text)
        if match and (match["close"] or match["noun"]):
            rest = text[match.end() :]
            if not forms(rest) or forms(rest) == self.options.forms[match["label"]]:
                return frozenset((match["label"],))
            other = self.options.text_at_start(rest)
            return frozenset((match["label"], *other[0])) if other[0] and not forms(rest[other[1] :]) else NOTHING
        return self.options.same_text(_IT_IS.sub("", text)) or self._position(text)

    def _position(self, text: str) -> Labels:
        match = _POSITION.fullmatch(text)
        places = {name: place for place, name in enumerate("first second third fourth fifth last".split())}
        labels = list(self.options.texts)
        place = -1 if match is None or match[1].lower() == "last" else places[match[1].lower()]
        return frozenset((labels[place],)) if match and place < len(labels) else NOTHING

    def choice(self, fragment: str) -> Labels:
        """Return the options, or the kind of abstention, that the text after an announcement gives."""
        fragment = fragment[:400]
        label = self._labels(fragment)
        if not label:
            fragment = fragment[_LEAD.match(fragment).end() :]  # type: ignore[union-attr]
            label = self._labels(fragment)
        if label and not self._text_has_label(fragment):
            return label
        if re.match(r"(?:not|n't|never)\b", fragment, re.IGNORECASE) and not self.options.text_at_start(fragment)[0]:
            return self._kind(fragment)
        found, end = self.options.text_at_start(fragment)
        if found and self._ends(found, fragment[end:]):
            rest = fragment[end:]
            if another := re.match(r"\s*(?:,\s|/|,?\sor\s|,?\sand\s|,?\sas\swell\sas\s)", rest):
                found |= self.options.text_at_start(rest[another.end() :])[0]
            if (match := self.options.label_at_start(rest)) and match["open"]:
                found |= {match["label"]}
            return found
        clause = _CLAUSE.match(fragment)[0]  # type: ignore[index]
        if kind := self._kind(clause):
            return kind
        return (
            self.options.same_text(clause)
            or self._position(clause)
            or self.options.same_text(fragment.split("\n")[0])
            or frozenset(mention.label for mention in self.options.mentions(clause) if mention.letter)
        )

    def _text_has_label(self, fragment: str) -> bool:
        """Whether a fragment starts with the text of an option that has the label in it: "Point A", "A is closer"."""
        match, (text, end) = self.options.label_at_start(fragment), self.options.text_at_start(fragment)
        return bool(
            match
            and text
            and end > match.end("label")
            or match
            and text
            and match["noun"]
            and end >= match.end("label")
        )

    def _ends(self, found: Labels, rest: str) -> bool:
        """Whether a text of an option ends where an announcement goes on, and not a longer expression."""
        if _GOES_ON.match(rest):
            return True
        numbers = all(self.options.is_number(label) for label in found)
        return bool(
            numbers
            and not _SCALE.match(rest)
            and _ONE_UNIT.match(rest)
            and all(len(own) == 1 for own in self.options.forms.values())
        )

    def _labels(self, fragment: str) -> Labels:
        """Return the labels that a text starts with, and another option whose text contradicts the label."""
        match = self.options.label_at_start(fragment)
        if match is None:
            return NOTHING
        label, rest = match["label"], fragment[match.end() :]
        text, end = self.options.text_at_start(rest)
        if label in text:
            rest = rest[end:]
        elif text and not self.options.is_function_word(min(text)) and re.match(r"\W*(?:\n|\Z)|[.;]\s", rest[end:]):
            return frozenset((label, *text))
        further = self.options.further_label(rest if label in text else fragment[match.end("label") :])
        return frozenset((label, further) if further else (label,))

    @staticmethod
    def _kind(text: str) -> Labels:
        kind = next((kind for kind, pattern in words.COMPILED_ABSTENTIONS if pattern.search(text)), None)
        return NOTHING if kind is None else frozenset((kind,))

    def sentence_before(self, position: int) -> str:
        """Return the part of a sentence before a place in the reply."""
        start = max((sentence.start for sentence in self.sentences if sentence.start <= position), default=0)
        return self.text[start:position]

    def asserted(self, text: str) -> Labels:
        """Return the options that a sentence names and does not deny, ask, suppose, contrast, calculate or repeat."""
        if text.endswith("?") or (_HYPOTHESES.search(text) and not _IF_I.search(text)):
            return NOTHING
        found = set()
        for mention in self.options.mentions(text):
            before, after = text[: mention.start], text[mention.end :]
            if _DENIALS.search(_NEW_CLAUSE.split(before)[-1]) or _CONTRASTS.search(before[-40:]):
                continue
            if _DENIED_AFTER.match(after) or _ON_THE_OTHER_HAND.match(after):
                continue
            if not mention.letter:
                if mention.label in self.repeated or self.options.is_function_word(mention.label):
                    continue
                if re.match(r"\s?[-+*/=^√]", after) or re.search(r"[-+*/^√]\s?\Z", before):
                    continue
            found.add(mention.label)
        return frozenset(found)

    def pairs(self, text: str) -> bool:
        """Return whether a sentence gives an option by its text and its label after it: "the red one (B)"."""
        return any(
            one.label == two.label and two.letter and not one.letter and 0 < two.start - one.end < 12
            for one, two in pairwise(self.options.mentions(text))
        )

    def restates(self, text: str) -> bool:
        """Return whether a sentence has at least half of the content words of what the question asks."""
        content = _content(text)
        return any(2 * len(content & asked) >= len(asked) for asked in self.asked)


class Finding(NamedTuple):
    """What a rule found: options or a kind of abstention, and the name under which it is counted."""

    labels: Labels
    rule: str


def whole_reply(reply: Reply) -> Labels:
    """Read a reply that is only a label, an option's text, or both."""
    return reply.exact(reply.text)


def box_or_tag(reply: Reply) -> Labels:
    """Read a box or a tag whose whole content is an option. Boxes that differ are several answers."""
    contents = [match[1] or match[2] or match[3] for match in _BOX.finditer(reply.text)]
    contents += [match[2] for match in _TAGGED.finditer(reply.text)]
    if found := NOTHING.union(*(reply.exact(clean(content)) for content in contents if content)):
        return found
    for match in reversed(list(_TAGGED.finditer(reply.text))):
        content = Reply(match[2].strip(), reply.options, "")
        inside = first_finding(
            content, (whole_reply, last_announcement, leading_label, abstention, leading_text, only_option)
        )
        if inside.labels:
            return inside.labels
    return NOTHING


def structure(reply: Reply) -> Labels:
    """Read the answer of a JSON object or a Python dict: the value of its key, its only true label, or its likeliest."""
    for match in reversed(list(_OBJECT.finditer(reply.text))):
        value = _literal(match[0])
        if not isinstance(value, Mapping):
            continue
        for key, content in value.items():
            if isinstance(key, str) and _KEY.fullmatch(key) and isinstance(content, str | int | float):
                return reply.exact(str(content)) or reply.choice(str(content))
        named = {label: content for key, content in value.items() for label in reply.exact(str(key))}
        true = [
            label
            for label, content in named.items()
            if content is True or str(content).casefold() in ("yes", "true", "correct")
        ]
        if true:
            return frozenset(true)
        shares = {label: content for label, content in named.items() if type(content) in (int, float)}
        if len(shares) > 1:
            return frozenset(label for label, share in shares.items() if share == max(shares.values()))
    return NOTHING


def _literal(text: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    return None


def last_announcement(reply: Reply) -> Labels:
    """Read the last phrase that announces an answer, unless an earlier one differs and is not taken back."""
    found: list[tuple[int, Labels]] = []
    last_named = -1
    for _, pattern in _ANNOUNCEMENTS:
        for match in pattern.finditer(reply.text):
            before = reply.sentence_before(match.start())
            if (
                _HYPOTHESES.search(before[-60:])
                and not re.search(r"\bif\sI\b", before, re.IGNORECASE)
                or re.search(
                    r"\b(?:not|n't|why|incorrect|wrong|other|which|what)\s(?:\w+\s){0,2}\Z", before, re.IGNORECASE
                )
            ):
                continue
            fragment = reply.text[match.end() :]
            if re.match(r"[^.\n]{0,80}\?", fragment):
                continue
            labels = reply.choice(fragment)
            if labels:
                found.append((match.start(), labels))
            elif re.match(r"\W*-?\d", fragment):
                last_named = max(last_named, match.start())
    for match in _COLON.finditer(reply.text):
        if labels := reply.exact(match[1]):
            found.append((match.start(), labels))
    for match in _CALLED_RIGHT.finditer(reply.text):
        before = reply.sentence_before(match.start())
        if labels := _named_last(reply, before, reply.text[match.start() :]):
            found.append((match.start() - 1, labels))
    for match in _CORRESPONDS.finditer(reply.text):
        before = reply.sentence_before(match.start())
        labels = reply._labels(reply.text[match.end() :])
        if labels and not _DENIALS.search(before[-40:]) and not _HYPOTHESES.search(before):
            found.append((match.start(), labels))
    if not found:
        return frozenset((SEVERAL,)) if last_named >= 0 and not reply.exact(reply.text.split("\n")[-1]) else NOTHING
    found.sort(key=lambda item: item[0])
    place, last = found[-1]
    others = [labels for _, labels in found if labels != last]
    if not others:
        return last
    if last & _KINDS and not others[-1] & _KINDS:
        return others[-1] if all(labels == others[-1] for labels in others) else last
    between = reply.text[found[-2][0] : place]
    if (
        _TURNS_BACK.search(between)
        or _CONCLUDES.search(reply.sentence_before(place))
        or all(labels & _KINDS for labels in others)
    ):
        return last
    return NOTHING.union(last, *others)


def _named_last(reply: Reply, before: str, rest: str) -> Labels:
    """Return the option that is named last before "is correct", if nothing denies it."""
    clause = re.split(r"[;]\s|,\s(?:but|and|so)\s|\b(?:that|therefore|thus|hence|so)\b,?\s", before)[-1]
    if _DENIALS.search(clause) or _HYPOTHESES.search(before) or re.match(r"[^.\n]{0,60}(?:\?|\bif\b)", rest):
        return NOTHING
    label = re.search(rf"(?:\A|[\s(\[\"'])({reply.options.pattern})[)\].:\"']*\s?\Z", clause)
    if label:
        return frozenset((label[1],))
    mentions = list(reply.options.mentions(clause))
    start = reply.options.label_at_start(clause)
    labels = {mention.label for mention in mentions if not reply.options.is_function_word(mention.label)}
    if start and start["close"]:
        labels.add(start["label"])
    return frozenset(labels) if len(labels) == 1 else NOTHING


def leading_label(reply: Reply) -> Labels:
    """Read the label at the start of a reply that is no list of options, or a last line that is only an option."""
    if reply.lists:
        return NOTHING
    match = reply.options.label_at_start(reply.text)
    if match and (match["close"] or match["noun"]):
        rest = reply.text[match.end() :]
        if not re.match(r"\W*(?:is|are|was)?\s*(?:not\b|n't|incorrect|wrong|false)", rest, re.IGNORECASE):
            return reply._labels(reply.text)
    lines = reply.text.rsplit("\n", 1)
    return reply.exact(lines[-1]) if len(lines) > 1 else NOTHING


def abstention(reply: Reply) -> Labels:
    """Read a sentence that says that the question cannot be answered, unless an option is guessed after it."""
    count = len(reply.sentences)
    for number, sentence in enumerate(reply.sentences):
        if sentence.text.endswith("?") or (count > 5 and 2 < number < count - 3):
            continue
        for kind, pattern in words.COMPILED_ABSTENTIONS:
            match = pattern.search(sentence.text)
            if match is None or reply._copied(sentence.text):
                continue
            if re.search(r"\b(?:if|unless|when|whether)\b[^,]*\Z", sentence.text[: match.start()], re.IGNORECASE):
                continue
            after = [sentence.text[match.end() :], *(other.text for other in reply.sentences[number + 1 :])]
            guess = any(_GUESSES.search(text) and reply.asserted(text) for text in after)
            return NOTHING if guess else frozenset((kind,))
    return NOTHING


def verdicts(reply: Reply) -> Labels:
    """Read a list of options with verdicts, of which one is positive."""
    judged: dict[str, bool] = {}
    for sentence in reply.sentences:
        match = reply.options.label_at_start(sentence.text)
        if match and (match["close"] or match["noun"]):
            label, rest = match["label"], sentence.text[match.end() :]
        else:
            found, end = reply.options.text_at_start(sentence.text)
            if len(found) != 1:
                continue
            (label,), rest = found, sentence.text[end:]
        verdict = _VERDICT.match(rest.lstrip(" :-–—=>.")) or re.search(
            rf"(?:{words.VERDICT})\W*\Z", rest, re.IGNORECASE
        )
        if verdict:
            judged.setdefault(label, verdict["no"] is None)
    if len(judged) < 2:
        return NOTHING
    return frozenset(label for label, right in judged.items() if right)


def leading_text(reply: Reply) -> Labels:
    """Read an option's text at the start of a reply: "Gold, because ...", "Yes, it is."."""
    found, end = reply.options.text_at_start(reply.text)
    if reply.lists or (reply.sentences and reply.sentences[0].text.endswith("?")):
        return NOTHING
    if found and re.match(r"\s*(?:[.,;:!\n(]|-\s|—|because\b|since\b|\Z)", reply.text[end:]):
        return found
    return reply.exact(reply.sentences[0].text) if reply.sentences else NOTHING


def only_option(reply: Reply) -> Labels:
    """Read the only option that a reply names, in a sentence that says little else than the question and the option."""
    named = [(sentence.text, labels) for sentence in reply.sentences if (labels := reply.asserted(sentence.text))]
    found = NOTHING.union(*(labels for _, labels in named))
    if len(found) != 1 or reply.lists:
        return NOTHING
    known = _content(reply.question + reply.options.texts[min(found)]) | words.FILLERS
    allowed = 1 if reply.asked else 2
    for text, _ in named:
        content = _content(text)
        unknown = len([form for form in content - known if len(form) > 1])
        if unknown <= max(allowed, len(content) // 3):
            return found
    return NOTHING


def restatement(reply: Reply) -> Labels:
    """Read the sentences that repeat what the question asks with one option: a conclusion, the first, or all alike."""
    found: list[tuple[int, Labels]] = []
    for number, sentence in enumerate(reply.sentences):
        if not (reply.restates(sentence.text) or reply.pairs(sentence.text)):
            continue
        labels = reply.asserted(sentence.text)
        if not labels and not sentence.text.endswith("?") and not _HYPOTHESES.search(sentence.text):
            part = _CONTRASTS.split(sentence.text)[0]
            labels = NOTHING if _DENIALS.search(part) else reply.options.restated(part)
        if len(labels) == 1:
            found.append((number, labels))
    for number, labels in reversed(found):
        if _CONCLUDES.search(reply.sentences[number].text):
            return labels
    every = NOTHING.union(*(labels for _, labels in found))
    if len(every) == 1 or not found or found[0][0] > 0:
        return every if len(every) == 1 else NOTHING
    return found[0][1]


Rule = Callable[[Reply], Labels]
RULES: tuple[Rule, ...] = (
    whole_reply,
    box_or_tag,
    structure,
    last_announcement,
    leading_label,
    abstention,
    verdicts,
    leading_text,
    restatement,
    only_option,
)
"""The rules in their order. The first that finds an option or an abstention decides."""
WEAK = frozenset((verdicts, leading_text, restatement, only_option))
"""Rules that do not apply to a reply that the limit ended."""


def first_finding(reply: Reply, rules: Iterable[Rule] = RULES) -> Finding:
    """Return what the first rule that applies finds."""
    for rule in rules:
        if labels := rule(reply):
            return Finding(labels, rule.__name__)
    return Finding(NOTHING, "")


def parse_reply(
    reply: str,
    options: Mapping[str, str],
    refusal: str | None = None,
    question: str = "",
    refusal_means: str | None = None,
    cut: bool = False,
    *,
    removed: Iterable[str] = (),
    opened: bool = False,
) -> ParsedReply:
    """Parse a reply to a multiple-choice question.

    Parameters
    ----------
    reply : str
        The text of the reply.
    options : mapping of str to str
        Labels and texts of the offered options.
    refusal : str, optional
        Label of the refusal option.
    question : str
        The question.
    refusal_means : str, optional
        What the refusal option means: "none_of_options" or "cannot_tell". By default, its text says it.
    cut : bool
        Whether the limit ended the reply.
    removed : iterable of str
        Texts of options that a variant removed.
    opened : bool
        Whether the model's template opens its reasoning.

    Returns
    -------
    ParsedReply
        The outcome, the label, and the rule that decided.

    Examples
    --------
    >>> parse_reply("The answer is (B), because it shines.", {"A": "Red", "B": "Gold"}).label
    'B'
    >>> parse_reply("It cannot be determined from the image.", {"A": "Red", "B": "Gold"}).outcome
    'abstained'
    """
    text = final_text(reply, opened=opened)
    unfinished = CUT if text.open or cut else UNPARSED
    gone = {f"{NOT_OFFERED}{number}": content for number, content in enumerate(removed)}
    known = _options((*options.items(), *gone.items()))
    parsed = Reply(clean(text.text), known, clean(question))
    if not parsed.text:
        return ParsedReply(unfinished)
    rules = [rule for rule in RULES if rule not in WEAK] if unfinished == CUT else RULES
    labels, rule = first_finding(parsed, rules)
    if len(labels) != 1:
        return ParsedReply(unfinished, rule=f"{rule}: {SEVERAL}" if labels else "")
    (label,) = labels
    if label == SEVERAL:
        return ParsedReply(unfinished, rule=f"{rule}: {SEVERAL}")
    if label in gone:
        return ParsedReply(UNPARSED, NOT_OFFERED, rule)
    if label in _KINDS:
        means = [name for name, kind in known.meanings.items() if kind == label and name in options]
        if refusal is not None and (refusal_means == label or refusal in means):
            return ParsedReply(REFUSED, refusal, rule, label)
        if len(means) == 1:
            return ParsedReply(ANSWERED, means[0], rule, label)
        return ParsedReply(ABSTAINED, None, rule, label)
    return ParsedReply(REFUSED if label == refusal else ANSWERED, label, rule)


@lru_cache(maxsize=1024)
def _options(options: tuple[tuple[str, str], ...]) -> Options:
    return Options(options)
