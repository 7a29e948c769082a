"""The rules that decide which options a reply chooses; `known_unknowns.scoring.robust` lists them in order."""

from __future__ import annotations

import re
from collections.abc import Callable

from known_unknowns.scoring import _stance, _statements, _verdicts
from known_unknowns.scoring._cleaning import ANSWER_MARK, normalise, without_thinking
from known_unknowns.scoring._marks import BOTH, LETTER, MARK, NOTHING, TEXT, Claims, Marks
from known_unknowns.scoring._relevance import focus_of
from known_unknowns.scoring._structures import parse_structure, parse_tags, statements
from known_unknowns.scoring._turns import own_answer

_FINAL = re.compile(
    rf"{ANSWER_MARK}|\b(?:final|overall|revised|updated|corrected)\s(?:answer|choice|option|decision)\b"
    r"(?:[^.\n:=]{0,40}?\b(?:is|be)\b(?!\snot\b|n't)|\s?[:=\n-]|\s)|\b(?:conclusion)\b\s?[:,-]|\bfinal\s?:|最终答案\s?(?:是|为)?\s?[:：]?|\[[xX\u2713\u2714]\]|[\u2611\u2705]\s?(?=[(\[]?[\ue000-\ue0bf])",
    re.IGNORECASE,
)
_MISSPELT = re.compile(r"\b(?:anwser|awnser|asnwer|anser|aswer|answr|ansewr|anwer|ansswer)\b", re.IGNORECASE)
_FOREIGN_ANSWER = (
    r"(?:cevap|yanıt|jawaban(?:nya)?|jawapan|đáp án|odpowied[źz](?:ią)?|odpov[eě]ď|vastaus|svar(?:et)?|antwoord"
    r"|válasz|răspuns(?:ul)?|απάντηση|ответ|відповідь|отговор|odgovor|одговор|תשובה|الإجابة|الاجابة|الجواب|جواب|پاسخ|उत्तर|คำตอบ|정답|답)"
)
_CONCLUSIVE = r"(?:so|thus|therefore|hence|daher|donc|alors|entonces|así\sque|por\slo\stanto)\b,?"
_CHOOSE = (
    r"(?:choose|pick|select|go\s(?:with|for)|opt\sfor|take|switch\sto|prefer|st(?:ay|ick)\swith|lean(?:ing)?\stowards?"
    r"|say|answer|guess|vote\sfor)"
)
_DECIDE = (
    r"(?:I(?:'m|\sam)\s(?:going|voting|opting|settling|betting)\s(?:with|for|on)"
    r"|I(?:'m|\sam)\s(?:choosing|picking|selecting)|I\s(?:chose|picked|selected|settled?\son)"
    r"|(?<=[;,.:]\s)(?:going|settling)\s(?:with|for|on)"
    r"|I\s(?:come|came)\sdown\son(?:\sthe\sside\sof)?|(?:decides?|decided|settles?\s(?:it|the\s\w+))\s(?:for|in\sfavou?r\sof)"
    r"|my\s(?:vote|money)\s(?:goes\sto|is\son)"
    r"|let's\s(?:say|go\swith|choose|pick))"
)
_BE = r"(?:is|be|ist|lautet|est|es|é|è|sería|serait|wäre)"
_ANNOUNCED = re.compile(
    rf"(?P<conclusive>\b{_CONCLUSIVE}\s(?:the\s)?(?=(?:\w+\s)?(?:answer|option|choice)\b)"
    rf"|\b{_CONCLUSIVE}(?=\s(?:(?:it(?:'s|\sis|\smust\sbe)|option|I)\s)?[(\[]?{MARK})"
    rf"|\b{_DECIDE}\b|\b(?:finally|in\sthe\send|finalement|schließlich|finalmente|al\sfinal),?(?=\s[(\[]?{MARK})|\bI(?:'d|'ll|\swould|\swill|\smust)?\s(?:rather\s|still\s|probably\s|therefore\s|finally\s)?{_CHOOSE}\b(?!\snot\b)"
    rf"|\b(?:in\stotal|altogether|(?:that|which|this|it)\s(?:makes|gives)|for\sa\stotal\sof|(?:the\s)?total\sis),?(?=\s+(?:there\sare\s)?{MARK})|\b(?:most|more)\slikely(?=\s(?:it\sis\s)?[(\[]?{MARK})"
    rf"|\b(?:i\.e\.|in\sother\swords|that\sis\sto\ssay|namely),?(?=\s[(\[]?{MARK})"
    r"|\b(?:ich\s(?:wähle|nehme)|je\schoisis|elijo|escojo)\b"
    rf"|更可能是?(?=\s?{MARK})|(?<![可能不])(?:选择|选|選ぶ)(?=\s?[:：]?\s?[(\[]?{MARK}))"
    rf"|\bit(?:'s|\sis)(?=\s[(\[]?{LETTER}[)\]]?(?:[.!]|\s?\Z|\n))"
    rf"|{_FOREIGN_ANSWER}\w{{0,3}}(?:\s?[:\uff1a]|\s[^\s\ue000-\ue0bf.]+){{0,3}}?\s?(?=[(\[]?{MARK})"
    rf"|(?<!answer:)(?<!option:)(?<!choice:)(?<!guess:)(?<=:)(?=\s?(?:the\s|an?\s)?{MARK}[)\].!]*\Z)"
    r"|(?<!wrong\s)(?<!incorrect\s)(?<!first\s)(?<!initial\s)(?<!previous\s)(?<!possible\s)(?<!second\s)(?<!other\s)(?<!alternative\s)(?<!earlier\s)"
    r"(?:\b(?:answer|respuesta|réponse|antwort|lösung|resposta|risposta|(?:correct|right|best|top|my)\s(?:option|choice|letter|match|one|pick|description)"
    r"|(?:opción|option|choix)\scorrecte?a?|richtige?r?(?:\soption)?)\b"
    rf"(?:[^.\n:=]{{0,40}}?\b{_BE}\b(?!\s(?:not|nicht|pas|no)\b|n't)|(?:\s\d)?\s?[:=\n-]|(?=\s[(\[]?{MARK}))"
    r"|(?:答案|正解|答え|回答|正确的?选项|选项)\s?(?:应该|应)?(?:是|为|は)?\s?[:：]?)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"\n|[.!?;](?:\s|\Z)|\u3002|</answer>", re.IGNORECASE)
_OPENING = " \n:=-.([{<'>#\u2022\u00b7,"
_BETWEEN = (
    rf"[)\]}}']{{0,2}}\s?(?:[,;/&+|、]\s?|->\s?|\u2192\s?)?(?:(?:{_statements.AND_OR}|but|as\swell\sas)\s?)?"
    r"(?:(?:also|maybe|perhaps|possibly|even|both|then|either|plus|the|an?|option)\s){0,2}[(\[{]?"
)
_LIST = re.compile(
    r"(?:(?:the|an?|is|options?|choice|letter|definitely|probably|likely|most\slikely|clearly|certainly|that|it's|it\sis"
    r"|both|either)\s){0,4}"
    rf"[(\[]?{MARK}(?:{_BETWEEN}{MARK})*",
    re.IGNORECASE,
)
_LIST_ONLY = re.compile(rf"[\s#>*([{{-]{{0,5}}{_LIST.pattern}[\s.,:;!?)\]}}'/|>-]{{0,9}}(?:</answer>)?", re.IGNORECASE)
_AFTER_A_TEXT = re.compile(
    r"\s?(?:[.,;:!?()\n\u2013\u2014\u3002\u2026-]|\Z|</answer>)|\s(?:because|since|as|is\s(?:correct|right))\b",
    re.IGNORECASE,
)
_LINE_LABEL = re.compile(rf"\n[\s#>([{{<'\u2022\u00b7-]{{0,5}}(?:{BOTH}|{LETTER}(?=\s?[.):\]]|\s?(?:\n|\Z)))")
_CUT_OFF = re.compile(rf"{MARK}[)\]]?,?\s(?:or|and|oder|und|ou|et|o|y)\s*\Z", re.IGNORECASE)
_AFFIRMED = re.compile(
    rf"(?<!not\s)\b(?:only|just|leav(?:es|ing)(?:\sus)?(?:\swith)?(?:\sonly)?)\s(?:option\s|the\s)?{MARK}|{MARK}[)\]]?\s(?:fits|matches|suits|works)\s(?:best|better)\b|{MARK}[)\]]?,?\sit\s(?:is|must\sbe|has\sto\sbe)(?=\s?(?:[.!,;\n]|\Z))|{MARK}(?:\s[a-z]+){{0,2}}\s(?:in\stotal|altogether)\b"
    rf"|{MARK}[)\]]?\sis\s(?:the|my)\s(?:final\s)?(?:answer|choice|pick|one)\b|{MARK}[)\]]?\s?(?:(?:is|seems|ist|est|es)\s(?:the\s|clearly\s|indeed\s|probably\s|most\slikely\s){{0,2}}"
    r"(?:only\s|most\s|more\s)?(?:correct|right|best|better|accurate|likely|fitting|appropriate|richtig|korrekt|correcte?)\b|才?是?正确|が正し)",
    re.IGNORECASE,
)
_UNDECIDED = re.compile(
    r"\b(?:can't|cannot|unable\sto)\s(?:decide|choose|say\swhich)|\bundecided\b|\btorn\b|\bnot\ssure\swhich\b",
    re.IGNORECASE,
)
_COPY = re.compile(rf"{MARK}(?:[\s.,;|/)(\]\[-]{{1,4}}(?:(?:or|and)\s)?[(\[]?{MARK}){{1,63}}")
_MARK = re.compile(MARK)
_LETTER = re.compile(LETTER)
_EXCEPTED = re.compile(
    rf"(?P<mark>{MARK})\s(?:\w+\s){{0,2}}(?:except|besides|other\sthan|apart\sfrom|better\sthan)\s[^.;\n]{{0,20}}?{MARK}",
    re.IGNORECASE,
)
_CUED = re.compile(
    r"(?:\A|[^\w\s'](?!\s\w)|(?<!\w)(?:(?:is|be|are|was|it|think|believe|actually|rather|on|choosing|chose|picking|picked|selected|means|said|sia|soit|sea|dirais|diría|dico|reality|fact|really|indeed|truth|la|el|le|die|say|answer|option|choice|letter|statement|pick|choose|select|guess|bet|mean|meant|with|for"
    r"|so|thus|hence|therefore|then|only|just|leaves|left|remains|probably|definitely|maybe|perhaps|likely|surely|clearly|obviously|certainly"
    r"|and|or|but|also|both|either|to|towards|as|namely|me|us|still|now|finally|between|versus|vs|prefer|take|opt|opt\.|ans|mark|tick|circle|sondern|sino|mais|mas|maar|utan|men|tylko|melainkan|là|vaan"
    r"|hanem|ist|lautet|es|est|è|é|är|er|jest|oder|und|ou|et|y|o|e|donc|alors|entonces|bien|wel|schon|opción|réponse|antwort|respuesta|risposta|resposta|это|а|но|هو|คือ|ama|plus|i\.e\.|e\.g\.))"
    r"|'s\s|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])\s?[(\['<#\s]*\Z",
    re.IGNORECASE,
)
"""What can precede a letter that is an answer."""
_REMARKS = re.compile(
    rf"(?:\A|(?<=[.;!\n]\s)|(?<=\n))[(\[]?(?P<mark>{MARK})[)\]]?\s?(?P<sign>[:=\u2013\u2014-])\s?(?=[a-z])",
    re.IGNORECASE,
)
"""An option and a remark on it, at the start of a sentence: "A - there is no kite."."""
_SHORT = re.compile(rf"\s*(?:(?:\w{{2,}}|\d)[,:]?\s){{1,2}}(?:{LETTER})[.)]?\s*")
"""A reply of one or two words and a letter: "striped E"."""
_BARE = re.compile(rf"(?:{LETTER}|{BOTH})(?=[)\]]?\s?(?:[.!;\n]|\Z))")
_TEXT_ONLY = re.compile(f"{LETTER}|{BOTH}")
_NUMBER = r"\d{1,3}(?:\.\d+)?"
_SHARE = re.compile(
    rf"{MARK}[)\]']{{0,2}}(?:\s?[:=(\u2013\u2014-]|\sis|\sat|\swith)?\s?(?:an?\s)?(?:about\s|around\s|~)?"
    r"(?:(?:probability|chance|likelihood|confidence)\s?(?:of|is|:|=)?\s?)?"
    rf"(?:(?P<after>{_NUMBER})\s?%|(?<=[:=(\s])(?P<part>[01]?\.\d+|\d{{1,3}}/[1-9]\d{{0,2}}|[01](?![\w.])))"
    rf"|(?P<before>{_NUMBER})\s?%\s(?:(?:for|sure|certain|likely|chance|probability|of|that|it|is|to|be)\s){{0,5}}(?:option\s|the\s)?[(\[]?{MARK}",
    re.IGNORECASE,
)
_ASSERTED = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|is|are|was|were|be|it's|that's|will|going\sto|has|holds?|wears?|says|reads|plays?|shows?|depicts?|see|appears?|looks?|seems?|called|say|answer|like)"
    rf"(?:\s(?:a|an|the|to|be|in|like|of|clearly|probably|likely|about|around|from|by|at)){{0,4}}\s{TEXT}|{LETTER}|{BOTH}",
    re.IGNORECASE,
)


class ReplyParser:
    """Parses replies to a question with these ``marks``. Methods return the labels that their text chooses."""

    def __init__(self, marks: Marks, refusal: str | None, question: str) -> None:
        self.marks, self.refusal, self.focus = marks, refusal, focus_of(question)
        self._statements = marks.texts_of(
            label for label in marks.offered if label == refusal or marks.is_statement(label)
        )

    def parse(self, reply: str) -> Claims:
        """Apply the rules to a reply."""
        text = without_thinking(reply)
        normal = _MISSPELT.sub("answer", normalise(text))
        if whole := self.marks.whole(normal):
            return whole
        said = own_answer(normal, self._mentions)
        if said != [normal]:
            return frozenset[str]().union(*map(self.text, said))
        structure = parse_structure(text) or parse_tags(text)
        parts = None if structure is None else statements(structure, self._label_named)
        if parts is not None:
            claims = frozenset[str]().union(*(self.text(normalise(part)) for part in parts))
            if claims or text.lstrip().startswith(("{", "[", "```")):
                return claims
        return self.text(normal)

    def _mentions(self, text: str) -> bool:
        return bool(self.marks.whole(text) or self.marks.claims(self.marks.mark(text)))

    def text(self, text: str) -> Claims:
        """Apply the rules to normalised text."""
        marked = self.marks.mark_letter_texts(text) if self.marks.ambiguous else self.marks.mark(text)
        return self.marks.whole(text) or self.decide(marked)

    def decide(self, marked: str) -> Claims:
        """Apply the rules to marked text."""
        if _MARK.search(marked) is None:
            return NOTHING
        marked = self._without_copies(_statements.without_lower_ranks(marked))
        if any(self._is_refusal_text(match["mark"]) for match in _EXCEPTED.finditer(marked)):
            return NOTHING
        marked = _stance.plain(marked)
        verdict = _verdicts.chosen(marked, self._label_of)
        text = _statements.without_hypotheses(marked)
        text = _statements.without_denied(_statements.without_tentative(text))
        text = _statements.last_statement(text, no_retracts=not self.marks.uses_no)
        text = _stance.doubtful(text)
        if _CUT_OFF.search(text) or _statements.is_a_tie(text):
            return NOTHING
        stated = text
        text = _statements.without_possible(text)
        rules: tuple[Callable[[str], Claims], ...] = (
            *(self.final, self.announced, self.affirmed, self.shares, self.edges, self.named),
        )
        for rule in rules:
            if rule == self.affirmed and not isinstance(verdict, _verdicts.Verdict):
                return frozenset({verdict})
            if rule == self.affirmed and verdict is _verdicts.Verdict.UNDECIDED:
                return NOTHING
            if claims := rule(text):
                revoked = (
                    self._in_doubt(claims, text, rule)
                    or self._revokes_refusal(claims, text, rule)
                    or (claims == {self.refusal} and len(self.marks.claims(stated) - self.marks.claims(text)) == 1)
                    or self._contradicts(claims, text, rule)
                )
                return NOTHING if revoked else claims
            if rule == self.announced and _UNDECIDED.search(text) and len(self.named(text)) > 1:
                return NOTHING
        return NOTHING

    def final(self, text: str) -> Claims:
        """The text after each mark of a final answer: a box, an <answer> tag, "Final answer:"."""
        places = [match.span() for match in _FINAL.finditer(text)]
        ends = [start for start, _ in places[1:]] + [len(text)]
        return frozenset[str]().union(
            *(self._first(text[start:end]) for (_, start), end in zip(places, ends, strict=False))
        )

    def announced(self, text: str) -> Claims:
        """The text after announcements, from the last conclusion ("so", "I would choose") on."""
        claims, end = NOTHING, len(text)
        for match in reversed(list(_ANNOUNCED.finditer(text))):
            found = self._first(text[match.end() : end])
            claims, end = claims | found, match.start()
            if found and match["conclusive"]:
                break
        return claims

    def affirmed(self, text: str) -> Claims:
        """Options that are called correct: "B is the best answer", "only B fits"."""
        return self.marks.claims(" ".join(match[0] for match in _AFFIRMED.finditer(text)))

    def shares(self, text: str) -> Claims:
        """The option with the highest of several shares or probabilities: "Red: 30%, gold: 70%"."""
        values: dict[Claims, float] = {}
        for match in _SHARE.finditer(text):
            number = match["after"] or match["before"] or match["part"]
            value = float(number.split("/")[0]) / float(number.split("/")[1] if "/" in number else 1)
            values[self.marks.claims(match[0])] = value
        highest = max(values.values(), default=0)
        return (
            frozenset[str]().union(*(claims for claims in values if values[claims] == highest))
            if len(values) > 1
            else NOTHING
        )

    def edges(self, text: str) -> Claims:
        """The choice that starts the reply, labels that start other lines, and a last line that is only a choice."""
        text = text.strip(" \n")
        remarks = {(match["sign"], match["mark"]) for match in _REMARKS.finditer(text)}
        if len(remarks) > 1:
            return self.marks.claims("".join(mark for _, mark in remarks))
        first_line, _, rest = text.partition("\n")
        last_line = rest.rpartition("\n")[2]
        last = self.marks.claims(last_line) if _LIST_ONLY.fullmatch(last_line) else NOTHING
        if _LIST_ONLY.fullmatch(first_line):
            return self.marks.claims(first_line) | last
        labels = self.marks.claims(" ".join(match[0] for match in _LINE_LABEL.finditer(text)))
        return self._start(text.lstrip(_OPENING)) | labels | last

    def named(self, text: str) -> Claims:
        """All mentions. They are all collected, so that contradictions are detected."""
        relevant = self.focus.about_the_question(text, self._statements)
        claims = self.marks.claims(relevant)
        if self.marks.claims(text) - claims and not all(
            self.focus.anchored(relevant, mark) for mark in _MARK.findall(relevant)
        ):
            return NOTHING
        letters = [match for match in _LETTER.finditer(text) if self.marks.claims(match[0]) == claims]
        other = re.search(f"{TEXT}|{BOTH}", text) is not None
        cued = other or _SHORT.fullmatch(text) is not None
        cued = cued or any(_CUED.search(text[max(0, match.start() - 40) : match.start()]) for match in letters)
        return claims if cued or not letters else NOTHING

    def _label_of(self, mark: str) -> str:
        return self.marks.in_order(mark)[0]

    def _label_named(self, text: str) -> str | None:
        claims = self.marks.whole(normalise(text)) & self.marks.offered
        return next(iter(claims)) if len(claims) == 1 else None

    def _offered(self) -> list[str]:
        return [label for label in self.marks.labels if label in self.marks.offered]

    def _first(self, segment: str) -> Claims:
        """The choice that starts a segment, or the mentions in its first sentence."""
        segment = segment.lstrip(_OPENING)
        start = _LIST.match(segment)
        if start:
            return self.marks.claims(start[0])
        return self.named(_SENTENCE_END.split(segment, maxsplit=1)[0])

    def _start(self, text: str) -> Claims:
        start = _LIST.match(text)
        if start is None:
            return NOTHING
        claims = self.marks.claims(start[0])
        if text[start.end() :].lstrip(")] ").startswith("?"):
            return NOTHING  # "A? No."
        only_text = re.search(f"{LETTER}|{BOTH}", start[0]) is None
        return NOTHING if only_text and not _AFTER_A_TEXT.match(text, start.end()) else claims

    def _without_copies(self, text: str) -> str:
        """Remove lists of all options in the question's order."""
        offered = self._offered()

        def shorten(match: re.Match[str]) -> str:
            if self.marks.in_order(match[0])[: len(offered)] != offered:
                return match[0]
            end = [mark.end() for mark in _MARK.finditer(match[0])][len(offered) - 1]
            return f"\u2026{match[0][end:]}"

        return _COPY.sub(shorten, text)

    def _revokes_refusal(self, claims: Claims, text: str, rule: Callable[[str], Claims]) -> bool:
        """Whether the reply states another option after the refusal: "I can't help with it. It is an Audi."."""
        if self.refusal is None:
            return False
        if claims != {self.refusal}:
            refusals = [match.start() for match in _MARK.finditer(text) if self._is_refusal_text(match[0])]
            place = 0 if rule != self.announced else self._decided(claims, text, rule)
            first = _MARK.search(text)
            return rule != self.final and any(
                start >= place or (first and start == first.start()) for start in refusals
            )
        places = [match.end() for match in _MARK.finditer(text) if self.marks.claims(match[0]) == claims]
        asserted = " ".join(match[0] for match in _ASSERTED.finditer(text, max(places, default=len(text))))
        return bool(self.marks.claims(asserted) - claims)

    def _in_doubt(self, claims: Claims, text: str, rule: Callable[[str], Claims]) -> bool:
        """Whether the reply mentions an option after the chosen one without a clear stance."""
        if rule == self.final or self.marks.ambiguous:
            return False
        places = [match.end() for match in _MARK.finditer(text) if self.marks.claims(match[0]) <= claims]
        doubted = _stance.labels_in_doubt(text[places[-1] :] if places else text, self.marks)
        return bool(doubted if rule != self.edges else doubted & claims)

    def _contradicts(self, claims: Claims, text: str, rule: Callable[[str], Claims]) -> bool:
        """Whether the reply also states another option: "A. The chandelier is gold."."""
        if len(claims) != 1 or rule in (self.named, self.shares):
            return False
        if self.marks.ambiguous:
            mentions = re.findall(rf"{MARK}(?:/{MARK})*", text)
            return rule != self.final and any(not claims & self.marks.claims(mention) for mention in mentions)
        place = self._decided(claims, text, rule)
        rest = text[place:]
        if rule in (self.edges, self.announced):
            bare = self.marks.claims(" ".join(_BARE.findall(rest)))
            undecided = rule == self.announced and not any(found["conclusive"] for found in _ANNOUNCED.finditer(text))
            if (bare | self.affirmed(text if undecided else rest)) - claims:
                return True
        if re.match(BOTH, text[place - 1]) or (re.match(TEXT, text[place - 1]) and not self.focus.describes):
            return False
        if rule == self.announced:
            rest = text[text.rfind("\n", 0, place) + 1 : place].rpartition(". ")[2] + rest
        if claims & self.marks.claims(re.sub(LETTER, "", rest)) or claims == {self.refusal}:
            return False
        return bool(self.marks.claims(self.focus.about_the_question(_TEXT_ONLY.sub("", rest), self._statements)))

    def _decided(self, claims: Claims, text: str, rule: Callable[[str], Claims]) -> int:
        """The end of the mention that was decided on: the first for a start of the reply, otherwise the last."""
        places = [match.end() for match in _MARK.finditer(text) if self.marks.claims(match[0]) <= claims]
        return places[0 if rule == self.edges else -1]

    def _is_refusal_text(self, mark: str) -> bool:
        return self.marks.claims(mark) == {self.refusal} and re.fullmatch(LETTER, mark) is None
