"""Patterns of clauses in which an option's text is said of something else; see `relevance`."""

from __future__ import annotations

import re

from known_unknowns.scoring.robust import lexicon
from known_unknowns.scoring.robust.marks import TEXT

ATTRIBUTE = r"(?:colou?r|state|condition|shape|material|size|pattern|number|age|texture|length|height|weather)s?"
COUNTED = re.compile(r"\bhow\smany\s(?P<object>.+)|\bnumber\sof\s(?P<objects>.+)", re.IGNORECASE)
DESCRIBED = re.compile(
    rf"\b(?:what|which)(?:\s(?:kind|type|sort|shade)\sof|\s\w+)?\s{ATTRIBUTE}\s(?:is|are|was|were|does|do|did|has|have)\s"
    r"(?!(?:written|printed|shown|displayed|depicted|painted|visible|seen|on|in)\b)(?P<object>.+)"
    rf"|\b(?:what|which)\s(?:is|are)\s(?:the\s)?{ATTRIBUTE}\sof\s(?P<objects>.+)"
    r"|\bhow\s(?:old|tall|big|large|long|high|heavy)\s(?:is|are|was|were)\s(?P<sized>.+)",
    re.IGNORECASE,
)
LOCATED = re.compile(
    r"\bwhere\s(?:is|are|was|were)\s(?P<object>.+)|\b(?:relation(?:ship)?|position|location)\sof\s(?P<objects>.+)",
    re.IGNORECASE,
)

ACCORDING = re.compile(
    r",?\s(?:according\sto|based\son|judging\s(?:by|from)|as\sshown\s(?:in|on|by))\s.*\Z", re.IGNORECASE
)
"""The source that a question ends with: "according to the chart"."""
REFERENCE = re.compile(r"\b(?:relation|relative|compared|respect)\sto\s(the\s[a-z]+(?:\s[a-z]+)?)\Z")

SIDES = {side: side for side in ("left", "right", "top", "bottom", "middle")}
SIDES |= {"upper": "top", "lower": "bottom", "center": "middle", "centre": "middle"}

REPRESENTED = re.compile(
    r"\b(?:picture|image|photo|photograph|painting|drawing|statue|sculpture|poster|print|sign|word|pattern|smell|sound"
    r"|shadow|part|kind|cover|opposite|contrary|reverse|label|text|color|colour|name|friend|student|pupil|teacher|follower|fan|rival|style)s?\s(?:of|with|saying|showing|for|about)\s(?:an?\s|the\s)?\Z",
    re.IGNORECASE,
)
ASIDE = re.compile(
    r"\b(?:next\sto|near|beside|besides|close\sto|adjacent\sto|leads\sto|leading\sto|opposite|across\sfrom|above|below|behind|under"
    r"|similar\sto|unlike|(?:bigger|smaller|larger|thinner|thicker|taller|darker|lighter|older|younger|brighter|shorter|longer|wider|less|more)(?:\s\w+)?\sthan|before|after|not\sfar\sfrom"
    r"|in\sfront\sof|away\sfrom|(?<!filled\s)with|without|(?:left|right)\sof|between\s[\w.]+\sand|(?<!made\s)(?<!constructed\s)(?<!comes\s)(?<!coming\s)(?<!color\s)from|between|owned\sby|(?<!looks\s)(?<!look\s)(?<!appears\s)(?<!seems\s)(?<!something\s)(?<!be\s)like|compared\s(?:to|with)|as\s\w+\sas)\s(?:(?:an?|the|some)\s(?:[a-z]+\s)?)?\Z",
    re.IGNORECASE,
)
ASIDE_IN_A_QUESTION = re.compile(
    r"\b(?:with|than|between|like|from|before|after|leads?)\b|\b(?:to|near|beside|from|above|below|behind|under|opposite|of)\Z",
    re.IGNORECASE,
)
IS_A = re.compile(r"(?<!there)(?:\s(?:is|are|was|were|be|like|called)|'s)\s(?:an?\s|the\s)?\Z", re.IGNORECASE)
COMPOUND = re.compile(
    r"\s(?!(?:is|are|was|were|can|has|on|in|at)\b)[a-z]+\s(?:is|are|was|were|can|has|stands|lies|hangs|sits)\b(?!\s(?:right|correct|the)\b)"
)
ONE_NOUN = re.compile(rf"{TEXT}\s([a-z]{{3,}})[.!]?")
"""A reply that is an option's text and another word: "A violin case."."""
AS_A_NOUN = re.compile(r"\W*an?\s", re.IGNORECASE)
VERB_FOLLOWS = re.compile(rf"\s(?:{'|'.join(sorted(lexicon.VERBS - {chr(39) + 's'}))})\b")
"""An attribute's word as the subject of a clause: "An orange lies on the table"."""
LAST_WORD = re.compile(r"\s[a-z]+[.!]?")
LIST_GAP = re.compile(
    r"(?:,?\s?(?:and|or|and/or|as\swell\sas|plus)\s|,\s|\s?/\s?)(?:an?\s|the\s|also\s)?", re.IGNORECASE
)
VERB_PHRASE = re.compile(
    r"\s(?:(?:is|are|was|were|has|have|had|can|[a-z]+s)\b|(?:bought|came|got|sold|took|went|won|[a-z]+ed)\s(?:(?:the|an?|this|his|her|its)\b|[A-Z]))"
    r"(?!\s?(?:visible|present|shown|seen|there|the\s(?:answer|one|correct|right)|correct|right)\b)"
)
PREPOSITION = re.compile(
    r"\b(" + "|".join(sorted(lexicon.PREPOSITIONS)) + r")\s(?:(?:an?|the|his|her|its|their)\s)?(?:[a-z]+\s)?\Z",
    re.IGNORECASE,
)
PERSON_BEFORE = re.compile(r"\b(man|woman|boy|girl|person|child|lady|guy|people|men|women|children)\s\Z", re.IGNORECASE)
AFTER_A_NOUN = (
    r"(?:of|in|on|at|with|and|or|next|near|because|which|that|is|are|to|by|from|as|for|here|there|but|while|although"
    r"|was|can)"
)
NOUN_FOLLOWS = rf"(?=\s(?!{AFTER_A_NOUN}\b|\w+ing\b)[a-z])"
ATTRIBUTIVE = re.compile(
    rf"\b(?:with|wearing|in|near|below|above|under|behind|beside|holding)\s(?:(?:an?|the|his|her|their)\s)?{TEXT}"
    rf"{NOUN_FOLLOWS}(?:[^.!?\n]{{0,80}}?\band\s(?:an?|the)\s{TEXT}{NOUN_FOLLOWS})?",
    re.IGNORECASE,
)
"""A text that describes another noun, in the reply to a question that is not analysed."""
IT_IS = re.compile(
    r"(?:\A\W*|\b(?:that|and|but|so|because|as|since|think|believe|say|guess|sure|know|see)\s)"
    r"(?:it|this|that)(?:'s|\s(?:is|was|looks|seems|appears)(?:\slike|\sto\sbe)?)\s(?:an?\s|the\s)?\Z"
    r"|\b(?:suggests?|indicates?|confirms?|corresponds\sto)\s(?:an?\s|the\s)?\Z",
    re.IGNORECASE,
)
PARTLY = re.compile(
    r"[^.!?]{0,60}[,;(\u2013\u2014]\s?(?:but\s|and\s)?(?:\w+\s){0,2}of\s(?:which|whom|them|these|those)\b",
    re.IGNORECASE,
)
"""What follows a number of which only a part is meant: "10 candles, some of which have gone out"."""
FIRST_NAME = re.compile(
    r"(?:\A|(?<=\s))(?!(?:The|An?|In|On|At|It|Its|This|That|My|His|Her|By|Is|No|Not|And|But|So)\s)(?:[A-Z][a-z.]+\s){1,2}\Z"
)
WITHOUT = re.compile(r"\bwithout\s(?:an?\s|the\s|any\s)?(\w+)", re.IGNORECASE)
SIDE_OF = re.compile(r"\sof\s(?:it|him|her|them)\b")
FAR_AWAY = re.compile(r"\s(?:in|at)\sthe\s(?:far\s)?(?:background|distance|back)\b", re.IGNORECASE)
PASSIVE = re.compile(
    r"\b(?!(?:made|created|composed|directed|written|authored|penned|produced|manufactured|built|owned|operated|occupied|designed|developed)\s)(\w+ed|taken|drawn|written|shot|led|driven)"
    r"\sby\s(?:an?\s|the\s)?\Z",
    re.IGNORECASE,
)
PREDICATE = re.compile(
    r"\b(?:is|are|was|were)\s(?:\w+ly\s)?(?:called\s|an?\s|the\s)?(?P<noun>(?:[\w'-]+\s){0,3}[\w'-]+),?\Z"
)
"""The end of a clause that says what a thing is: "The building is the Hungarian Parliament"."""
ACTIVITY = re.compile(r"\b(?:doing|activity|activities|action|motion)\b", re.IGNORECASE)
PROGRESSIVE = re.compile(r"\b(?:is|are|was|were|be)(?:\s\w+ly)?\s\Z", re.IGNORECASE)
OBJECT = re.compile(r"\A\s(?!and\b|or\b)[a-z]+(?=\s?(?:[.,;!?]|\Z))")
"""The object of an activity: "eating pizza"."""
NOUN_AFTER = re.compile(r"\s(?!\w+(?:ed|en)\b)([a-z]+)(?=[.,!?]|\Z)")
"""A noun that a text describes: "It's a dog house."."""
ONLY_NAMED = re.compile(
    r"\s(?:is|was|are|were|seems|being)\s(?:also\s)?(?:listed|given|offered|mentioned|included|among|provided|one\sof\sthe)\b"
    r"|\s(?:is|was|are)\s(?:my|our|your)\b"
    r"|[-\s](?P<kind>toy|statue|sculpture|figurine|painting|poster|print|sticker|pattern|shaped|themed|costume|plush|like)s?\b",
    re.IGNORECASE,
)
