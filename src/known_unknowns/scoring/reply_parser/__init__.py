"""A short parser of replies to multiple-choice questions.

`parse_reply` reads a reply as an option, the offered refusal, an abstention, or nothing. `RULES` lists its rules in the
order in which they are tried, `words` has their phrases. bench/parser measures each rule on real replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_uppercase

from known_unknowns.reasoning_marks import final_text
from known_unknowns.records import ABSTAINED, ANSWERED, CUT, NOT_OFFERED, REFUSED, UNPARSED
from known_unknowns.scoring.reply_parser import words
from known_unknowns.scoring.reply_parser.options import FIRST_REMOVED, Options, meaning
from known_unknowns.scoring.reply_parser.reply import Reply
from known_unknowns.scoring.reply_parser.rules import RULES, WEAK
from known_unknowns.scoring.reply_parser.text import clean, forms


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What a reply gives as its answer.

    Parameters
    ----------
    outcome : str
        "answered"; "refused" (the offered refusal option); "abstained" (it says that it cannot tell, that no option is
        right, or declines); "unparsed"; or "cut" (the limit ended it before an answer).
    label : str, optional
        The option's label if the outcome is "answered" or "refused". `NOT_OFFERED` if the reply gives an option that
        was removed; the outcome is then "unparsed", or "abstained" if that option is a way to abstain.
    rule : str
        Name of the rule that decided, or "" if none did. It ends with ": several" if the rule found several options.
    kind : str, optional
        How the reply abstains: "cannot_tell", "none_of_options" or "declines".
    """

    outcome: str
    label: str | None = None
    rule: str = ""
    kind: str | None = None


def parse_reply(
    reply: str,
    options: Mapping[str, str] | Sequence[str],
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
    options : mapping of str to str, or sequence of str
        Labels and texts of the offered options. A sequence has the texts alone; their labels are A, B, C and so on.
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
        Whether the model's template opens its reasoning, so that the reply starts inside it.

    Returns
    -------
    ParsedReply
        The outcome, the label, and the rule that decided.

    Examples
    --------
    >>> parse_reply("The answer is (B), because it shines.", {"A": "Red", "B": "Gold"}).label
    'B'
    >>> parse_reply("It is gold.", ["Red", "Gold"]).label
    'B'
    """
    if isinstance(options, str):
        raise TypeError(f"options are a mapping or a list of texts, not the text {options!r}")
    if not isinstance(options, Mapping):
        if len(options) > len(ascii_uppercase):
            raise ValueError(f"{len(options)} options have no single letters; give a mapping of labels to texts")
        options = dict(zip(ascii_uppercase, options, strict=False))
    text = final_text(reply, opened=opened)
    unfinished = CUT if text.open or cut else UNPARSED
    offered = {forms(clean(content)) for content in options.values()}
    gone = {
        chr(ord(FIRST_REMOVED) + n): content
        for n, content in enumerate(removed)
        if forms(clean(content)) not in offered
    }
    known = _options((*options.items(), *gone.items()))
    parsed = Reply(clean(text.text), known, clean(question))
    rules = [rule for rule in RULES if unfinished != CUT or rule not in WEAK]
    labels, rule = next(((found, rule.__name__) for rule in rules if (found := rule(parsed))), (frozenset(), ""))
    if len(labels) != 1:
        return ParsedReply(unfinished, rule=f"{rule}: several" if rule else "")
    (label,) = labels
    if label in gone:
        kind = known.meanings[label]
        return ParsedReply(ABSTAINED if kind else UNPARSED, NOT_OFFERED, rule, kind)
    if label in options:
        return ParsedReply(REFUSED if label == refusal else ANSWERED, label, rule)
    means = [name for name, kind in known.meanings.items() if kind == label and name in options]
    if label == words.DECLINES and label not in map(meaning, parsed.sentences):
        means = [name for name in means if name != refusal]  # "Sorry, I can't help with it" means just that
    elif refusal is not None and (refusal_means == label or refusal in means):
        return ParsedReply(REFUSED, refusal, rule, label)
    if len(means) == 1:
        return ParsedReply(ANSWERED, means[0], rule, label)
    is_removed = any(known.meanings[name] == label for name in gone)
    return ParsedReply(ABSTAINED, NOT_OFFERED if is_removed else None, rule, label)


_options = lru_cache(maxsize=1024)(Options)
