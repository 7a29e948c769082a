"""Remove what a marked reply does not state: denied, retracted, tentative and hypothetical options.

All functions take and return text with the marks of `marks`, in time linear in its length.
"""

from __future__ import annotations

import re

from known_unknowns.scoring.robust import stance
from known_unknowns.scoring.robust.marks import MARK

_DENIED = "\ue0fe"
"""Replaces a mark that the reply denies."""

AND_OR = (
    r"(?:and/or|and|or|nor|und|oder|noch|et|ou|ni|né|nem|ani|eller|atau|y|o|u|e)(?!\w)|和|或者|或|与|及|、|か|と|または"
)
_ITEM = (
    rf"(?:(?:having|with)\s)?(?:(?:the|an?|options?|choices?|answers?|letters?|either|both)\s)?"
    rf"['(\[]?(?:{MARK}|{_DENIED})[)\]']?"
)
_LIST = rf"{_ITEM}(?:\s?(?:,\s?(?:{AND_OR})?|/|{AND_OR}|as\swell\sas|from\s)\s?{_ITEM})*"

_DENIAL = (
    r"(?:\b(?:not|at\s(?:most|least)|up\sto|less|disagree|almost(?!\s(?:certainly|surely|definitely|always))|nearly|no\slonger|used\sto|(?:ceases?|ceased|stopped|stops)|hardly|scarcely|never|without|neither|nor|cannot|than|except|excluding|instead\sof|rul(?:es|e|ed|ing)\sout"
    r"|eliminat(?:es|ed|e|ing)|exclud(?:es|ed|e)|reject(?:s|ed|ing)?|(?:cross(?:ed|ing)?|strike|striking|struck)\sout|dismiss(?:es|ed|ing)|discard(?:s|ed|ing)|no\s(?:\w+\s){1,5}?(?:such\sas|like|including)|rather\sthan\s(?:[\w-]+,?\s){1,6}?or|would\sbe\s(?:indicative\sof|required\sfor|needed\sfor)|(?:no|without)\s(?:[\w-]+,?\s){1,4}?or|not\s(?:\w+\s){0,7}?any\s(?:\w+\s){0,3}?(?:such\sas|like|including)|no|nothing|none\sof|unlike|lacks?|lacking|(?:anything|everything|all)\sbut|far\sfrom|as\sopposed\sto|contrary\sto|retract|withdraw|refus(?:es?|ed|ing)|declin(?:es?|ed|ing)|take\sback|(?:et|e|y)\snon?|(?:wrong|incorrect|false|bad|impossible|eliminated|rejected|excluded)\s(?:answers?|options?|choices?)"
    r"|(?:wrong|false|incorrect)\sto|(?:so|neither|nor)\s(?:can|must|should)|(?<=[\ue000-\ue0bf]\s)(?:over|beats|wins\sover)|(?<=prefer\s[\ue000-\ue0bf]\s)to|(?<=[\ue000-\ue0bf]\s)als|чем|plutôt\sque|piuttosto\sche|más\sbien\sque|so\swould(?:\schoosing)?)\b|n't\b"
    r"|\b(?:wrong|false|incorrect|eliminated|excluded|rejected|discarded|considered|impossible|not)(?:\s(?:answers?|options?|choices?))?\s?:"
    r"|\b(?:nicht|non|kein|keine|keinen|keiner|weder|statt|anstatt|pas|ni|au\slieu\sde|ne\s\w+\spas|en\slugar\sde|en\svez\sde|no\ses|nunca|"
    r"não|non\sè|не|ни|нет|niet|geen|inte|ikke"
    r"|nie|nem|né|ani|varken|hverken|không\sphải|ei|bukan|nici|nu|δεν\sείναι|όχι)\b"
    r"|不(?:会|可能)?(?:是|选|属于)|不为|并非|而非|没有|排除|除了)"
)
_FILLER = (
    r"(?:\w+ing|\w+ed|what|you|you'd|one|possibly|quite|being|need|needs|necessary|wanted|want|going|correct|right|have|has|had|for|should|claim|argue|conclude|correspond|match|matches|described|as|my|think|thinks|I|we|can|could|would|will|tell|know|guess|call|if|whether|say|believe|answer|choose|pick|select|see|that|it|it's|this|there|he|she|they|is|are|was|be|been|being|really"
    r"|necessarily|any|in|on|at|of|to|by|with|a|an|the|option|either|both|just|only|actually|looks|look|seem|seems|like|é|è|eine?[nr]?|der|die|das"
    r"|le|la|les|l'|un|une|el|los|simply|show|shows|have|has|visible)"
)
_VERB = r"(?:(?:(?<=n't)|(?<=\bnot))\s(?!(?:but|because|since|so|and|sure|clear|certain)\b)[a-z]+)?"
"""The verb that is denied, whatever it is: "does not contain"."""
_SINGULAR = r"is|was|does|seems|looks|ist|est|es"
_VERDICT = (
    r"(?:not\b|n't\b|(?:the\s|an?\s)?(?:all\s|both\s|clearly\s|definitely\s|obviously\s|also\s|certainly\s)?(?:wrong|incorrect|false|unlikely|impossible|out"
    r"|absent|inconsistent|incompatible|implausible|unsupported|unsuitable|inapplicable|ruled\sout|excluded|eliminated|inaccurate|invalid|misleading|irrelevant|untrue|a\strap|a\sdecoy|a\sdistractor|falsch|nicht|ausgeschlossen|fausse?|incorrecte?|pas"
    r"|incorrect[ao]|fals[ao])\b)"
)
_DENIAL_AFTER = (
    rf"(?:\s(?:(?P<one>{_SINGULAR})|are|were|do|can|could|would|should|seem|look|sind|sont|son)\s?{_VERDICT}"
    r"|\s(?:can't|cannot|can\sbe\s(?:ruled\sout|excluded|eliminated|dismissed|discarded)|n'est\spas|no\ses)"
    r"|\swould\sbe\s(?:the\s|an?\s)?(?:wrong|incorrect|false)\b"
    r"|\sless\s(?:likely|probable|plausible)\b|\sused\sto\b|\sno\slonger\b|\s(?:is|are|was|were|has\sbeen|have\sbeen)\s(?:missing|gone|removed|taken\saway|nowhere)\b|\sfails(?=\s?[.,;]|\Z)|\swould\s(?:only|just|merely|simply)\s[a-z]+|\swould\s(?:have|be|need|require|take|show|look)\b(?!\s(?:my|the|best|correct)\b)"
    r"|\s(?:has|have|needs?|is|are|must|should)\s(?:to\s)?be\s(?:excluded|ruled\sout|eliminated|rejected|dismissed|discarded)\b"
    rf"|,\swhich\s(?:is|was|would\sbe|seems)\s{_VERDICT}|\?\s(?:(?:definitely|certainly|absolutely|surely|of\scourse|probably)\s)?(?:not|no|nope|never)(?=[.!]|\Z)"
    r"|\s?\((?:crossed\sout|struck\sout|wrong|incorrect|false|no|not\s(?:correct|right|possible|visible|this)|falsch)\)"
    r"|[ ]?[❌✗✘✖]"
    r"|(?<=[)\]])\s(?:no|false|wrong|incorrect)\b"
    r"|\s?[:=|-]\s?(?:no|false|wrong|incorrect|unlikely|impossible|excluded|eliminated|not\s\w+|✗|❌|✘|×)(?!\w)"
    r"|\sdeğil\b|\s?[가이는은]?\s?아[니닙닌]"
    r"|\s?(?:ではな|でもな|じゃな|でな|ではあり|[都均皆]?(?:是错|不对|错误|不正确|不符合|不是|不正确)))"
)
_DENIABLE = re.compile(
    rf"(?P<before>{_DENIAL}{_VERB}(?:\s{_FILLER}){{0,7}}\s?)?(?P<list>{_LIST})(?P<after>{_DENIAL_AFTER})?(?(after)(?P<other>\s{_ITEM})?)",
    re.IGNORECASE,
)  # matches every list of marks: matching only denied ones would scan long lists repeatedly
_MARK = re.compile(MARK)
_ANY_MARK = re.compile(rf"{MARK}|{_DENIED}")
_INSTEAD = re.compile(
    r"(?:instead\sof|rather\sthan|as\sopposed\sto|contrary\sto|unlike|statt|anstatt|au\slieu\sde|en\slugar\sde|en\svez\sde)\b",
    re.IGNORECASE,
)
_AND_OR = re.compile(rf"(?<!\w)(?:{AND_OR})", re.IGNORECASE)
_OR = re.compile(r"\b(?:or|nor)\b", re.IGNORECASE)
_IS_ONLY = re.compile(r"not\s(?:just|only)\b|no\s(?:doubt|question)|cannot\s(?:but|help)", re.IGNORECASE)

_POSSIBLE = re.compile(
    r"(?P<before>\b(?:could|may|might)\s(?:also\s|either\s|possibly\s|well\s)?(?:be|look\slike|seem|appear)\s(?:to\sbe\s)?)?"
    rf"{_LIST}"
    r"(?P<after>\s(?:is|are|seems?|looks|would\sbe|could\sbe|might\sbe|may\sbe)\s(?:also\s|all\s|still\s|both\s|equally\s"
    r"|somewhat\s){0,2}(?:possible|plausible|tempting|obvious|conceivable|an?\soption|close)|\s(?:seems?|looks?|appears?)\s(?:to\sbe\s)?(?:right|correct|good|fine))?",
    re.IGNORECASE,
)  # matches every list of marks, as _DENIABLE does

_TIE = re.compile(
    rf"{MARK}[)\]]?\s(?:is|are|would\sbe|seems?|looks?|fits|works)\s(?:just\sas|equally|every\sbit\sas|as)\s"
    r"(?:good|valid|plausible|likely|correct|right|well)\b",
    re.IGNORECASE,
)
_STATE = r"(?:say|answer|choose|pick|select|reply|respond|write|claim|think|go|argue|guess)"
_TENTATIVE = re.compile(
    rf"\b(?:(?:(?:I|one|you|we|(?:the|an?|another|some|other)\s\w+|people|others|someone)\s(?:could|might|may)(?:\s(?:also|easily|have))?|tempted\sto|inclined\sto|(?:about|going)\sto|wanted\sto"
    rf"|need\sto|have\sto|(?:the|an?|another|some|other)\s(?!correct|right|best)\w+\swould|(?:people|others|someone|many)\swould|one\swould)\s{_STATE}(?=[^.!?;\n]{{0,200}}(?:[,:]\s?(?:but|however|yet|though)|[.;:])\s)|"
    r"no\s(?:need|reason)\s(?:for|to)(?=[^.!?;\n]{0,200}[.:;,])|(?:first|initially|originally|earlier|previously)\s(?:thought|believed|said|wanted|guessed|picked|chose|assumed|considered|looked)"
    r"|I\s(?:initially|originally|previously|almost\s(?:said|chose|picked))|initially\sI|at\sfirst|I\s(?:had\s)?(?:thought|believed|assumed)\b(?!\sso)|(?:would|'d)\s(?:love|like|have\sliked)\sto\ssay"
    r"|would\shave\s(?:said|chosen|guessed|picked)|my\s(?:first|initial|previous|earlier|former|original)\s(?:answer|guess|impression|thought|choice)"
    rf"|I\s(?:said|wrote|answered|picked|chose)(?=\s[^.;\n]{{0,40}}\b(?:but|however|earlier)\b)|(?:initially|originally|at\sfirst),?\s(?=[(\[]?{MARK}[^.;\n]{{0,40}}\b(?:but|finally|now|later)\b)"
    r"|said\s.{0,20}\searlier|dachte\s(?:zuerst|erst|ich)|zuerst\s(?:dachte|hielt)|d'abord\spens|pensais|je\scroyais"
    r"|primero\spens|pens(?:é|aba)\s(?:primero|que|en)|al\sprincipio)"
    r"|本来|原先|一开始|起初|最初|原本以为|最初は",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"[.;:!?\n。；！？]|\b(?:but|however|yet|though|aber|mais|pero|jedoch|finally|later|in\sreality|in\struth|looking|now|sondern)\b|但|不过|其实|しかし|が、",
    re.IGNORECASE,
)
_HYPOTHETICAL = re.compile(
    r"(?:(?<=[.!?\n]\s)|(?<=\n)|\A|(?<=,\s))if\s(?:it|the|this|that|there|they|these|we|you(?!\s(?:look|zoom|see|count|examine|check|ask|pay)))\b[^.!?\n]{0,300}?(?=,?\s(?:but|however)\s|[.!?\n]|\Z)",
    re.IGNORECASE,
)
_DEPENDS = re.compile(
    rf"{MARK}[)\]]?\sif\s(?:it|the|this|that|he|she|they|there)\b|\b(?:otherwise|unless(?!\s(?:I|my|we|our)\s)|if\s(?:not|you\sdon't|it\sdoesn't|it\sisn't)(?=[,:])|depends|depending|in\scase|provided\sthat)\b"
    r"|\A\s?(?:suppose|supposing|imagine|should\s(?:it|the|this|that|they))\b",
    re.IGNORECASE,
)
_IF_SO = re.compile(
    rf"(?:(?<=[.!?;]\s)|(?<=\n)|\A)if\s(?:\w+\s){{0,4}}{MARK}(?:[,:]?\s(?:then\s)?[(\[]?{MARK}[)\]]?)?(?=\s?[.;,\n]|\Z)",
    re.IGNORECASE,
)
"""A condition with its answer: "If white, B."."""
_DATE = re.compile(
    rf"(?P<day>\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\s\d{{1,2}}(?:st|nd|rd|th)?),\s(?={MARK})",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!?])\s|\n")
_CONCESSION_FIRST = re.compile(
    r"(?:(?<=[.!?\n]\s)|(?<=\n)|\A)(?:while|although|though)\s[^.;,\n]{0,120}(?=,\s)", re.IGNORECASE
)
_CONCESSIVE = re.compile(
    r"(?:(?<=[.;!?\n]\s)|(?<=\n)|\A)while\s[^.;,\n]{0,80}(?=[.;,\n]|\Z)"
    r"|\b(?:although|though|even\sif|even\sthough)\s[^.;,\n]{0,80}(?=[.;,\n]|\Z)",
    re.IGNORECASE,
)
_EXCEPT = re.compile(
    r"\b(?:everything|all|every|any|each)(?:\s(?:of\s)?(?:the\s)?(?:other\s)?(?:options?|choices?|answers?|ones?))?\s(?:except|but|besides|other\sthan"
    rf"|apart\sfrom)\s(?:for\s)?(?P<list>{_LIST})\s(?:is|are|was|were|(?:can|could|must|should)\sbe)\s(?:clearly\s|all\s)?"
    r"(?:wrong|incorrect|false|out|impossible|unlikely|excluded|eliminated|rejected|dismissed|discarded|ruled\sout)\b",
    re.IGNORECASE,
)
_EXCEPT_FIRST = re.compile(
    rf"\bexcept\s(?:for\s)?(?P<list>{_LIST}),\s(?:all|every|each)[^.;\n]{{0,40}}(?:wrong|incorrect|false|excluded|eliminated|ruled\sout)\b",
    re.IGNORECASE,
)
_ALL_BUT = re.compile(
    r"\b(?:rul(?:e|es|ed|ing)\sout|exclud(?:e|es|ed|ing)|eliminat(?:e|es|ed|ing)|reject(?:s|ed|ing)?|dismiss(?:es|ed|ing)?|discard(?:s|ed|ing)?)\s(?:everything|all|every|any)"
    rf"(?:\s\w+){{0,3}}?\s(?:but|except|besides|other\sthan|apart\sfrom)\s(?:for\s)?(?P<list>{_LIST})",
    re.IGNORECASE,
)
_DENIED_CLAUSE = re.compile(
    r"\b(?:(?:nobody|no\sone)\s(?:would|could|can|will)|I\s(?:strongly\s)?doubt|it(?:'s|\sis)\s(?:not\strue|untrue|false|wrong|incorrect|impossible|unlikely|doubtful)"
    r"\s(?:that|to\s\w+)|there\sis\sno\s(?:evidence|sign|indication|way)|I\s(?:do\snot|don't|cannot|can't)\s(?:think|believe|say|confirm|claim|see)\sthat)\b"
    r"[^.;:!?\n]{0,120}?(?=[.;:!?\n]|,|\b(?:but|since|because|so)\b|\Z)",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"\b(?:there(?:'s|\s(?:is|are|was|were|(?:appears?|seems?)\sto\sbe))\sno\s(?!doubt|question|other|need|reason|\w+\sdoubt)"
    r"|(?:does|do|did)(?:\snot|n't)\s(?:\w+ly\s)?(?:show|depict|contain|include|have|display|feature|reveal)\s)[^.,;:!?\n]{1,120}"
    r"(?:,\s[^.,;:!?\n]{1,60}){0,6}?,?\s(?:or|nor)\s[^.,;:!?\n]{1,60}",
    re.IGNORECASE,
)
"""A list of what is not there: "there is no dog on the stairs, the pavement, or next to the wall"."""
_NEGATED_LIST = re.compile(
    rf"{MARK}(?:(?:,[ ](?:(?:{AND_OR})[ ])?|[ ](?:{AND_OR})[ ]){MARK}){{1,6}}(?:[ ][a-z]+){{1,5}}?"
    r"[ ](?:would|do|does|are|is|can|could|should)(?:\snot\b|n't)",
    re.IGNORECASE,
)
"""A list as the subject of a negated verb: "a cat, a dog, or a bird in it would not fit"."""
_SUM = re.compile(
    rf"(?:{MARK}|\d+)(?:\s[a-z]+){{0,3}}?(?:(?:\s?[+x×*·]\s?|\s(?:plus|times|and|of)\s)(?:{MARK}|\d+)(?:\s[a-z]+){{0,4}}?){{1,9}}(?:\s?=\s?|\s(?:makes?|gives?|equals?)\s)",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:(?<=[.!?\n]\s)|(?<=\n)|\A)(?:is|are|was|were|do|does|did|could|can|should|would|what|which|how|why|maybe)\s[^.!?\n]{0,300}\?(?!\s(?:yes|yeah|sure|exactly|certainly|definitely|absolutely|I\s(?:think|believe|guess)\sso)\b)",
    re.IGNORECASE,
)

_RANK_LIST = rf"(?P<list>[(\[]?{MARK}[)\]]?(?:(?:[\s,;>\u2192.)(\]\[\d-]|\band\b|\bthen\b){{1,8}}{MARK}[)\]]?)+)"
_RANKED = re.compile(
    rf"(?P<down>\b(?:most|best|highest|more)\b[^.:;\n]{{0,40}}?\b(?:least|worst|lowest|less)\b[^.:;\n]{{0,30}}[:,\n-]\s*)"
    rf"(?:1[.)]\s)?{_RANK_LIST}|\b(?:least|worst|lowest|less)\b[^.:;\n]{{0,40}}?\b(?:most|best|highest|more)\b[^.:;\n]{{0,30}}[:,\n-]\s*"
    rf"(?:1[.)]\s)?{_RANK_LIST.replace('<list>', '<up>')}|(?P<greater>{MARK}(?:\s?[>\u227b]\s?{MARK})+)",
    re.IGNORECASE,
)
_PLACED = re.compile(
    rf"\b(?:1st|first)(?:\splace)?\s?[:.)]\s?(?P<first>[(\[]?{MARK}[)\]]?)(?=[^\n]{{0,40}}\n?[^\n]{{0,10}}\b(?:2nd|second)\b)",
    re.IGNORECASE,
)
_ANALYSED = re.compile(
    rf"(?:\A|(?<=\n))[\s#>*\u2022\u00b7-]{{0,5}}(?P<option>[(\[]?{MARK}[)\]]?)\s?[:\u2013\u2014-]\s(?=[^\n]*[^\W\d]{{3}})[^\n]*(?:\n+|\Z)"
)
"""A line with an option and a remark on it."""
_EXAMINES = re.compile(
    r"\b(?:each|every|all|the|these|those)\b(?:\s\w+){0,2}\s(?:options?|choices?|answers?|alternatives?|candidates?)\b"
    r"|\bone\sby\sone\b|\bin\sturn\b",
    re.IGNORECASE,
)
"""An announcement that options are examined."""
_START = (
    r"(?:(?<=[.!?\n;,:\u2013\u2014\u2026。，！？、(-])\s?"
    r"|(?<=[.!?\n;,:\u2013\u2014\u2026。，(-]\s)|(?<=>\s))"
)
_RETRACTION = re.compile(
    _START + r"(?:(?:oh|but|so|please|hmm+|um|uh|well|or|and|ah|sorry|okay|ok|no|actually)[,.\u2026]*\s){0,2}"
    r"(?P<marker>(?:wait|hold\son|hang\son(?=[,.])|forget\s(?:that|it)|never\s?mind|just\skidding|or\s(?:better|rather)|(?:scratch|strike|scrap|drop|ignore|disregard|delete)\s(?:that|it|this)|correction|(?:on|upon)\s(?:an?\s)?(?:second|closer|further|careful|re[a-z]+)|then\sagain|thinking\sabout\sit"
    r"|(?=(?:looking|checking|counting|reading|thinking|zooming|coming|going)\s(?:again|closer|twice|more\s(?:closely|carefully)|(?:it|this|that)\s(?:over|again|through)|back\sto\sit)\b)"
    r"|I\s(?:meant?\b|was\s(?:wrong|mistaken)|made\s(?:a|an)\s(?:mistake|error)|take\s(?:that|it)\sback|retract|withdraw|now\s(?:think|believe)|stand\scorrected|misread|correct\smyself)"
    r"|my\s(?:mistake|bad|apologies)|apologies|I\sapologi[sz]e|I\s(?:change|changed)\smy|strike\s(?=[(\[]?[\ue000-\ue0bf])|(?:that|it|this)(?:'s|\sis|\swas|\smight\sbe|\smay\sbe|\scould\sbe)\s(?:not\sright|wrong|incorrect|not\scorrect|a\smistake)|let\sme\s(?:re-?\w+|(?:check|look|count|think|consider|examine|try|correct)(?:\s\w+){0,3}\s(?:again|myself|that|this))"
    r"|oops|edit(?:ed)?(?=:)|make\sthat|rather|better\ssaid|instead|sorry,?\s(?=it|that|this|the\sanswer)|sorry,?\sI\smean|actually|in\sfact"
    r"|nein|warte|moment|korrektur|eigentlich|doch\snicht|falsch|attendez|attends|en\sfait|plutôt|correction|espera|en\srealidad|mejor\sdicho|perdón|corrección)\b"
    r"|(?:sorry|o+ps|whoops|typo|pardon)[,.:!]?\s(?:\w+[,:]?\s){0,3}(?=[(\[]?[\ue000-\ue0bf])|不对|等等|等一下|更正|我错了|应该是|其实|实际上|いや|待って|実は|やはり|訂正)",
    re.IGNORECASE,
)
_EXAMINED = re.compile(
    r"(?:on|upon)\s(?:an?\s)?(?:closer|further|careful|re-?(?:examin|analy|inspect|view|visit)[a-z]*)", re.IGNORECASE
)
"""Markers that retract only if the reply states an option after them."""
_WEAK = re.compile(
    r"actually|in\sfact|rather|instead|moment|eigentlich|en\sfait|plutôt|en\srealidad|其实|实际上|実は", re.IGNORECASE
)
"""Markers that retract only if an option follows."""
_RECONSIDERED = re.compile(
    rf"\b(?:hmm*|oh\sno|oh\swait|uhm?|um|erm?|argh|oops|ah)\b[^\n]{{0,100}}?[.!?\u2026]\s(?=[(\[]?{MARK}[)\]]?[.!]?\Z)",
    re.IGNORECASE,
)
"""A pause after which the reply ends with an option: "A. Hmm, the ball is too large. B."."""
_NO = re.compile(
    _START + r"(?<!: )(?:ah\s|oh\s)?(?:non,|(?:but\s)?no\b(?=\s?[,.!:\u2013\u2014\u2026-])|nope\b|non\b(?=[,.!…]))",
    re.IGNORECASE,
)


def without_denied(text: str) -> str:
    """Replace denied marks: "not B but C", "B is wrong", "C rather than B", "Nicht B, sondern C"."""
    for pattern in (_EXCEPT, _EXCEPT_FIRST, _ALL_BUT):
        text = pattern.sub(lambda match: f"only {match['list']}", text)
    for pattern in (_DENIED_CLAUSE, _ABSENT, _NEGATED_LIST):
        text = pattern.sub(lambda match: _MARK.sub(_DENIED, match[0]), text)
    return _DENIABLE.sub(_deny, text)


def _deny(match: re.Match[str]) -> str:
    before = match["before"] or ""
    if not (before or match["after"]) or _IS_ONLY.match(before):
        return match[0]
    if match["after"] and not before and match["one"] and not _OR.search(match["list"]):
        start = [mark.start() for mark in _MARK.finditer(match["list"])][-1] if _MARK.search(match["list"]) else 0
        return match["list"][:start] + _MARK.sub(_DENIED, match["list"][start:])
    first_only = _INSTEAD.match(before) and not _AND_OR.search(match["list"])
    denied = _MARK.sub(_DENIED, match["list"], count=1 if first_only else 0)
    return f"{' ' if before else ''}{denied}{_DENIED if match['other'] else ''}"


def without_lower_ranks(text: str) -> str:
    """Replace a ranking by an announcement of its best option: "from most to least likely: C, A, B", "C > A > B"."""

    def best(match: re.Match[str]) -> str:
        marks = _MARK.findall(match["list"] or match["up"] or match["greater"])
        return f"best answer: {marks[-1 if match['up'] else 0]}."

    return _PLACED.sub(r"best answer: \g<first>.", _RANKED.sub(best, text))


def without_analysis(text: str) -> str:
    """Remove remarks on options one by one, each in its line ("A. Lion: a lion has no spots."), before the answer.

    These are at least two options with something after them. A single remark is removed after "let's examine each
    option" if the reply was cut off in it.
    """
    remarks = list(_ANALYSED.finditer(text))
    if not remarks:
        return text
    several = len({mark for remark in remarks for mark in _MARK.findall(remark["option"])}) > 1
    if several and _MARK.search(text, remarks[-1].end()):
        return _ANALYSED.sub("\n", text)
    cut_off = text.rstrip()[-1].isalnum() and remarks[-1].end() == len(text)
    return _ANALYSED.sub("\n", text) if cut_off and _EXAMINES.search(text, 0, remarks[0].start()) else text


def is_a_tie(text: str) -> bool:
    """Whether the reply calls an option as good as another one."""
    return _TIE.search(text) is not None


def without_possible(text: str) -> str:
    """Remove options that are called only possible, or that a concession names, if the reply also states one."""
    text = _CONCESSION_FIRST.sub("\u2026", text)
    rest = _CONCESSIVE.sub("\u2026", text)
    text = rest if _MARK.search(rest) else text
    rest = _POSSIBLE.sub(lambda match: "\u2026" if match["before"] or match["after"] else match[0], text)
    return rest if _MARK.search(rest) else text


def without_hypotheses(text: str) -> str:
    """Remove conditional sentences ("If it were red, ..."), the reply's own questions ("Is it B?"), and summands."""
    text = _DATE.sub(r"\g<day> ", _IF_SO.sub("\u2026", text))
    if _DEPENDS.search(text):
        text = " ".join("\u2026" if _DEPENDS.search(sentence) else sentence for sentence in _SENTENCES.split(text))
    return _SUM.sub("\u2026 in total ", _QUESTION.sub("\u2026", _HYPOTHETICAL.sub("\u2026", text)))


def without_tentative(text: str) -> str:
    """Remove first thoughts up to the contrast that follows: "I first thought B, but ..."."""
    parts, end = [], 0
    for match in _TENTATIVE.finditer(text):
        if match.start() < end:
            continue
        start = max((text.rfind(mark, end, match.start()) for mark in ".!?;\n。"), default=-1) + 1
        contrast = _CONTRAST.search(text, match.end())
        stop = contrast.start() if contrast else len(text)
        parts += [text[end : max(start, end)], "\u2026"]
        end = stop
    return "".join([*parts, text[end:]])


def last_statement(text: str, *, no_retracts: bool) -> str:
    """Return the text after the last retraction ("wait", "I meant", "on second thought") of an option.

    Parameters
    ----------
    text : str
        A marked text.
    no_retracts : bool
        Whether "no," retracts. It does not if an option is called "no".
    """
    first = _MARK.search(text)
    if first is None:
        return text
    if (pause := _RECONSIDERED.search(text, first.end())) is not None:
        return text[pause.end() :]
    last_mark = max(match.start() for match in _ANY_MARK.finditer(text))
    text, end = stance.withdrawn(text, denies=no_retracts)
    markers = list(_RETRACTION.finditer(text, first.end()))
    last_stated = max((match.start() for match in _MARK.finditer(text)), default=0)
    places = [
        match.end()
        for match in markers
        if match.start() < (last_stated if _EXAMINED.match(match["marker"]) else last_mark)
        or not (_WEAK.fullmatch(match["marker"]) or _EXAMINED.match(match["marker"]))
    ]
    if no_retracts:
        places += [match.start() for match in _NO.finditer(text, first.end())]
    if end is not None:
        places.append(end)
    return text[max(places) :] if places else text
