"""English words by their role in a clause, for `known_unknowns.scoring.robust.relevance`."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


AUXILIARIES = _set(
    """
    's am are be been being can could did do does had has have is may might must should was were will would
    """
)

VERBS = AUXILIARIES | _set(
    """
    appear appears becomes colored coloured contain contains covered displays features hang hangs hold holding holds
    lead leads lie lies look looks lying made painted reads remains said says seem seems seen show shown shows sit
    sits sitting stand standing stands turns visible wear wearing wears
    """
)
"""Auxiliaries, and verbs that end the subject of a clause."""

DETERMINERS = _set(
    """
    a all an any both each her his its my our some that the their these this those your
    """
)

PREPOSITIONS = _set(
    """
    about above across after against along among around as at before behind below beneath beside between by during
    for from in inside into like near next of off on onto opposite outside over than through to toward towards under
    underneath upon with within without
    """
)

RELATIVE = _set(
    """
    and because but if just n't not only or since so that when where which while who whom whose
    """
)
"""Words that start another clause."""

OTHER_FUNCTION = _set(
    """
    again also altogether apparently clearly definitely he here him however i indeed instead it itself least left
    less likely me meanwhile more most now overall probably quite rather right she them then there they though too
    total very we you down up
    """
)

PRONOUNS = _set(
    """
    it it's its one that's there's these's they they're this's
    """
)
"""Pronouns for a thing."""

DEMONSTRATIVES = _set(
    """
    that these this those
    """
)

PERSONS = _set(
    """
    he he's i she she's we you
    """
)
"""Pronouns for a person."""

PERSON_NOUNS = _set(
    """
    boy child girl guy human lady man person woman
    """
)

MALE = _set("boy brother father gentleman guy husband man son uncle")
FEMALE = _set("aunt daughter girl lady mother sister wife woman")

OTHER_SUBJECTS = _set(
    "artist author badge claim individual owner painter person player script sky statement text writing"
)
"""Stems of nouns that can stand for what a question asks, unless it names an object."""

PEOPLE = _set(
    """
    human individual people person
    """
)
"""Stems that "how many people" counts."""

ADJECTIVES = _set(
    """
    about actual adult approximately around beautiful beige big black blue bright brown certainly clear cute dark
    deep definitely different dull entire estimated exact exactly few fluffy furry golden gray green grey just large
    light likely little long main many maybe modern new nice old only orange pale perhaps pink plain possibly
    probably pure purple red roughly several shiny short silver single sleeping small solid tall total typical
    visible white whole wooden yellow young
    """
)
"""Adjectives and adverbs before a noun."""

GENERAL_NOUNS = _set(
    """
    age am amount answer appearance area attribute background bottom brand breed bunch case center choice color
    colour condition context corner count couple day emblem environment finish foreground front hand height hour hue
    image item kind left length location logo lot make material metal middle model name nature noon number object
    one option paint pattern photo picture pile place pm position right scene setting shade shape side size sort
    space species state style subject surface texture thing tint tone top total type view weather world year
    """
)
"""Stems of nouns that name no particular object."""

IMAGE_NOUNS = _set(
    """
    image name photo picture view
    """
)
"""General nouns that are not what a question about an attribute asks."""

ON = _set(
    """
    atop in inside on onto upon
    """
)
"""Prepositions that are used alike for a place."""

PLACING = _set("located placed positioned situated relative compared")
"""Words between a thing and its place."""
NO_PARTICIPLES = _set(
    """
    awning bedding breed building ceiling clothing evening morning painting railing speed spring string thing
    """
)
"""Nouns that end as a participle."""
PARTICIPLES = _set("built drawn driven given grown held hung kept made seen shown sold thrown woven worn written")
"""Participles that do not end in "ed"."""

QUALITIES = {
    "color": _set(
        """
        beige black blue brown gold golden gray green grey orange pink purple red silver turquoise white yellow
        """
    ),
    "age": _set("elderly new old older young younger"),
    "size": _set("big bigger large larger little long longer short shorter small smaller tall taller tiny"),
    "side": _set("back bottom center front left leftmost lower middle rear right rightmost top upper"),
    "order": _set("fifth first fourth last next other second third"),
    "material": _set("glass leather metal plastic stone wooden"),
}
"""Adjectives that tell a thing from another one. Two of the same kind exclude each other."""
MEASURES = _set("ago ahead apart away broad deep each earlier heavy high later long old tall thick wide")
"""Words after a measure: "200 years old"."""
NO_SUPERLATIVES = _set("chest contest east forest guest interest nest priest rest test vest west")

FUNCTION_WORDS = DETERMINERS | PREPOSITIONS | VERBS | RELATIVE | OTHER_FUNCTION
CLAUSE_WORDS = PREPOSITIONS | VERBS | RELATIVE
"""Words that end a noun phrase."""
