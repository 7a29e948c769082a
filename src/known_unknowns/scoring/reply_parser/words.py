"""Word lists and patterns of the parser. All are regular expressions without regard to case.

Each table is a list of alternatives. To add a phrasing, add a line.
"""

from __future__ import annotations

import re


def _any(*alternatives: str) -> str:
    return f"(?:{'|'.join(alternatives)})"


_NOUN = _any("answers?", "options?", "choices?", "responses?", "solution", "selection", "alternatives?")
_NOT = _any("not", r"\w+n't", "cannot", "never", "unable", "impossible")
_CANNOT = _any(
    r"can(?:not|\s?n['o]t|'t|\snot)",
    r"could(?:\snot|n't)",
    r"(?:am|is|are|was|be|I'm|it's)?\s?(?:not|n't)\s(?:\w+\s)?(?:possible|able|feasible)(?:\sfor\s\w+)?\sto",
    r"(?:unable|impossible|unfeasible)(?:\sfor\s\w+)?\sto",
    r"(?:difficult|hard|challenging)(?:\sfor\s\w+)?\sto",
    r"(?:not|n't|in)\s?(?:enough|sufficient|adequate)\s(?:\w+\s){1,4}to",
    r"(?:no|without)\s(?:\w+\s)?(?:way|information|context|data|evidence)\s(?:\w+\s){0,4}to",
)
_TELL = _any(
    *("determine", "tell", "say", "know", "answer", "identify", "judge", "ascertain", "infer", "conclude", "deduce"),
    *("verify", "confirm", "establish", "decide", "assess", "evaluate", "estimate", "compute", "calculate", "discern"),
    r"(?:make|draw|reach)(?:\s\w+){0,3}\s(?:determination|judgment|judgement|conclusion|decision|comparison)",
    r"(?:give|provide|offer|select|choose|pick|make)(?:\s\w+){0,4}\s(?:answer|response|option|choice)",
)

CANNOT_TELL, NONE_RIGHT, DECLINES = "cannot_tell", "none_of_options", "declines"

ABSTENTIONS: tuple[tuple[str, str], ...] = (
    (
        NONE_RIGHT,
        rf"\bnone\sof\s(?:these|those|them|above|the\sabove|(?:the\s)?(?:\w+\s){{0,2}}(?:{_NOUN}|images?|pictures?|statements|points|boxes|scenarios?)\b)",
    ),
    (NONE_RIGHT, rf"\b(?:no|not\sa)\s(?:single\s)?(?:correct|right|valid|suitable|accurate|appropriate)\s{_NOUN}"),
    (NONE_RIGHT, rf"\b(?:not|n't)\s(?:\w+\s)?(?:listed|among|included|in|one\sof|any\sof)\s(?:\w+\s){{0,3}}{_NOUN}"),
    (NONE_RIGHT, r"\banswer\s(?:is|was)(?:\snot|n't)\s(?:listed|given|provided|offered|available|here|present)"),
    (NONE_RIGHT, rf"\b(?:not|n't)\smatch\s(?:any|one)\sof\s(?:\w+\s){{0,3}}{_NOUN}"),
    (
        NONE_RIGHT,
        rf"\ball(?:\sof)?\s(?:the\s)?(?:\w+\s)?{_NOUN}(?:\s\w+)?\sare\s(?:incorrect|wrong|false|not\scorrect)",
    ),
    (
        NONE_RIGHT,
        rf"(?:^|[,;:]\s)\W*(?:so\s|thus\s)?neither\s(?:\w+\s)?(?:{_NOUN}|(?:image|picture|box|point|statement)s?\b|of\sthe(?:m|se)?\b|\(?[A-Z]\)?\snor\s\(?[A-Z])",
    ),
    (NONE_RIGHT, rf"\b(?:no|not\san)\s(?:option|choice|answer)\s(?:for|with|that|in\sthe|among)\b"),
    (
        NONE_RIGHT,
        rf"\b(?:correct|right)\s{_NOUN}\s(?:is|was)(?:\snot|n't)\b|\b(?:mistake|error|typo)\sin\sthe\s(?:question|options|problem|choices)",
    ),
    (
        DECLINES,
        r"\bI(?:\scan(?:not|'t|\snot)|'m\s(?:unable|not\sable)\sto|\sam\s(?:unable|not\sable)\sto|\swon't|\swill\snot)\s"
        r"(?:\w+ly\s)?(?:help|assist|fulfil+|comply|engage|satisfy|support|discuss|provide|offer|endorse|promote)\b",
    ),
    (DECLINES, r"\b(?:I\s(?:must\s|have\sto\s)?(?:refuse|decline)|refused?\sto\sanswer|\A\W*refused?\W*\Z)"),
    (DECLINES, r"\b(?:not|in|n't)\s?(?:appropriate|ethical)\s(?:or\s\w+\s)?(?:for\sme\s)?to\b"),
    (CANNOT_TELL, rf"\b{_CANNOT}\s(?:\w+\s){{0,3}}?{_TELL}\b"),
    (CANNOT_TELL, rf"\b(?:is|are|be)\s(?:impossible|not\spossible)\s(?:to\s)?{_TELL}"),
    (
        CANNOT_TELL,
        rf"\bcan(?:not|'t|\snot)\sbe\s(?:\w+\s)?(?:determined|answered|told|known|inferred|identified|decided|concluded|established)",
    ),
    (
        CANNOT_TELL,
        r"\bI\s(?:really\s|honestly\s)?(?:do\snot|don't)\s(?:know|have)\b"
        r"(?!\show\b)(?:\s(?:enough|sufficient|access|any|the)\b)?",
    ),
    (CANNOT_TELL, r"\b(?:I'm|I\sam)\s(?:not\s(?:\w+ly\s)?(?:sure|certain)|unsure|uncertain)\b|\bno\sidea\b"),
    (
        CANNOT_TELL,
        r"\b(?:not|n't|in|lack\sof|lacks)\s?(?:enough|sufficient|adequate)?\s?(?:\w+\s){0,2}(?:information|context|data|details?)\b",
    ),
    (
        CANNOT_TELL,
        r"\b(?:information|context|details?|data)\s(?:\w+\s){0,6}(?:is|are)\s(?:missing|insufficient|(?:not|n't)\s\w+|required|needed)",
    ),
    (
        CANNOT_TELL,
        r"\b(?:need|require)s?\s(?:\w+\s){0,2}(?:more|additional|further)\s(?:information|context|details?|data)",
    ),
    (
        CANNOT_TELL,
        r"\b(?:more|additional|further)\s(?:information|context|details?|data)\s(?:is|are|would\sbe)\s(?:needed|required|necessary)",
    ),
    (CANNOT_TELL, r"\b(?:do\snot|don't|cannot|can't|unable\sto)\s(?:see|view|process|access|open)\b"),
    (
        CANNOT_TELL,
        r"\bquestion\s(?:is|seems|appears)\s(?:\w+\s)?(?:not\s(?:clear|applicable|answerable|valid)|unclear|ambiguous|incomplete|unanswerable|invalid)\b",
    ),
    (CANNOT_TELL, r"\bplease\s(?:\w+\s)?(?:provide|share|upload|attach|supply)\b"),
    (DECLINES, r"\b(?:sorry|apologi[sz]e|afraid)\b[^.!?\n]{0,60}\b(?:can(?:not|'t|\snot)|unable|not\sable|won't)\b"),
    (
        CANNOT_TELL,
        r"无法|不能确定|不知道|判断できません|わかりません|no\s(?:se\spuede|lo\ssé)|ne\s(?:sais\spas|peut\spas)|weiß\s(?:es\s)?nicht|nicht\s(?:bestimm|sagen)",
    ),
)
"""Kinds of abstention, and how a sentence says it. The first that matches names the kind of the sentence."""

MEANINGS: tuple[tuple[str, str], ...] = (
    (
        NONE_RIGHT,
        r"(?:none|neither)(?:\sof)?(?:\s(?:the|these|those|them|above|options?|choices?|answers?|is|are|correct|right|listed|given|other))*",
    ),
    (
        NONE_RIGHT,
        r"no(?:\s(?:correct|right))?\s(?:answer|option|choice)(?:s)?(?:\s(?:is|are|given|correct|right|provided|listed|available|the|above|of))*",
    ),
    (CANNOT_TELL, r"(?:i\s)?(?:do\snot|don't)\sknow|(?:i(?:'m|\sam)\s)?(?:not\ssure|unsure|uncertain|unknown|unclear)"),
    (
        CANNOT_TELL,
        r"(?:it\s)?(?:is\s)?(?:can(?:not|'t|\snot)|impossible\sto|not\spossible\sto|unable\sto)\s(?:be\s)?(?:tell|say|answer(?:ed)?|determined?|know|known)(?:\s\w+){0,5}",
    ),
    (CANNOT_TELL, r"(?:not\senough|insufficient)\s(?:information|data|context)(?:\s\w+){0,4}"),
    (
        DECLINES,
        r"refused?(?:\sto\sanswer)?|(?:(?:i'm\s|i\sam\s)?sorry\s)?(?:but\s)?i\s(?:can(?:not|'t)|am\snot\sable\sto|am\sunable\sto)\s(?:help|assist)(?:\syou)?(?:\swith\s(?:it|that|this)(?:\s\w+)?)?",
    ),
)
"""What the text of a whole option means, if it is a way to abstain."""

DENIALS = (
    r"\b(?:not|n't|cannot|never|nor|neither|none|without|no\slonger|instead\sof|rather\sthan|other\sthan|except|unlike|excludes?|eliminates?"
    r"|rules?\sout|(?:rule|ruled|ruling)\sout|eliminated|eliminating|excluding|unlikely)\b|n't\b|不是|nicht|n'est\spas|no\ses"
)
"""Words before an option in its clause that deny it."""
DENIED_AFTER = (
    r"^[\"')\]*.,:]*\s*(?:[-:(]\s*)?(?:(?:[\w-]+[\"']?\s){0,4}?(?:is|are|was|would\sbe|seems?|appears?|can\sbe|could\sbe|do|does|has)\s?"
    r"(?:\w+\s){0,2}(?:not\b|n't|incorrect|wrong|false|inaccurate|ruled\sout|eliminated|excluded|unlikely|impossible|less)"
    r"|(?:is|are|was|were|do|does|would|could|can|did|has)n't|can(?:not|'t)|incorrect|wrong|false|no\b)"
)
"""Words after an option that deny it."""
HYPOTHESES = r"\b(?:if|unless|suppose|supposing|assuming|whether|had\sit|were\sit|would\shave\sbeen|might\sthink|may\sthink|one\scould)\b"
CONTRASTS = r"\b(?:on\sthe\sother\shand|in\scontrast|by\scontrast|whereas|while|unlike|compared\s(?:to|with)|as\sopposed\sto|than)\b"
TURNS_BACK = (
    r"\b(?:wait|actually|correction|sorry|apologi[sz]e|mistake|on\ssecond\sthought|let\sme\s(?:re|correct)|instead|scratch\sthat"
    r"|upon\s(?:\w+\s)?(?:inspection|reflection|review)|re-?(?:evaluat|consider|check|examin)\w*)\b"
)
RETRACTS = (
    r"\b(?:scratch\sthat|(?:I\s)?take\sthat\sback|no,\s?wait|wait,?\s(?:no|actually|that)|on\ssecond\sthought|hmm,?\sno|actually,\sno|correction:"
    r"|(?:that|this|it)\scan(?:not|'t)\sbe\s(?:right|correct)|let\sme\scorrect)\b[\s,.:;—-]*"
)
"""What takes back everything before it."""
FILLERS = frozenset(
    "image picture photo shown show seen see appear seem look like based can could would may likely probably clearly visible depicted answer option"
    " color correct because therefore so i think believe guess maybe perhaps which main located made called known person".split()
)
"""Words that a sentence may have beside those of the question and the option."""
CONCLUDES = r"\b(?:so|therefore|thus|hence|consequently|finally|in\sconclusion|overall|in\ssummary|ultimately|final|as\sa\sresult|based\son\s(?:this|these)|given\s(?:this|these))\b"
GUESSES = r"\b(?:but|however|nevertheless|though|if\sI\s(?:had|have|were)|best\sguess|most\slikely|probably|guess)\b"

_ADVERB = r"(?:(?:most\s)?(?:likely|probably|clearly|definitely|therefore|thus|indeed|simply|actually|still|also|then|therefore|hence|obviously)\s)?"
_IS = rf"(?:is|would\sbe|should\sbe|must\sbe|will\sbe|could\sbe|might\sbe|has\sto\sbe|(?:appears|seems)\sto\sbe|lies|remains|are)\s?{_ADVERB}"
_ABOUT = r"(?:\s(?:to|for|of|from|among|in|based|here|that|which|according|given)\b[^.:;?\n]{0,90}?)?"
_ANSWER = r"(?:answer|option|choice|response|solution|selection|alternative|conclusion|letter)s?(?:\s(?:letter|choice|option))?"
ANNOUNCEMENTS: tuple[tuple[str, str], ...] = (
    ("final answer", r"\b(?:final|correct)\s(?:answer|choice|option)(?:\sis)?\s?(?::|=|-(?=\s)|：)|####"),
    ("the answer is", rf"(?<!each\s)\b{_ANSWER}{_ABOUT}\s?{_IS}\s?[:：]?"),
    (
        "answer:",
        r"\b(?:answer|solution|choice|response|conclusion)\s?(?:is\s?)?[:：=]|(?:^|\n)\s*(?:answer|ans)\b\.?\s?(?:-(?=\s)|(?=\(?[B-Z]\b))",
    ),
    (
        "I choose",
        r"\b(?:I|we)(?:'d|'ll)?(?:\s(?:would|will|have\sto|must|can|should|am\sgoing\sto|think|believe|want\sto))?(?:\s\w+ly)?\s"
        r"(?:choose|chose|pick|select|go\swith|going\swith|opt\sfor|answer|vote\sfor|guess|suggest|lean\stowards?|say)\b(?:\sthat)?",
    ),
    (
        "I choose",
        r"\b(?:my\s(?:best\s|final\s)?(?:guess|choice|pick|selection|vote)|the\sbest\sguess)\s(?:is|would\sbe)\b",
    ),
    (
        "other languages",
        r"答案(?:应该|应当)?(?:是|为|：|:)\s?|(?:选择?|选项(?:是|为)?)(?=\s?\(?[A-Z])|(?:为|是)\s?(?=\(?[A-J]\)?[.\s]*\Z)|答えは|正解は|정답은"
        r"|\b(?:antwort|respuesta|réponse|resposta|risposta)(?:\s(?:correct[ae]?|corretta|correta))?\s?(?:ist|lautet|es|est|é|è|:)(?!\w)"
        r"|(?:ответ|الإجابة|الجواب)\s?(?::|—|-|هي|هو)",
    ),
)
"""Phrases before an answer. The name is shown by the benchmark of rules."""
CALLED_RIGHT = (
    rf"\s?(?:,\s)?{_IS}(?:the\s)?(?:only\s)?(?:(?:correct|right|true|accurate|valid|best|closest)\b|most\s(?:likely|appropriate|accurate|plausible|suitable"
    r"|reasonable|probable|correct|logical|consistent|relevant|fitting)\b|answer\b)"
)
CORRESPONDS = (
    r"\b(?:corresponds?\sto|matches|match|aligns\swith|which\sis|this\sis|it\sis|it's|it\s(?:must|would)\sbe|equals?|refers\sto|points\sto|indicates|represented\sby"
    r"|represents|consistent\swith|closest\sto|described\s(?:by|in)|means|is)(?:\s(?:most\s)?\w+ly)?\s(?:the\s)?(?:closest\s(?:to\s)?)?(?=(?:option|choice|answer)\b|\(|[\"']?[A-Z][.\"')]*\s*(?:\n|\Z))"
)
VERDICT = r"(?P<no>\b(?:no|not|false|incorrect|wrong|isn't|doesn't|cannot)\b|[✗✘❌☒×])|(?P<yes>\b(?:yes|true|correct|right|match(?:es)?|fits)\b|[✓✔✅☑])"

FUNCTION_WORDS = frozenset(
    "yes no true false not none both neither either it one this that is are in on at of to and or all same other i we they he she".split()
)
"""Texts of options that a sentence may have in another sense. They count at the beginning of a reply or announcement."""
STOP_WORDS = frozenset(
    "a an the of to in on at is are was were be it its it's this that and or for with by from as there".split()
)
QUESTION_WORDS = frozenset("which what who where when how why do does did can you following".split())
NEGATIONS = frozenset(
    "not no never n't cannot can't isn't doesn't don't neither nor without none false incorrect".split()
)
GOES_ON = (
    r"\s*(?:$|[.,;:!?)\]}\"'(\n—–]|-\s|(?:because|since|as|which|that|who|in|on|at|by|for|with|from|to|of|is|are|was|and\s(?:it|this|the|not)|due|given"
    r"|according|based|so|but|if|when|where|while|rather|not|can|has|would|explanation|answer|option|here)\b)"
)
"""What may follow the text of an option in an announcement."""

COMPILED_ABSTENTIONS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in ABSTENTIONS)
COMPILED_MEANINGS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in MEANINGS)
REFERENCES = re.compile(
    rf"\b(?:both|all|any|neither|either|none|only|two|three|first|last|former|latter|previous|preceding|following|above|below|other|another|more\sthan\sone)\b"
    rf".*\b(?:{_NOUN}|above|below|(?:of\s)?(?:these|those|them)|statements?|two|three|four|ones?|others)\b",
    re.IGNORECASE,
)
"""Texts of options that speak of other options: "All of the above", "The first two"."""
REFERENCES_ELSEWHERE = re.compile(
    r"以上(?:都|皆|全)|都(?:对|不对|是|不是)|前两|上述|いずれも|すべて|todas?\s(?:las\s|os\s|as\s)?anterior|ningun[ao]|tou(?:te)?s\sles\sréponses|aucune"
    r"|alle(?:\sder)?\s(?:oben|genannt|antworten)|keine\sder|beide|ambas|ambos|les\sdeux|tutte\sle|nessuna|(?:ни\sодин|все\s(?:вышепереч|вариант))",
    re.IGNORECASE,
)
