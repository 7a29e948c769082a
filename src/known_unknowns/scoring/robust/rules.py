"""The rules that decide which options a reply chooses; `known_unknowns.scoring.robust` lists them in order."""

from __future__ import annotations

import re
from collections.abc import Callable

from known_unknowns.scoring.robust import reasoning, stance, statements, verdicts
from known_unknowns.scoring.robust import rule_patterns as patterns
from known_unknowns.scoring.robust.announcements import ANNOUNCED, ASIDE, CUED, FINAL, MISSPELT
from known_unknowns.scoring.robust.clauses import ENGLISH
from known_unknowns.scoring.robust.cleaning import normalise, without_line_markup, without_thinking
from known_unknowns.scoring.robust.conclusions import agreed, concluded
from known_unknowns.scoring.robust.marks import BOTH, LETTER, MARK, NOTHING, TEXT, Claims, Marks
from known_unknowns.scoring.robust.parallels import parallel
from known_unknowns.scoring.robust.quotations import without_quotations
from known_unknowns.scoring.robust.relevance import Rule, focus_of
from known_unknowns.scoring.robust.stems import root
from known_unknowns.scoring.robust.structures import parse_structure, parse_tags, stated_values
from known_unknowns.scoring.robust.turns import own_answer


def whole_reply(reply: str, question: str) -> str:
    """Return a reply to a question's text as the rule for whole replies compares it (`Marks.whole`)."""
    return _normal(without_thinking(reply), question)


def _normal(text: str, question: str) -> str:
    text = normalise(without_line_markup(without_quotations(text, question)))
    return MISSPELT.sub("answer", text).replace("made out of", "made of")


class ReplyParser:
    """Parses replies to a question with these ``marks``. Methods return the labels that their text chooses."""

    def __init__(self, marks: Marks, refusal: str | None, question: str) -> None:
        self.marks, self.refusal, self.focus = marks, refusal, focus_of(question)
        self.question = question
        self._statements = marks.texts_of(
            label for label in marks.offered if label == refusal or marks.is_statement(label)
        )

    def parse(self, reply: str) -> Claims:
        """Apply the rules to a reply."""
        text = without_thinking(reply)
        normal = _normal(text, self.question)
        if whole := self.marks.whole(normal):
            return whole
        said = own_answer(normal, self._mentions)
        if said != [normal]:
            return frozenset[str]().union(*map(self.text, said))
        structure = parse_structure(text) or parse_tags(text)
        parts = None if structure is None else stated_values(structure, self._label_named)
        if parts is not None:
            claims = frozenset[str]().union(*(self.text(normalise(part)) for part in parts))
            if claims or text.lstrip().startswith(("{", "[", "```")):
                return claims
        return self.text(normal) or self._by_sentence(normal)

    def _by_sentence(self, text: str) -> Claims:
        """The option of the sentences of a reply in headed sections, if each of them names this option or none."""
        if self.focus.counts:  # sections often count a part each
            return NOTHING
        sentences = filter(self.focus.shares_a_word, reasoning.sentences_of_sections(text))
        found = {claims for sentence in sentences if (claims := self.decide(self._mark(sentence)))}
        return found.pop() if len(found) == 1 else NOTHING

    def _mentions(self, text: str) -> bool:
        return bool(self.marks.whole(text) or self.marks.claims(self._mark(text)))

    def _mark(self, text: str) -> str:
        return self.marks.mark(self._with_reference(text), counts_parts=self.focus.counts_parts)

    def _with_reference(self, text: str) -> str:
        """Replace the question's reference by "it" if the options do so: "under the piano" is "under it"."""
        reference = self.focus.reference if self.marks.about_it else None
        return text if reference is None else text.replace(reference, "it")

    def text(self, text: str) -> Claims:
        """Apply the rules to normalised text."""
        marked = self.marks.mark_letter_texts(text) if self.marks.ambiguous else self._mark(text)
        if whole := self.marks.whole(text):
            return whole
        readable = len(text.split()) < patterns.FEW_WORDS or ENGLISH.search(text) is not None
        if readable and patterns.ANY_MARK.search(marked) is None and not self.marks.ambiguous:
            marked = self.marks.mark_loosely(self._with_reference(text), self.focus.words)
        if (claims := self.decide(marked)) or not readable or self.marks.ambiguous:
            return claims
        return self._loosely(marked)

    def _loosely(self, marked: str) -> Claims:
        """The option that is mentioned in another form after all others are denied, or in the last clause."""
        loose = self.marks.mark_loosely(marked, self.focus.words)
        if loose == marked or any(map(self.marks.is_statement, self.marks.offered - {self.refusal})):
            return NOTHING
        claims = self.decide(loose)
        if patterns.ANY_MARK.search(self._stated(marked)) is None:
            return claims
        return claims & self._last(self._stated(loose))

    def decide(self, marked: str) -> Claims:
        """Apply the rules to marked text."""
        if patterns.ANY_MARK.search(marked) is None:
            return NOTHING
        marked = self._without_copies(statements.without_lower_ranks(marked))
        if patterns.ALL_EXCEPT.search(marked) or any(
            self._is_refusal_text(match["mark"]) for match in patterns.EXCEPTED.finditer(marked)
        ):
            return NOTHING
        marked = self.focus.wording.apply(reasoning.plain(ASIDE.sub("", stance.plain(marked))))
        if (answer := verdicts.answered(marked, self.focus.content, self._label_of)) is not None:
            return frozenset({answer})
        verdict = verdicts.chosen(marked, self._label_of)
        if verdict is verdicts.Verdict.NO_LIST:
            marked = statements.without_analysis(marked)
        stated = self._stated(marked)
        text = statements.without_possible(stated)
        claims = (
            NOTHING
            if patterns.CUT_OFF.search(stated) or statements.is_a_tie(stated)
            else self._decided_by_rules(stated, text, verdict)
        )
        if patterns.UNFINISHED.search(text) or (len(claims) == 1 and FINAL.search(text)):
            return claims
        if patterns.OTHER_VALUE.search(text):
            return NOTHING
        last = self._last(text)
        return last or claims if len(claims) == 1 else last or agreed(marked, self.marks, self.focus) or claims

    def _last(self, text: str) -> Claims:
        """The option of the last clause, or of one of several parallel clauses, that is about the question."""
        parts = (text, self.marks, self.focus, self.refusal)
        return concluded(*parts) or parallel(*parts)

    def _stated(self, marked: str) -> str:
        """Replace the marks that the reply does not state."""
        text = statements.without_hypotheses(marked)
        text = statements.without_denied(statements.without_tentative(text))
        text = statements.last_statement(text, no_retracts=not self.marks.uses_no)
        return stance.doubtful(text, self.focus.content)

    def _decided_by_rules(self, stated: str, text: str, verdict: str | verdicts.Verdict) -> Claims:
        """The options of the first rule that finds one; ``stated`` also has those that are called only possible."""
        rules: tuple[Callable[[str], Claims], ...] = (
            *(self.final, self.announced, self.affirmed, self.shares, self.restated, self.edges, self.named),
        )
        for rule in rules:
            if rule == self.affirmed and not isinstance(verdict, verdicts.Verdict):
                return frozenset({verdict})
            if rule == self.affirmed and verdict is verdicts.Verdict.UNDECIDED:
                return NOTHING
            if claims := rule(text):
                revoked = (
                    self._in_doubt(claims, text, rule)
                    or self._revokes_refusal(claims, text, rule)
                    or (claims == {self.refusal} and len(self.marks.claims(stated) - self.marks.claims(text)) == 1)
                    or self._contradicts(claims, text, rule)
                )
                return NOTHING if revoked else claims
            if rule == self.announced and patterns.UNDECIDED.search(text) and len(self.named(text)) > 1:
                return NOTHING
        return NOTHING

    def final(self, text: str) -> Claims:
        """The text after each mark of a final answer: a box, an <answer> tag, "Final answer:"."""
        places = [match.span() for match in FINAL.finditer(text)]
        ends = [start for start, _ in places[1:]] + [len(text)]
        return frozenset[str]().union(
            *(self._first(text[start:end]) for (_, start), end in zip(places, ends, strict=False))
        )

    def announced(self, text: str) -> Claims:
        """The text after announcements, from the last conclusion ("so", "I would choose") on."""
        claims, end = NOTHING, len(text)
        several = len(patterns.KEYED.findall(text)) > 1  # "Lane 3: red. Lane 4: blue." announces nothing
        for match in reversed(list(ANNOUNCED.finditer(text))):
            if several and not match[0]:
                continue
            found = self._first(text[match.end() : end])
            claims, end = claims | found, match.start()
            if found and match["conclusive"]:
                break
        return claims

    def affirmed(self, text: str) -> Claims:
        """Options that are called correct: "B is the best answer", "only B fits"."""
        return self.marks.claims(" ".join(match[0] for match in patterns.AFFIRMED.finditer(text)))

    def shares(self, text: str) -> Claims:
        """The option with the highest of several shares or probabilities: "Red: 30%, gold: 70%"."""
        values: dict[Claims, float] = {}
        for match in patterns.SHARE.finditer(text):
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
        remarks = {(match["sign"], match["mark"]) for match in patterns.REMARKS.finditer(text)}
        if len(remarks) > 1:
            return self.marks.claims("".join(mark for _, mark in remarks))
        first_line, _, rest = text.partition("\n")
        last_line = rest.rpartition("\n")[2]
        last = self.marks.claims(last_line) if patterns.LIST_ONLY.fullmatch(last_line) else NOTHING
        if patterns.LIST_ONLY.fullmatch(first_line):
            return self.marks.claims(first_line) | last
        labels = self.marks.claims(" ".join(match[0] for match in patterns.LINE_LABEL.finditer(text)))
        return self._start(text.lstrip(patterns.OPENING)) | labels | last

    def named(self, text: str) -> Claims:
        """All mentions. They are all collected, so that contradictions are detected."""
        relevant = self.focus.about_the_question(text, self._statements, Rule.EXPLAINED)
        claims = self.marks.claims(relevant)
        if self.marks.claims(self.focus.about_the_question(text, self._statements)) - claims:
            return NOTHING
        if self.marks.claims(text) - claims and not all(
            self.focus.anchored(relevant, mark) for mark in patterns.ANY_MARK.findall(relevant)
        ):
            return NOTHING
        if patterns.UNFINISHED.search(text) or (len(text) > patterns.LONG and text.endswith(",")):
            return NOTHING
        letters = [match for match in patterns.ANY_LETTER.finditer(text) if self.marks.claims(match[0]) == claims]
        if letters and all(self._names_a_thing(text[match.end() :][: patterns.LONG]) for match in letters):
            return NOTHING
        other = re.search(f"{TEXT}|{BOTH}", text) is not None
        cued = other or patterns.SHORT.fullmatch(text) is not None
        cued = cued or any(CUED.search(text[max(0, match.start() - 40) : match.start()]) for match in letters)
        return claims if cued or not letters else NOTHING

    def restated(self, text: str) -> Claims:
        """The option in statements that restate the question, unless the reply starts or goes on with another one."""
        start = self.edges(text)
        claims = self._restated(text)
        return NOTHING if len(start) == 1 and start != claims else claims

    def _restated(self, text: str) -> Claims:
        restated = self.focus.about_the_question(text, (), Rule.RESTATED)
        places = [match for match in patterns.ANY_MARK.finditer(restated) if re.match(TEXT, match[0])]
        claims = self.marks.claims("".join(match[0] for match in places))
        if len(claims) != 1 or not self.focus.analysed or ENGLISH.search(text) is None:
            return NOTHING
        rest = self.focus.about_the_question(text, self._statements)[places[-1].end() :]
        others = self.marks.claims(rest) | self.marks.claims("".join(patterns.TEXT_ONLY.findall(text)))
        return NOTHING if others & self.marks.offered - claims else claims

    def _names_a_thing(self, after: str) -> bool:
        """Whether a noun of the question follows a letter: "A barrier with an ad, B barrier without."."""
        match = patterns.NEXT_WORD.match(after)
        return match is not None and root(match[1]) in self.focus.words

    def _label_of(self, mark: str) -> str:
        return self.marks.in_order(mark)[0]

    def _label_named(self, text: str) -> str | None:
        claims = self.marks.whole(normalise(text)) & self.marks.offered
        return next(iter(claims)) if len(claims) == 1 else None

    def _offered(self) -> list[str]:
        return [label for label in self.marks.labels if label in self.marks.offered]

    def _first(self, segment: str) -> Claims:
        """The choice that starts a segment, or the mentions in its first sentence."""
        segment = segment.lstrip(patterns.OPENING)
        start = patterns.LIST.match(segment)
        if start:
            return self.marks.claims(start[0])
        return self.named(patterns.SENTENCE_END.split(segment, maxsplit=1)[0])

    def _start(self, text: str) -> Claims:
        start = patterns.LIST.match(text)
        if start is None:
            return NOTHING
        claims = self.marks.claims(start[0])
        if text[start.end() :].lstrip(")] ").startswith("?"):
            return NOTHING  # "A? No."
        if patterns.APPOSED.match(text, start.end()):
            return NOTHING
        only_text = re.search(f"{LETTER}|{BOTH}", start[0]) is None
        return NOTHING if only_text and not patterns.AFTER_A_TEXT.match(text, start.end()) else claims

    def _without_copies(self, text: str) -> str:
        """Remove lists of all options in the question's order."""
        offered = self._offered()

        def shorten(match: re.Match[str]) -> str:
            if self.marks.in_order(match[0])[: len(offered)] != offered:
                return match[0]
            end = [mark.end() for mark in patterns.ANY_MARK.finditer(match[0])][len(offered) - 1]
            return f"\u2026{match[0][end:]}"

        return patterns.COPY.sub(shorten, text)

    def _revokes_refusal(self, claims: Claims, text: str, rule: Callable[[str], Claims]) -> bool:
        """Whether the reply states another option after the refusal: "I can't help with it. It is an Audi."."""
        if self.refusal is None:
            return False
        if claims != {self.refusal}:
            refusals = [match.start() for match in patterns.ANY_MARK.finditer(text) if self._is_refusal_text(match[0])]
            place = 0 if rule != self.announced else self._decided(claims, text, rule)
            first = patterns.ANY_MARK.search(text)
            return rule != self.final and any(
                start >= place or (first and start == first.start()) for start in refusals
            )
        places = [match.end() for match in patterns.ANY_MARK.finditer(text) if self.marks.claims(match[0]) == claims]
        asserted = " ".join(match[0] for match in patterns.ASSERTED.finditer(text, max(places, default=len(text))))
        return bool(self.marks.claims(asserted) - claims)

    def _in_doubt(self, claims: Claims, text: str, rule: Callable[[str], Claims]) -> bool:
        """Whether the reply mentions an option after the chosen one without a clear stance."""
        if rule == self.final or self.marks.ambiguous:
            return False
        places = [match.end() for match in patterns.ANY_MARK.finditer(text) if self.marks.claims(match[0]) <= claims]
        doubted = stance.labels_in_doubt(text[places[-1] :] if places else text, self.marks)
        return bool(doubted if rule != self.edges else doubted & claims)

    def _contradicts(self, claims: Claims, text: str, rule: Callable[[str], Claims]) -> bool:
        """Whether the reply also states another option: "A. The chandelier is gold."."""
        if len(claims) != 1 or rule in (self.named, self.shares, self.restated):
            return False
        if rule == self.edges and self._restated(text) - claims:
            return True
        if self.marks.ambiguous:
            mentions = re.findall(rf"{MARK}(?:/{MARK})*", text)
            return rule != self.final and any(not claims & self.marks.claims(mention) for mention in mentions)
        place = self._decided(claims, text, rule)
        rest = text[place:]
        if rule in (self.edges, self.announced):
            bare = self.marks.claims(" ".join(patterns.BARE.findall(rest)))
            undecided = rule == self.announced and not any(found["conclusive"] for found in ANNOUNCED.finditer(text))
            if (bare | self.affirmed(text if undecided else rest)) - claims:
                return True
        if re.match(BOTH, text[place - 1]) or (re.match(TEXT, text[place - 1]) and not self.focus.describes):
            return False
        if rule == self.announced:
            rest = text[text.rfind("\n", 0, place) + 1 : place].rpartition(". ")[2] + rest
        if claims & self.marks.claims(re.sub(LETTER, "", rest)) or claims == {self.refusal}:
            return False
        return bool(
            self.marks.claims(self.focus.about_the_question(patterns.TEXT_ONLY.sub("", rest), self._statements))
        )

    def _decided(self, claims: Claims, text: str, rule: Callable[[str], Claims]) -> int:
        """The end of the mention that was decided on: the first for a start of the reply, otherwise the last."""
        places = [match.end() for match in patterns.ANY_MARK.finditer(text) if self.marks.claims(match[0]) <= claims]
        return places[0 if rule == self.edges else -1]

    def _is_refusal_text(self, mark: str) -> bool:
        return self.marks.claims(mark) == {self.refusal} and re.fullmatch(LETTER, mark) is None
