"""English words that a statement may hold beside those of the question; see `alignment`."""

from __future__ import annotations

from known_unknowns.scoring.robust import lexicon
from known_unknowns.scoring.robust.stems import root


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


QUESTION_WORDS = _set("what which who whom whose how many much where when why image picture photo photograph")
PLACES = _set(
    """
    where when country city town place room season year month day date time platform floor part side direction state
    region language continent century decade location position position street
    """
)
"""Words of questions whose answer can follow a preposition."""
HEDGES = _set(
    """
    about actually all also altogether apparently appears approximately around certainly clearly definitely
    evidently exactly fact
    here indeed itself herself himself themselves just likely maybe most mostly now obviously only overall perhaps
    possibly probably quite really roughly simply so surely then therefore thus total truly undoubtedly very visibly
    well
    """
)
LINKING = _set(
    """
    belong busy engaged belonged belonging belongs build built called contains costs cost depicted described depicts
    designed developed displayed drawn facing filled full going gives goes guess heading held identified know known
    labeled
    labelled
    leaning leads located make makes manufactured marked mean meaning means measures meant meet named names needs
    need number numbers occupied owned painted
    placed plays playing pointing points positioned printed produced read represents rides running says seated set
    showing shown situated spells stays suggests taken take takes there titled totals used uses used weighs wrote
        written created composed directed founded invented consist consists get gets got receives remain remains
    stay stays stayed remained carry carries carrying sit sits sitting stand stands standing lie lies
    lying hang hangs hanging rest rests resting keep keeps strapped attached
    tied fixed mounted fastened parked
    """
)
"""Verbs that only tie the option to what the question asks."""
EVIDENCE = _set(
    """
    characteristic consistent indicate indicates indicating point points resemble resembles suggest suggesting
    suggests typical confirm confirms confirming imply implies
    """
)
"""Words between a reason and the option for which it speaks."""
ACTIONS = frozenset(map(root, _set("play wear hold carry ride drive eat drink read write build give lead throw")))
"""Roots of verbs of persons and animals. Most are also in other lists, because they tie an option to a question."""
OF_A_SUBJECT = frozenset(
    map(root, _set("hang lie sit stand rest lean appear seem look remain fit match work win belong count"))
)
"""Roots of verbs that an answer can be the subject of, whatever the question's verb is."""
ANY_ACTIONS = frozenset(map(root, _set("do doing have use using make made happening")))
SEEN = frozenset(map(root, _set("visible seen see count shown depicted present")))
"""Roots of words of a question that do not restrict what is counted."""
FREE = _set("of like as by from into")
VERB_PREPOSITIONS = _set("of by in at on to with from like as for")
NAMING = _set("for of on labeled labelled marked named called")
"""Words between a noun and the option that names it: "the bar for Friday is the tallest"."""
CONTRASTING = _set(
    """
    adjacent another different else former identical latter nearby neighboring neighbouring next opposite
    other others previous same second similar third
    """
)
NEUTRAL_NOUNS = lexicon.GENERAL_NOUNS - _set("bunch case corner emblem environment head pile weather world") | _set(
    "digit group letter pair piece portion setting slice word"
)
NEUTRAL = (
    HEDGES
    | lexicon.DETERMINERS
    | lexicon.AUXILIARIES
    | lexicon.PRONOUNS
    | _set(
        """
                there here i we you he she they what what's that's he's she's there's i'd i'm i'll i've he'd he'll
        she'd she'll it'd it'll they'd they'll they've we're we've
        we'd we'll you're you've you'd you'll who's where's here's having sure certain
        confident ask asked asking mentioned
        """
    )
)
"""Words that say nothing about anything."""
