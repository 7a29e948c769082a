# ruff: noqa: E501 (a phrase is as long as it is)
"""Options that speak of other options, such as "Both A and B", "The first two" or "None of the above".

The text of such an option means a set of other options by their labels or places. Where options move or are removed, it
would mean others. To add a phrasing, add a line to a table.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from known_unknowns.records import Option, Question


class Reference(NamedTuple):
    """What an option says of others.

    Parameters
    ----------
    places : frozenset of int or None
        The options that it speaks of; None if that cannot be told from its text.
    denies : bool
        Whether it says that these options are wrong ("None of the above").
    """

    places: frozenset[int] | None
    denies: bool


_NOUN = r"(?:answers?|options?|choices?|alternatives?)"
_RIGHT = (
    r"(?:\s(?:is|are|can be|could be|may be|might be|would be|apply|applies))?(?:\s(?:all|both|also))?"
    r"(?:\s(?:correct|right|true|valid|possible|acceptable|applicable|wrong|incorrect|false|apply))?"
)
_SOME = (
    r"(?:all|any|either|both|each|every|every one|some|most|several|one|two|three|four|at least (?:one|two)|at most (?:one|two)"
    r"|more than one|only one|only two|exactly one|two or more|one or more|not all)"
)
_NO = r"(?:none|neither|not any|no one|not one|nothing)"
_OTHERS = (
    r"(?:(?:the|these|those|two|three|four|other|others|remaining|rest|above|below|following|preceding|previous|foregoing|given|listed|provided|available|mentioned"
    rf"|above-mentioned|aforementioned|{_NOUN})\s)*(?:these|those|them|others?|rest|above|below|following|preceding|foregoing|listed|mentioned|aforementioned|{_NOUN})"
    r"(?:\s(?:given|listed|provided|available|mentioned|above|below|here))?"
)
_GROUPS = (
    rf"(?P<denies>{_NO})(?:\sof)?\s{_OTHERS}{_RIGHT}",
    rf"(?:the\s)?{_SOME}(?:\sof)?\s{_OTHERS}{_RIGHT}",
    r"(?:the\s)?(?:above|below|previous|preceding) (?:two|three|four|ones)|(?:the\s)?(?:two|three|four)\s(?:above|below)|all the rest|everything (?:above|listed|mentioned)",
    rf"(?:{_SOME}|(?P<denies>{_NO})) of (?:the )?(?:two|three|four)",
    rf"(?:both|all|either)(?:\s(?:two|three|four|five))?{_RIGHT}|(?:all|both) at once|(?P<denies>nothing (?:above|listed))",
    # German, Dutch
    r"(?P<denies>keine[rs]?|nichts|keins|geen|geen enkele)(?:\s(?:der|die|von|den|davon|diesen|van|de))*(?:\s(?:oben|zuvor|hier))?(?:\s(?:genannten?|obigen|aufgeführten|anderen|antworten|optionen|möglichkeiten|davon|ist|richtig|bovenstaande|antwoorden))+",
    r"(?:alle[sr]?|beide[sr]?|alle beide)(?:\s(?:der|die|von|den|van|de))*(?:\s(?:oben|zuvor))?(?:\s(?:genannten?|obigen?|aufgeführten|anderen|antworten|optionen|möglichkeiten|sind|richtig|davon|bovenstaande))*",
    # Spanish, Portuguese, Italian
    r"(?P<denies>ningun[oa]|nenhuma?|nessun[oa])(?:\s(?:de|las|los|das|dos|delle|dei|as|os|le|precedenti|risposte|opzioni|anteriores|respuestas|opciones|respostas|opções|alternativas|acima|es|correcta|é|correta|corretta|altre|otras|outras))+",
    r"(?:tod[oa]s|tutt[ei]|amb[oa]s|entramb[ei]|cualquiera|qualquer uma|as duas|los dos|las dos)(?:\s(?:de|las|los|as|os|das|dos|le|i|gli|delle|precedenti|risposte|opzioni|anteriores|respuestas|opciones|respostas|opções|alternativas|acima|son|são|sono|correctas?|corretas?|corrette|altre|otras|outras))*",
    # French
    r"(?P<denies>aucun(?:e)?)(?:\s(?:de|des|ces|ceux-ci|celles-ci|les|réponses?|options?|propositions?|choix|ci-dessus|précédentes?|n'est|correcte|autres))+",
    r"(?:tou(?:te)?s|(?:tou(?:te)?s )?les deux|chacune)(?:\s(?:de|des|ces|les|réponses|options|propositions|choix|ci-dessus|précédentes|sont|correctes|deux|autres))*",
    # Russian, Vietnamese, Arabic
    r"(?P<denies>ни один|ни одно|ни одна|ничего)(?:\s(?:из|вариант\w*|ответ\w*|вышеперечисленн\w*|перечисленн\w*|этого|них|выше|не|верен|правильный))+",
    r"(?:все|оба|обе|любой|всё)(?:\s(?:из|вариант\w*|ответ\w*|вышеперечисленн\w*|перечисленн\w*|них|выше|верны|правильны))*",
    r"tất cả (?:các )?(?:đáp án|câu|phương án|ý)? ?(?:trên|đều đúng|ở trên)*|cả hai(?: .{0,20})?|(?P<denies>không (?:có )?(?:đáp án|câu|phương án|ý) nào.{0,20})",
    r"(?:جميع|كل) (?:ما سبق|الإجابات.{0,20}|الخيارات.{0,20})|كلاهما|(?P<denies>لا شيء مما (?:سبق|ذكر)|ليس أي مما سبق)",
    # Chinese, Japanese, Korean
    r"(?P<denies>(?:以上|上述)?(?:的)?(?:选项|答案|各项|所有选项|全部)?(?:都|皆|均|全)(?:不|非|错)\S{0,4}|以上(?:没有|无)\S{0,8}|没有(?:一个|任何)\S{0,8}|两者都不\S{0,3}|皆非)",
    r"(?:以上|上述)(?:的)?(?:选项|答案|各项|所有|全部|两者|都|皆|均|是|对|正确|可|有可能|全)*|(?:两者|二者|全部|所有选项|全)?(?:都|皆|均)(?:是|对|正确|可能|可以|有)*|两者|全部|所有(?:选项|答案)\S{0,6}",
    r"(?P<denies>(?:上記|以上)?(?:の)?(?:いずれ|どれ|どちら)(?:でも|も)(?:ない|ありません|違う|正しくない)|該当なし)",
    r"(?:上記|以上)?(?:の)?(?:すべて|全て|全部|両方|両者|いずれも|どちらも|どれも)(?:の\S{0,6})?(?:が)?(?:正しい|です|該当する)?",
    r"(?P<denies>(?:위의? |위 )?(?:모두|전부)? ?(?:아님|아니다|없음)|(?:위의? )?(?:보기|것) 중(?:에)? (?:답이? )?없\S{0,3}|해당 ?없음)",
    r"(?:위의? )?(?:보기 |답 |것 )?(?:모두|전부|둘 다|다)(?: (?:맞\S{0,3}|정답\S{0,4}|해당\S{0,3}|옳\S{0,3}))?",
)
"""Texts that speak of all other options, or of those above or below."""

_NUMBERS = {"two": 2, "three": 3, "four": 4, "2": 2, "3": 3, "4": 4}
_NUMBERS |= {
    "zwei": 2,
    "beiden": 2,
    "drei": 3,
    "dos": 2,
    "deux": 2,
    "due": 2,
    "duas": 2,
    "dois": 2,
    "tres": 3,
    "trois": 3,
    "tre": 3,
    "três": 3,
}
_NUMBERS |= {
    "две": 2,
    "два": 2,
    "двух": 2,
    "три": 3,
    "两": 2,
    "二": 2,
    "三": 3,
    "二つ": 2,
    "2つ": 2,
    "三つ": 3,
    "3つ": 3,
    "두": 2,
    "세": 3,
}
_NUMBER = "|".join(sorted(map(re.escape, _NUMBERS), key=len, reverse=True))
_QUANTITY = r"(?P<denies>(?:none|neither|not) (?:of )?)?(?:(?:both|all|any|only|just|either)\s)?(?:of\s)?"
_ENDS = (
    rf"{_QUANTITY}(?:the\s)?(?P<first>first|last)\s(?P<number>{_NUMBER})(?:\s(?:{_NOUN}|ones))?{_RIGHT}(?:\sonly)?",
    rf"(?P<denies>keine |weder )?(?:nur )?(?:die|der|den) (?:(?P<first>ersten?|letzten?) (?P<number>{_NUMBER})|(?P<number>beiden) (?P<first>ersten|letzten))(?: antworten| optionen)?",
    rf"(?P<denies>(?:ningun[oa]|nenhuma?|nessun[oa]|aucun(?:e)?) (?:de |des |das |dos |delle |dei )?)?(?:(?:solo|só|seulement|tou(?:te)?s|tod[oa]s|tutte|tutti|amb[oa]s|entramb[ei]) )?(?:(?:las|los|les|le|i|as|os) )?(?:(?P<number>{_NUMBER}) (?P<first>primer[oa]s|últim[oa]s|premi(?:er|ère)s|derni(?:er|ère)s|prim[ei]|ultim[ei]|primeir[oa]s)|(?P<first>primer[oa]s|últim[oa]s|prim[ei]|ultim[ei]|primeir[oa]s) (?P<number>{_NUMBER}))(?: (?:opciones|respuestas|réponses|options|risposte|opzioni|opções|respostas))?",
    rf"(?P<denies>ни один из )?(?:только )?(?P<first>перв\w+|последн\w+) (?P<number>{_NUMBER})(?: вариант\w*| ответ\w*)?",
    rf"(?P<first>前|后|最初の|最後の|처음 |마지막 |앞의? )(?P<number>{_NUMBER})(?:个|项|者|个选项|个答案|つ|개)?(?:选项|答案)?(?P<denies>都不(?:是|对)|都错)?(?:都|皆|均)?(?:是|对|正确|の選択肢)?",
)
"""Texts that speak of the first or the last options."""
_LAST = re.compile(r"last|letzt|últim|ultim|derni|последн|后|最後|마지막")

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_AND = r"(?:\s?,\s?(?:and|or|nor)?\s?|\s?[&+/]\s?|\s(?:and|or|nor|und|oder|noch|y|e|o|ni|et|ou|и|или|ни|en|và)\s(?:also\s)?|\s?(?:和|或|与|及|、|と|または|および|および|와|과|및)\s?)"
_QUANTIFIERS = r"(?:(?:both|all|only|just|either|answers?|statements?|options?|choices?|sowohl|beide|nur|ambos|ambas|tanto|sólo|solo|só|seulement|tous les deux|à la fois|entrambe|entrambi|sia|оба|только|только варианты|antworten?|opciones|opción|réponses?|risposte|ответы|варианты|选项|只有|仅|cả)\s?)*"
_NEGATIONS = r"(?:neither|not|none of|except|all (?:of the above |options )?(?:but|except)|weder|ni|ni l'|né|ни|既不是|不是|nicht)\s"
_TAILS = (
    rf"{_RIGHT}|\s(?:only|alone|together|equally|both|nur|both of them|solamente|seulement|только)"
    r"|\s?(?:都|皆|均)(?:不)?(?:是|对|正确|可以)?|\s?(?:両方|の両方|どちらも|둘 다|모두)"
)
_LOOSE = re.compile(
    rf"\b(?:options?|answers?|choices?)\s(?:that|which|above|below|marked|in)\b|\b(?:above|below|previous|preceding|other|another)\s{_NOUN}\b"
    rf"|\bof\s(?:the\s|these\s|those\s)?(?:above|below|{_NOUN})\b|\b(?:more than one|none|all|any|both)\b.{{0,12}}\b{_NOUN}\b|以上(?:选项|答案)|上記"
)
"""Words by which a text seems to speak of other options. Which ones, no table says."""
_MOST_CHARACTERS = 80  # a longer text that has such words speaks of the question
_ABOVE = re.compile(
    r"\b(?:above|preceding|previous|foregoing)\b|以上|上述|上記|\boben\b|anterior|précédent|ci-dessus|precedent|выше|acima|\bzuvor\b|\bobigen?\b|\bbovenstaande\b|위|سبق|\btrên\b"
)
_BELOW = re.compile(r"\b(?:below|following)\b")


def _compiled(line: str) -> re.Pattern[str]:
    """Compile a line of a table. Its names of groups get numbers, because a pattern cannot have one twice."""
    number = count()
    return re.compile(re.sub(r"\(\?P<(\w+)>", lambda match: f"(?P<{match[1]}_{next(number)}>", line))


def _group(match: re.Match[str], name: str) -> str:
    """Return what a group of this name matched; "" if it matched nothing."""
    return next((text for key, text in match.groupdict().items() if key.rpartition("_")[0] == name and text), "")


_GROUP_PATTERNS, _END_PATTERNS = tuple(map(_compiled, _GROUPS)), tuple(map(_compiled, _ENDS))


def _plain(text: str) -> str:
    """Return a text in normal form and lower case, without punctuation around it."""
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()
    return " ".join(plain.split()).strip(" .!,;:?'\"“”。*_-")


def references(options: Sequence[Option]) -> dict[int, Reference]:
    """Return the options that speak of others, by their places, and what they speak of.

    Letters that are no labels of the question, or by which an option would name itself, stand for something else, such
    as points in an image.

    Examples
    --------
    >>> texts = ("Red", "Blue", "Both A and B", "None of the above")
    >>> options = [Option(label, text, f"{label}. ") for label, text in zip("ABCD", texts)]
    >>> {place: sorted(reference.places) for place, reference in references(options).items()}
    {2: [0, 1], 3: [0, 1, 2]}
    """
    labels = tuple(_plain(option.label) for option in options)
    texts = {place: _plain(option.text) for place, option in enumerate(options)}
    texts = {place: text for place, text in texts.items() if len(text) <= _MOST_CHARACTERS}
    named = {place: _named(text, labels) for place, text in texts.items()}
    if any(reference and place in (reference.places or ()) for place, reference in named.items()):
        named = {}  # the letters stand for something else
    found = {place: named.get(place) or _of_places(text, place, len(options)) for place, text in texts.items()}
    return {place: reference for place, reference in found.items() if reference is not None}


@lru_cache(maxsize=8192)
def _of_places(text: str, place: int, total: int) -> Reference | None:
    """Return what a text says of the options at some places, or of all others."""
    for pattern in _END_PATTERNS:
        if match := pattern.fullmatch(text):
            number, last = _NUMBERS[_group(match, "number")], _LAST.search(_group(match, "first"))
            places = frozenset(range(total - number, total) if last else range(number))
            readable = number < total and place not in places
            return Reference(places if readable else None, bool(_group(match, "denies")))
    for pattern in _GROUP_PATTERNS:
        if match := pattern.fullmatch(text):
            others = frozenset(range(total)) - {place}
            if _ABOVE.search(text):
                others = frozenset(range(place)) or others
            elif _BELOW.search(text):
                others = frozenset(range(place + 1, total)) or others
            return Reference(others, bool(_group(match, "denies")) or text.endswith(("wrong", "incorrect", "false")))
    return Reference(None, False) if _LOOSE.search(text) else None


@lru_cache(maxsize=8192)
def _named(text: str, labels: tuple[str, ...]) -> Reference | None:
    """Return what a text says of options that it names by labels or ordinal numbers; None if it names none."""
    pattern, item = _label_patterns(labels, numbered=_NUMBERED.search(text) is not None)
    match = pattern.fullmatch(text)
    if match is None:
        return None
    found = [_place(each, labels) for part in re.split(_AND, match["list"]) for each in item.findall(part)]
    places = frozenset(place for place in found if place is not None)
    if None in found or (len(places) < 2 and not match["no"] and not _ALONE.search(text)):
        return None  # "Option B" may be the name of anything
    if _UNEQUAL.search(text) or "last" in text:
        return Reference(None, False)
    return Reference(places, bool(match["no"]))


def _place(item: str, labels: tuple[str, ...]) -> int | None:
    """Return the place that a label, an ordinal number or a number names; None if there is no such option."""
    if item in labels:
        return labels.index(item)
    if item == "last":
        return len(labels) - 1
    number = int(item) if item.isdecimal() else _ORDINALS.index(item) + 1
    return number - 1 if 0 < number <= len(labels) else None


_NUMBERED = re.compile(r"\b(?:options?|answers?|choices?)\s\(?\d")
_ALONE = re.compile(r"\b(?:only|just|same|equal|alone|nur|s[oó]lo|só|seulement|solamente)\b|только|只有|仅")
_UNEQUAL = re.compile(r"\b(?:but|except|sino)\b")


@lru_cache(maxsize=256)
def _label_patterns(labels: tuple[str, ...], *, numbered: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile a pattern of texts that name labels, and one of a label in them."""
    names = "|".join([*sorted(map(re.escape, labels), key=len, reverse=True), *([r"\d"] if numbered else [])]) or "(?!)"
    noun = r"(?:(?:option|answer|choice|opción|réponse|antwort|risposta|opção|вариант|选项)s?\s?)?"
    word = "|".join((*_ORDINALS, "last"))
    one = (
        rf"(?:the\s)?{noun}[(\[\"']?(?:{names}|(?:{word})(?=\s(?:and|or|nor)\b|,|\s{_NOUN}|$))[)\]\"'.]?"
        rf"(?:\s{_NOUN}(?!\s(?:{names})\b))?"
    )
    further = rf"{_AND}(?:also\s|not\s|nor\s|sino\s|als auch\s|che\s|и\s|ни\s|ni\s)?{one}|\s(?:als auch|como|che|but not)\s{one}"
    pattern = re.compile(
        rf"(?P<quantity>(?:the\s)?(?:same\sas\s|equal\sto\s)?{_QUANTIFIERS})(?P<no>{_NEGATIONS})?(?:both\s|either\s|of\s)?"
        rf"(?P<list>{one}(?:{further})*)(?:{_TAILS})"
    )
    return pattern, re.compile(rf"(?<![a-z])(?:{names}|{word})(?![a-z\d])")


def shuffled_together(options: Sequence[Option]) -> list[list[int]] | None:
    """Return groups of places within which options can be shuffled, so that every option keeps its meaning.

    An option that speaks of others keeps its place. The options that it speaks of stay those that it speaks of.

    Returns
    -------
    list of list of int or None
        None if it cannot be told which options a text means, or if nothing could be shuffled.
    """
    found = references(options)
    sets = [reference.places for reference in found.values()]
    groups: dict[tuple[bool, ...], list[int]] = {}
    for place in range(len(options)):
        if place not in found:
            groups.setdefault(tuple(places is None or place in places for places in sets), []).append(place)
    if found and (None in sets or all(len(group) < 2 for group in groups.values())):
        return None
    return list(groups.values())


def keeps_its_meaning_shuffled(question: Question) -> bool:
    """Whether the options can be shuffled (`shuffled_together`)."""
    return shuffled_together(question.options) is not None


def refusal_alone_speaks(question: Question) -> bool:
    """Whether no option but the refusal speaks of others, so that all options can be moved."""
    return not references(question.options).keys() - {question.refusal}


def keeps_its_meaning_without_answer(question: Question) -> bool:
    """Whether the refusal is the only right option after the right option is removed.

    No other option may speak of options: "Both A and B" or "Not A" could hold. The answer may not join the texts of
    others ("red and blue"), which would be half right. The refusal must speak of the option that is removed, if it speaks
    of some.
    """
    if question.answer is None or question.refusal is None or question.answer == question.refusal:
        return True  # there is no option to remove
    found = references(question.options)
    own = found.pop(question.refusal, None)
    if _joins_others(question.options, question.answer):
        return False
    return not found and (own is None or (own.places is not None and question.answer in own.places))


def _joins_others(options: Sequence[Option], place: int) -> bool:
    """Whether the text of an option is that of two or more others, joined by "and"."""
    others = {_plain(option.text) for other, option in enumerate(options) if other != place}
    parts = re.split(
        _AND, re.sub(r"^(?:both|sowohl|beide|ambos|ambas|entrambi|оба)\s", "", _plain(options[place].text))
    )
    return len(parts) > 1 and others.issuperset(parts)
