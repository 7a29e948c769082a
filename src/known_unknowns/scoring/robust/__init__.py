"""The robust parser: tolerant of markup, reasoning, full sentences and several languages.

A reply is parsed in four steps. docs/parsers.md explains them with examples. Names in backquotes are modules of this
package.

1. **Clean** (`cleaning`): remove reasoning, markup and Unicode variants.
2. **Mark** (`marks`): replace every mention of an option's label or text by a mark.
3. **Remove** what the reply does not state: copies of the options, hypotheses, first thoughts, denied options,
   everything before a retraction, options that are called only possible (`statements`), and options that the reply does
   not stand behind (`stance`).
4. **Decide** (`rules`): the first of these rules that finds an option.

   1. The whole reply is a label or an option's text.
   2. The reply ends with a JSON object or a Python literal: the value of its answer's key.
   3. A final answer: a box, an <answer> tag, "Final answer:", a ticked box.
   4. An announced answer: "Answer:", "the answer is", "so D", "I would choose D". Announcements that differ are several
      answers, unless the last one is a conclusion ("so", "I would choose").
   5. A list of verdicts with one positive verdict (`verdicts`): "A: no, B: yes".
   6. An option that is called correct: "B is the best answer", "only B fits".
   7. The highest of several shares: "Red: 30%, gold: 70%".
   8. Sentences that restate the question (`alignment`): "There are three people on the bench."
   9. The start of the reply, labels at the start of other lines, and a last line that is only a choice.
   10. All mentions that are left, are said of what the question asks (`relevance`), and leave no word of their clause
       unexplained.
   11. The last sentence or main clause after mentions of other options (`conclusions`), one of several parallel clauses
       (`parallels`), and the only option of a reply that agrees with somebody. The first two also precede rules 4 to
       10.
   12. The sentences of a reply in headed sections (`reasoning`), each parsed alone, if they name the same option.

Before it is decided, remarks on options are rewritten as verdicts (`reasoning`), and words that mean the same as the
question's are replaced by them (`wording`).

The rule must find exactly one option; several are unparsed. Ambiguous cases are decided as follows:

- A label and a text that contradict each other ("A. None of the above" where A is "Red") are two options: unparsed. If
  the turn does not offer the label, only the text counts. The text of an option that the variant removed contradicts
  a label as well (`removed_options`).
- The article "a" and the pronoun "I" are not labels.
- The refusal option counts by its label, its text and spelling variants of its text. A refusal in other words ("I don't
  know") is not the refusal option, because the prompt asks for one of the options. A refusal beside another stated
  option is unparsed.
- A letter that the turn does not offer is recorded as the label, and the outcome is unparsed. Letters after H are
  ignored unless they are offered.
"""

from __future__ import annotations

from known_unknowns.benchmark.parsed_answer import ParsedAnswer, offered_options, parse_label
from known_unknowns.records import UNPARSED, AnsweredTurn, Question
from known_unknowns.scoring.robust.removed_options import contradicts_removed

_AROUND_A_LETTER = " \n.:;()*"


def robust(turn: AnsweredTurn, question: Question) -> ParsedAnswer:
    """Parse a reply by the rules in the module's docstring, in time linear in its length.

    Parameters
    ----------
    turn : AnsweredTurn
        A turn whose reply did not fail.
    question : Question
        The turn's question.

    Returns
    -------
    ParsedAnswer
        Unparsed unless exactly one offered option is found.
    """
    label = turn.reply.text.strip(_AROUND_A_LETTER)
    if len(label) == 1 and label.isupper() and label in (question.labels if turn.labels is None else turn.labels):
        return parse_label(label, question)  # most replies; nothing else could be found in them
    from known_unknowns.scoring.robust.marks import marks_of  # compiles many patterns, which most processes do not need
    from known_unknowns.scoring.robust.rules import ReplyParser

    options = offered_options(turn, question)
    marks = marks_of(options)
    refusal = None if question.refusal is None else question.options[question.refusal].label
    claims = ReplyParser(marks, refusal, question.text).parse(turn.reply.text)
    if len(claims) != 1:
        return ParsedAnswer(UNPARSED)
    (label,) = claims
    if label not in marks.offered:
        return ParsedAnswer(UNPARSED, label)
    if question.removed and contradicts_removed(turn, question, label):
        return ParsedAnswer(UNPARSED)
    return parse_label(label, question)
