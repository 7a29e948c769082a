"""Patterns around labels and option texts, for `known_unknowns.scoring._marks`."""

from __future__ import annotations

import re

from known_unknowns.scoring._cleaning import ANSWER_MARK

A_IS_A_LETTER_BEFORE = (
    r"(?:[B-H](?![\w-])|is|was|isn't|because|since|as|seems|looks|appears|would|should|must|can|cannot|could|and|or|but|for|matches|fits|if"
    r"|at\sfirst|earlier|oder|und|noch|nor|ni|sondern|sino|aber|mais|pero|değil|maar|utan|tylko|ama|ma|mas|men|vaan|melainkan|mà|hanem|ci|né|nem|ani|eller|nicht|pas|plus|vs|versus|ou|et|o|y|e|I|ist|est|es|maybe|actually|rather|instead|also)(?!\w)"
)
NAMED_BY_A_LETTER = (
    r"\b(?i:vitamin|plan|figure|gate|route|class|grade|size|section|building|platform|terminal|hepatitis|team|"
    r"group|room|hotel|image|photo|picture|panel|box|point|exhibit|block|wing|row|column|seat|bus|line|lane|type|"
    r"zone|level|vitamine|model|serie|exit|track)s?(?:\s?:)?\s[A-Z](?![\w'])|\b(?i:with|has|shows?|reads?|says?|bears?|see|on)\s(?:a|the)\s(?:\w+\s)?letter\s[A-Z](?![\w'])|(?<![\w'])[A-Z]\sfor\s(?!(?:the|this|that|these|me|sure|example|certain|now|all|a|an|its|my)\b)[a-z]+(?=[.,!;]|\Z)|(?<![\w'])[A-Z]\s(?:is|was|as\sin)\s(?:for\b|(?:the|a)\s(?:\w+\s)?letter\b)|\b[Tt]he\s[A-Z]\s(?:in|on|of|at)\s(?:the|his|her|a)\b"
)
LETTER_MENTION = re.compile(
    rf"{NAMED_BY_A_LETTER}"
    r"|(?<![\w'&])(?<!\w\.)(?<![Nn]/)(?P<upper>(?!A (?!"
    + A_IS_A_LETTER_BEFORE
    + r")[a-zA-Z\u00c0-\u024f])(?!I(?![\w'])(?!\s?[)\]]))[A-Z])"
    r"(?![\w'])(?![-.&]\w|\+)"
    r"|(?<!\w)(?i:options?|choice|letter|opción|opcion|réponse|antwort|option)\s\(?(?P<cued>[A-Za-z])(?![\w'-])"
    r"|(?:^|\n)[\s(\[{#>•·-]{0,5}(?P<line>[A-Z])(?=[.)](?:[^\W\d_]{2}|\d))"
    r"|(?<!\w)'(?P<quoted>[A-Z])'(?!\w)"
    r"|[(\[](?P<bracketed>[A-Za-z])[)\]]"
    r"|(?:^|\n)[\s(\[{#>•·-]{0,5}(?P<first>[a-z])(?=\s?[.):\]]|\s?\Z|\n|(?<!a)\sis\b)"
    rf"|(?:{ANSWER_MARK}|(?i:\banswer(?:\sis|\swould\sbe)?)\s?[:;=-]?\s?|[,/&]\s?|(?<![^\W\d_]{{2}})\s(?i:or|and)\s)(?P<announced>[a-z])"
    r"(?=\s?[.)\]<]?\s*(?:\Z|\n|</answer>))"
)
AFTER_A_WORD = (
    r"(?=\s?[.,:;!?)\]}\u2013\u2014\u2026<-]|\s?\Z|\n|\s?/|\s(?:and|or|but)\s"
    r"|\s(?:it|there|this|that|i|he|she|they|we|you|the|because|since|as)\b)"
)
CLAUSE_START = re.compile(
    r"(?:\A|[.,:;!?\n=\u2013\u2014\u2026({>-]\s?|\b(?:so|therefore|thus|hence|is|are|it's|with|be|say|says|mean|meant|and|or|actually|not|also|but|nor|neither|either|than)\s|/)\(?\Z",
    re.IGNORECASE,
)
ONE_AS_PRONOUN = re.compile(r"\s(?:of|is|can|could|with|that|which|who|more|another|or)\b", re.IGNORECASE)
OF_THEM = re.compile(r"\sof\s(?:the|them|these|those|which|whom)\s\w", re.IGNORECASE)
BEFORE_PRONOUN = re.compile(
    r"\b(?:the|this|that|each|any|no|which|every|another|as)\s(?:only\s|[a-z]+\s)?\Z", re.IGNORECASE
)
LARGER = re.compile(r"(?:\s(?:and\s)?|-)(?:hundred|thousand|million)\b|\sand\sa\s(?:half|quarter)\b", re.IGNORECASE)
TENS_BEFORE = re.compile(
    r"\b(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)[\s-]\Z", re.IGNORECASE
)
NUMBERED = re.compile(
    r"\b(?:person|step|figure|view|part|page|row|line|image|option|choice|question|fig\.|no\.|nr\.)\s\Z", re.IGNORECASE
)
POSITION_AFTER = re.compile(
    r"\s(?:(?:listed|given|offered|possible|answer)\s)?(?:options?|choices?|alternatives?)\b", re.IGNORECASE
)
NAME_GOES_ON = re.compile(r"\s[A-Z][a-z]|-[A-Za-z]")
THERE_IS = re.compile(r"\bthere(?:'s|\sis|\sare)\s\Z", re.IGNORECASE)
FIRST_NAME = re.compile(r"(?:[.,;:!?]\s|\A)?(?<!\.\s)(?<!\A)\b(?!(?:The|That|This|By)\b)[A-Z][a-z]+\s\Z")
STEP = re.compile(r"(?:\A|\n)[#\s(-]*\Z")
COUNTING = re.compile(r"(?<![\w.,])1(?:,|\.{2,3})\s?2(?:(?:,|\.{2,3})\s?\d{1,2})+(?=[.:;!]?\s+\w)")
CHAT = re.compile(
    r"[\s,.:!;-]{1,3}(?:so[\s,]|let\sme\b|let's\b|here\b|that's\san?\s\w+\s(?:question|one)|good\squestion|please\b|thank|I(?:'d|\swould)\s(?:be\s(?:happy|glad)|love\sto)"
    r"|I(?:'ll|\scan|\swill|\scould|\sneed\sto)\s(?!(?:see|tell|say|confirm)\b)|I'm\s(?:happy|glad|ready))",
    re.IGNORECASE,
)
ADVERB = re.compile(
    r"\s(?:now|away|here|there|next\sto|behind|above|below|beside|under|out|over|off|with|in\sfront|on\stop|by\s(?:the|an?)"
    r"|(?:on|at|in)\s(?:the|an?)|to\s(?!(?:the|us|me)\b))",
    re.IGNORECASE,
)
NOUN_BEFORE = re.compile(
    r"(?:\A|[.:;!?,'\n(-]\s?|\b(?:the|its|his|her|my|your|far|say|answer|is|turn|turns|to|and)\s)\Z", re.IGNORECASE
)
