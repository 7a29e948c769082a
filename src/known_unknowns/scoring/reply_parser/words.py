# ruff: noqa: E501 (a phrase is as long as it is)
# fmt: off
"""Word lists of the parser: tables of phrases, one a line, as regular expressions without regard to case.

A space stands for any white space. `NOUN`, `TELL` and other names in capital letters stand for the tables of those
names. To add a phrasing, add a line.
"""

from __future__ import annotations

import re

CANNOT_TELL, NONE_RIGHT, DECLINES = "cannot_tell", "none_of_options", "declines"

_NAMES = {
    "NOUN": r"(?:answers?|options?|choices?|responses?|solutions?|selections?|alternatives?)",
    "CANNOT": r"(?:can(?:not|'t| not)|could(?: not|n't)|(?:not|n't) (?:\w+ )?(?:possible|able|feasible)(?: for \w+)? to"
    r"|(?:unable|impossible|difficult|hard|challenging)(?: for \w+)? to|(?:not|n't|in) ?(?:enough|sufficient|adequate) (?:\w+ ){1,4}to"
    r"|(?:no|without) (?:\w+ )?(?:way|information|context|data|evidence) (?:\w+ ){0,4}to)",
    "TELL": r"(?:determine|tell|say|know|answer|identify|judge|ascertain|infer|conclude|deduce|verify|confirm|establish|decide|assess|evaluate"
    r"|estimate|compute|calculate|discern|(?:make|draw|reach)(?: \w+){0,3} (?:determination|judge?ment|conclusion|decision|comparison)"
    r"|(?:give|provide|offer|select|choose|pick|make)(?: \w+){0,4} (?:answer|response|option|choice))",
    "NUMBER": r"(?:\d|(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|minus|negative)\b)",
    "DATA": r"(?:information|context|data|details?)",
    "IS": r"(?:is|are|(?:would|should|must|will|could|might) be|has to be|(?:appears|seems) to be|lies|remains)",
    "SURELY": r"(?: (?:(?:most )?likely|probably|clearly|definitely|therefore|thus|indeed|simply|actually|still|also|then|hence|obviously))?",
}


def phrases(table: str) -> re.Pattern[str]:
    """Compile a table of phrases into one pattern."""
    lines = [line.strip() for line in table.strip().splitlines()]
    pattern = "|".join(lines)
    for name, alternatives in _NAMES.items():
        pattern = alternatives.join(re.split(rf"(?<![A-Z]){name}(?![A-Z])", pattern))
    return re.compile(pattern.replace(" ", r"\s"), re.IGNORECASE)


ABSTENTIONS = (
    (NONE_RIGHT, phrases(r"""
        \bnone of (?:these|those|them|above|the above|(?:the )?(?:\w+ ){0,2}(?:NOUN|images?|pictures?|statements|points|boxes|scenarios?)\b)
        \b(?:no|not a) (?:single )?(?:correct|right|valid|suitable|accurate|appropriate) NOUN
        \b(?:no|not an) (?:option|choice|answer) (?:for|with|that|in the|among)\b
        \b(?:not|n't) (?:\w+ )?(?:listed|among|included|in|one of|any of) (?:\w+ ){0,3}NOUN
        \b(?:answer|(?:correct|right) NOUN) (?:is|was)(?: not|n't) (?:listed|given|provided|offered|available|here|present|among|mentioned)
        \bNOUN (?:\w+ )?(?:do|does) ?(?:not|n't) match
        \b(?:not|n't) match (?:(?:any|one) of )?(?:\w+ ){0,3}NOUN
        \ball(?: of)? (?:the )?(?:\w+ )?NOUN(?: \w+)? are (?:incorrect|wrong|false|not correct)
        (?:^|[,;:] )\W*(?:so |thus )?neither (?:\w+ )?(?:NOUN|(?:image|picture|box|point|statement)s?\b|of the(?:m|se)?\b|\(?[A-Z]\)? nor \(?[A-Z])
        \b(?:mistake|error|typo) in the (?:question|options|problem|choices)
    """)),
    (DECLINES, phrases(r"""
        \bI(?: can(?:not|'t| not)|'m (?:unable|not able) to| am (?:unable|not able) to| won't| will not) (?:\w+ly )?(?:help|assist|fulfil+|comply|engage|satisfy|support|discuss|provide|offer|endorse|promote)\b
        \bI (?:must |have to )?(?:refuse|decline)|\brefused? to answer|\A\W*refused?\W*\Z
        \b(?:not|in|n't) ?(?:appropriate|ethical) (?:or \w+ )?(?:for me )?to\b
    """)),
    (CANNOT_TELL, phrases(r"""
        \bCANNOT (?:\w+ ){0,3}?TELL\b
        n't (?:\w+ )?(?:possible|able|feasible) to (?:\w+ )?TELL\b
        \bcan(?:not|'t| not) be (?:\w+ )?(?:determined|answered|told|known|inferred|identified|decided|concluded|established)
        \bI (?:really |honestly )?(?:do not|don't) (?:know|have)\b(?! how\b)
        \b(?:I'm|I am) (?:not (?:\w+ly )?(?:sure|certain)|unsure|uncertain)\b|\bno idea\b
        (?:\b(?:not|lack of|lacks)|n't|\bin(?=sufficient|adequate)) ?(?:enough|sufficient|adequate)? ?(?:\w+ ){0,2}DATA\b
        \bDATA (?:\w+ ){0,6}(?:is|are) (?:missing|insufficient|(?:not|n't) \w+|required|needed)
        \b(?:need|require)s? (?:\w+ ){0,2}(?:more|additional|further) DATA
        \b(?:more|additional|further) DATA (?:is|are|would be) (?:needed|required|necessary)
        \b(?:do not|don't|cannot|can't|unable to) (?:see|view|process|access|open) (?:\w+ ){0,2}(?:images?|pictures?|photos?|files?|points?|labels?|videos?|diagrams?|attachments?)\b
        \bquestion (?:is|seems|appears) (?:\w+ )?(?:not (?:clear|applicable|answerable|valid)|unclear|ambiguous|incomplete|unanswerable|invalid)\b
        \bplease (?:\w+ )?(?:provide|share|upload|attach|supply)\b
        无法|不能确定|不知道|判断できません|わかりません|\bno (?:se puede|lo sé)|\bne (?:sais pas|peut pas)|\bweiß (?:es )?nicht|\bnicht (?:bestimm|sagen)
    """)),
    (DECLINES, phrases(r"\b(?:sorry|apologi[sz]e|afraid)\b[^.!?\n]{0,60}\b(?:can(?:not|'t| not)|unable|not able|won't)\b")),
)
"""Kinds of abstention, and how a sentence says it. The first that matches names the kind of the sentence."""
NOT_SEEN = phrases(r"\bCANNOT (?:\w+ )?(?:see|spot|locate|find|make out)\b(?![^.;]*\b(?:other than|except|besides|apart from)\b)")
"""What says that a thing is not seen. Where the options are "yes" and "no" or numbers, it can be the answer."""

MEANINGS = (
    (NONE_RIGHT, phrases(r"""
        (?:none|neither)(?: of)?(?: (?:the|these|those|them|above|options?|choices?|answers?|is|are|correct|right|listed|given|other))*
        no(?: (?:correct|right))? (?:answer|option|choice)s?(?: (?:is|are|given|correct|right|provided|listed|available|the|above|of))*
    """)),
    (CANNOT_TELL, phrases(r"""
        (?:i )?(?:do not|don't) know|(?:i(?:'m| am) )?(?:not sure|unsure|uncertain|unknown|unclear)
        (?:it )?(?:is )?(?:can(?:not|'t| not)|impossible to|not possible to|unable to) (?:be )?(?:tell|say|answer(?:ed)?|determined?|know|known)(?: \w+){0,5}
        (?:not enough|insufficient) (?:information|data|context)(?: \w+){0,4}
    """)),
    (DECLINES, phrases(r"""
        refused?(?: to answer)?
        (?:(?:i'm |i am )?sorry )?(?:but )?i (?:can(?:not|'t| not)|am not able to|am unable to) (?:help|assist)(?: you)?(?: with (?:it|that|this)(?: \w+)?)?
    """)),
)
"""What the text of a whole option means, if it is a way to abstain."""

ANNOUNCEMENTS = phrases(r"""
    \b(?:final|correct) (?:answer|choice|option)(?: is)? ?(?::|=|-(?= ))|####
    (?<!each )\b(?:NOUN|conclusion|letter|value|result)(?: (?:letter|choice|option))?(?: (?:to|for|of|from|among|in|based|here|that|which|according|given)\b[^.:;?\n]{0,90}?)? ?IS(?:)SURELY ?:?
    \b(?:answer|solution|choice|response|conclusion) ?(?:is ?)?[:=]|(?:^|\n) *(?:answer|ans)\b\.? ?(?:-(?= )|(?=\(?[B-Z]\b))
    \b(?:I|we)(?:'d|'ll)?(?: (?:would|will|have to|must|can|should|am going to|think|believe|want to))?(?: \w+ly)? (?:choose|chose|pick|select|go with|going with|opt for|answer|vote for|guess|suggest|lean towards?|say)\b(?: that)?
    \b(?:my (?:best |final )?(?:guess|choice|pick|selection|vote)|the best guess|(?:best|closest) (?:match|fit)) (?:is|would be)\b
    \b(?:so|therefore|thus|hence|probably|maybe|perhaps)\b[,:]? (?=\(?[A-Z]\)?[. ]*(?:\n|\Z))
    答案(?:应该|应当)?(?:是|为|:) ?|(?:选择?|选项(?:是|为)?)(?= ?\(?[A-Z])|(?:为|是) ?(?=\(?[A-J]\)?[. ]*\Z)|答えは|正解は|정답(?:은|:)|\bđáp án:?
    \b(?:antwort|respuesta|réponse|resposta|risposta)(?: (?:correct[ae]?|corretta|correta))? ?(?:ist|lautet|es|est|é|è|:)(?!\w)|(?:ответ|الإجابة|الجواب) ?(?::|—|-|هي|هو)
    """)
"""Phrases before an answer."""
CALLED_RIGHT = phrases(r",? IS(?:)SURELY (?:the )?(?:only )?(?:(?:correct|right|true|accurate|valid|best|closest|answer)\b|most (?:likely|appropriate|accurate|plausible|suitable|reasonable|probable|correct|logical|consistent|relevant|fitting)\b)")
"""Phrases after an answer."""
LEAD = phrases(r"(?:(?:it|this|(?:the )?[\w-]+(?: [\w-]+)?) (?:reads?|shows?|says?|displays?|indicates?|measures?|weighs?|costs?) (?:about |around |exactly |approximately )?(?=[-+.$€£¥₹]{0,2}NUMBER))?(?:[\s:=–—*,]|>(?!=? ?[-+.$]?\d)|-(?![\d.$€£¥₹]))*(?:(?:that|it is|it's|is|be|with|indeed|(?:most )?likely|probably|definitely|clearly|as follows|therefore|thus|the following|as|for|to be|this is|there (?:is|are)|because|i (?:would )?(?:think|say|believe|guess)|either|both|given by|simply|only|just|maybe|perhaps|represented by|he might be|la|le|el|il)\b[\s:,]*)*(?:(?:the|an) (?=\w)|a (?=[a-z]{2}))?")
"""What may stand between an announcement and the text of the option."""
SHOWS = phrases(r"\W*(?:I(?: can)? see|(?:it|this|(?:the )?[\w-]+) (?:shows|displays|depicts|indicates|reads|says))\b")
"""What may stand before what is seen: "The image shows gold." says no more than "Gold."."""
GOES_ON = phrases(r"""\s*(?:$|[.,;:!?)\]}"'(\n—–]|- |(?:because|since|as|which|that|who|in|on|at|by|for|with|from|to|of|is|are|was|and (?:it|this|the|not)|due|given|according|based|so|but|if|when|where|while|rather|not|can|has|would|explanation|answer|option|here)\b)""")
"""What may follow the text of an option in an announcement."""

DENIALS = phrases(r"""
    \b(?:not|cannot|never|nor|neither|none|without|no longer|instead of|rather than|other than|except|unlike|excludes?|eliminates?|rules? out|rul(?:ed|ing) out|eliminated|eliminating|excluding|unlikely)\b
    n't\b|不是|\bnicht\b|\bn'est pas|\bno es\b
    """)
"""Words before an option in its clause that deny it."""
DENIED_AFTER = phrases(r"""
    [\"')\]*.,:]*\s*(?:[-:(] *)?(?:[\w-]+[\"']? ){0,4}?(?:is|are|was|would be|seems?|appears?|can be|could be|do|does|has) ?(?:\w+ ){0,2}(?:not\b|n't|incorrect|wrong|false|inaccurate|ruled out|eliminated|excluded|unlikely|impossible|less)
    [\"')\]*.,:]*\s*(?:[-:(] *)?(?:(?:is|are|was|were|do|does|would|could|can|did|has)n't|can(?:not|'t)|incorrect|wrong|false|no\b)
    [^.;]{0,20}\b(?:on the other hand|(?:in|by) contrast)\b
    """)
"""Words after an option that deny it."""
DENIED_AT_ONCE = phrases(r"\W*(?:is|are|was)?\s*(?:not\b|n't|incorrect|wrong|false)")
"""Words after a label at the start of a reply that deny it."""
VERDICTS = frozenset(["yes", "no", "true", "false", "correct", "incorrect", "right", "wrong"])
VERDICT = re.compile(
    r"\s?(?:(?P<mark>[:?.)\]=(,-]|is\b)[\s\"'(]*|[\s:.)\]]*(?=[✓✔✅☑✗✘❌✕]))"
    r"(?:(?P<yes>(?:yes|correct|right|true)\b|[✓✔✅☑])|(?P<no>(?:no|not\s(?:correct|right|true)|incorrect|wrong|false)\b|[✗✘❌✕]))"
    r"(?:(?<=[✓✔✅☑✗✘❌✕])|(?=[\"']?\s*(?:[.,;!)}\n]|\Z)))",
    re.IGNORECASE,
)
"""A verdict on the option before it."""
HYPOTHESES = phrases(r"\b(?:if(?! (?:I|we)\b)|unless|suppose|supposing|assuming|whether|had it|were it|would have been|(?:might|may) think|one could)\b")
CONDITIONS = phrases(r"\b(?:if|unless|when|whether)\b[^,]*\Z")
CONTRASTS = phrases(r"\b(?:on the other hand|(?:in|by) contrast|whereas|while|unlike|compared (?:to|with)|as opposed to|than)\b")
CLOSINGS = phrases(r"""
    \W*(?:my |the )?(?:\w+ )?(?:confidence|certainty)\b.*|.{0,30}\bconfiden(?:t|ce)\W*
    \W*(?:I )?hope (?:this|that|it) helps.*|\W*(?:let me know|(?:please )?feel free|if you (?:have|need|want|would)|thank you|thanks)\b.*
    """)
"""Lines after the answer that say nothing of it."""
HEADINGS = phrases(r"(?:\A|\n)\W*(?:(?:my|the) )?(?:(?:final|correct|best|short|chosen|selected) )?(?:answer|choice|option|selection|response|conclusion|result|verdict)\W*\n+(?:[-=]{3,}\n)?\W*([^\n]+)")
"""A heading, and the line under it."""
CONCLUDES = phrases(r"\b(?:so|therefore|thus|hence|consequently|finally|in conclusion|overall|in summary|ultimately|final|as a result|based on (?:this|these)|given (?:this|these))\b")
GUESSES = phrases(r"\b(?:but|however|nevertheless|though|if I (?:had|have|were)|best guess|most likely|probably|guess)\b")
TURNS_BACK = phrases(r"\b(?:wait|actually|correction|sorry|apologi[sz]e|mistake|instead|upon (?:\w+ )?(?:inspection|reflection|review)|re-?(?:evaluat|consider|check|examin|count|read)\w*|double-?check\w*|(?:look|check|count|read|think)\w* (?:\w+ ){0,3}again)\b|\b(?:update|edit|corrected) ?:")
"""Words between two announcements after which the second counts."""
RETRACTS = phrases(r"\b(?:scratch that|(?:I )?take that back|no,? ?wait|wait,? (?:no|actually|that)|on second thought|hmm,? no|actually, no|(?:that|this|it) can(?:not|'t) be (?:right|correct)|let me correct)\b[\s,.:;—-]*")
"""What takes back everything before it."""
CORRECTIONS = phrases(r"""
    (?:^|[.!?;,…—)}>"\n-] ?)\W{0,3}(?:no|oops|whoops|sorry|apologies|pardon|wait|hold on|rather|or rather|edit|update|correction|corrected(?: answer)?|my (?:mistake|bad|apologies|error)|(?:up)?on (?:\w+ )?(?:reflection|inspection|review|thought))(?:,? no)?\b[,:;.!—… -]+
    \bactually\b[,:;—… -]+
    \bI (?:meant|mean)\b(?: to (?:say|write))?[,: ]+
    \b(?:chang|switch|revis|correct|updat|amend)(?:e|ed|ing)?(?: (?:my|the|this|that|it))?(?: \w+)?(?: from [^.,;\n]{1,40}?)? to
    \b(?:that|this|it)(?:'s| is| was) (?:wrong|incorrect|not right|a mistake)\b[,.;:!—… -]+
    \bI (?:stand corrected|(?:misread|miscounted|misspoke|mistook|made a mistake)\b[^.,;:\n]{0,40})[,.;:!—… -]+|\blet me (?:correct|revise|fix) ?(?:that|this|it|my answer)?[,.;:!—… -]+
    \bmake (?:that|it) |\b(?:it|that|this) should (?:be|have been|read|say)\b
    """)
"""Words before an option that replaces an earlier one, if the option is the whole clause after them."""
NEW_CLAUSE = phrases(r"[,;:] |\b(?:but|and|however|while|whereas|although|because|since)\b")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _words("yes no true false not none both neither either it one this that is are in on at of to and or all same other i we they he she")
"""Texts of options that a sentence may have in another sense. They count only where an answer is announced."""
STOP_WORDS = _words("a an the of to in on at is are was were be it its it's this that and or for with by from as there")
QUESTION_WORDS = _words("which what who where when how why do does did can you following")
VAGUE = _words("i i'm sorry but image picture photo question answer option choice correct right exact exactly sure certain certainty definitively accurately alone given provided based just only without more any also unfortunately however therefore information context detail definitive based visible shown here sufficient clear clearly about which whether if so not no because due please unable able cannot have u me my we scene seen asked directly reliably confidently precisely")
"""Words of an abstention that name no thing of their own."""
NEGATIONS = _words("not no never n't cannot can't isn't doesn't don't neither nor without none false incorrect")
