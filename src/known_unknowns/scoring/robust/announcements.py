"""Patterns of announced answers: "Answer:", "the answer is", "so D", "I would choose D"."""

from __future__ import annotations

import re

from known_unknowns.scoring.robust.cleaning import ANSWER_MARK
from known_unknowns.scoring.robust.marks import LETTER, MARK

FINAL = re.compile(
    rf"{ANSWER_MARK}|\b(?:final|overall|revised|updated|corrected)\s(?:answer|choice|option|decision)\b"
    r"(?:[^.\n:=]{0,40}?\b(?:is|be|been)\b(?!\snot\b|n't)|\s?[:=\n-]|\s)|\b(?:conclusion)\b\s?[:,-]|\bfinal\s?:|最终答案\s?(?:是|为)?\s?[:：]?|\[[xX\u2713\u2714]\]|[\u2611\u2705]\s?(?=[(\[]?[\ue000-\ue0bf])",
    re.IGNORECASE,
)
ASIDE = re.compile(
    rf"(?<={MARK}),\sI(?:'d|\swould|'ll|\swill)?\s(?:say|guess|think|reckon|believe|suppose|imagine|bet),?(?=\s(?:or|and)\b)",
    re.IGNORECASE,
)
"""A hedge within a list: "soccer, I'd say, or basketball"."""
MISSPELT = re.compile(r"\b(?:anwser|awnser|asnwer|anser|aswer|answr|ansewr|anwer|ansswer)\b", re.IGNORECASE)
_FOREIGN_ANSWER = (
    r"(?:cevap|yanıt|jawaban(?:nya)?|jawapan|đáp án|odpowied[źz](?:ią)?|odpov[eě]ď|vastaus|svar(?:et)?|antwoord"
    r"|válasz|răspuns(?:ul)?|απάντηση|ответ|відповідь|отговор|odgovor|одговор|תשובה|الإجابة|الاجابة|الجواب|جواب|پاسخ|उत्तर|คำตอบ|정답|답)"
)
_CONCLUSIVE = r"(?:so|thus|therefore|hence|daher|donc|alors|entonces|así\sque|por\slo\stanto)\b,?"
_CHOOSE = (
    r"(?:choose|pick|select|go\s(?:with|for)|opt\sfor|take|switch\sto|prefer|st(?:ay|ick)\swith|lean(?:ing)?\stowards?"
    r"|say|answer|guess|vote\sfor)"
)
_DECIDE = (
    r"(?:I(?:'m|\sam)\s(?:going|voting|opting|settling|betting)\s(?:with|for|on)"
    r"|I(?:'m|\sam)\s(?:choosing|picking|selecting)|I\s(?:chose|picked|selected|settled?\son)"
    r"|(?<=[;,.:]\s)(?:going|settling)\s(?:with|for|on)"
    r"|I(?:'d|'ll|\swould|\swill|\scan)?\s(?:rather\s|still\s|probably\s)?(?:settle\son|bet\son|put\s(?:my|an?|some)\s(?:\w+\s)?(?:money|bets?|chips)\son)"
    r"|I(?:'m|\sam)?\s(?:end\sup|ended\sup|am\sleft|left)\swith"
    r"|I\s(?:come|came)\sdown\son(?:\sthe\sside\sof)?|(?:decides?|decided|settles?\s(?:it|the\s\w+))\s(?:for|in\sfavou?r\sof)"
    r"|my\s(?:vote|money)\s(?:goes\sto|is\son)"
    r"|let's\s(?:say|go\swith|choose|pick))"
)
_BE = r"(?:is|be|ist|lautet|est|es|é|è|sería|serait|wäre)"
ANNOUNCED = re.compile(
    rf"(?P<conclusive>\b{_CONCLUSIVE}\s(?:the\s)?(?=(?:\w+\s)?(?:answer|option|choice)\b)"
    rf"|\b{_CONCLUSIVE}(?=\s(?:(?:it(?:'s|\sis|\smust\sbe)|option|I)\s)?[(\[]?{MARK})"
    rf"|\b{_DECIDE}\b|\b(?:finally|in\sthe\send|finalement|schließlich|finalmente|al\sfinal),?(?=\s[(\[]?{MARK})|\bI(?:'d|'ll|\swould|\swill|\smust)?\s(?:rather\s|still\s|probably\s|therefore\s|finally\s)?{_CHOOSE}\b(?!\snot\b)"
    rf"|\b\w+ing\s(?:\w+\s){{0,3}}(?:gives|makes|yields)(?:\s(?:me|us))?(?=\s{MARK})|\bI\s(?:change|switch|correct)\s(?:it|that|this|my\s\w+)\sto\b"
    rf"|\bbringing\s(?:the|its|this|that)\s(?:total|count|number)\s(?:of\s\w+\s)?to(?=\s{MARK})|\b(?:in\stotal|altogether|(?:that|which|this|it)\s(?:makes|gives)|for\sa\stotal\sof|(?:the\s)?total\sis),?(?=\s+(?:there\sare\s)?{MARK})|\b(?:most|more)\slikely(?=\s(?:it\sis\s)?[(\[]?{MARK})"
    rf"|\b(?:i\.e\.|in\sother\swords|that\sis\sto\ssay|namely),?(?=\s[(\[]?{MARK})"
    r"|\b(?:ich\s(?:wähle|nehme)|je\schoisis|elijo|escojo)\b"
    rf"|更可能是?(?=\s?{MARK})|(?<![可能不])(?:选择|选|選ぶ)(?=\s?[:：]?\s?[(\[]?{MARK}))"
    rf"|\b(?:this|that|it|which|observation|description)\s(?:\w+ly\s|best\s)?(?:matches|aligns\swith|corresponds\s(?:to|with)|agrees\swith"
    rf"|points\sto|confirms|supports|fits)(?=\s(?:the\s)?(?:option|choice)\s[(\[]?{LETTER})"
    rf"|\bmatch\s(?:in|with|for)(?=\s(?:the\s)?(?:option|choice)\s[(\[]?{LETTER})"
    rf"|\bit(?:'s|\sis)(?=\s[(\[]?{LETTER}[)\]]?(?:[.!]|\s?\Z|\n))"
    rf"|{_FOREIGN_ANSWER}\w{{0,3}}(?:\s?[:\uff1a]|\s[^\s\ue000-\ue0bf.]+){{0,3}}?\s?(?=[(\[]?{MARK})"
    rf"|(?<!answer:)(?<!option:)(?<!choice:)(?<!guess:)(?<=:)(?=\s?(?:the\s|an?\s)?{MARK}[)\].!]*\Z)"
    r"|(?<!wrong\s)(?<!incorrect\s)(?<!first\s)(?<!initial\s)(?<!previous\s)(?<!possible\s)(?<!second\s)(?<!other\s)(?<!alternative\s)(?<!earlier\s)"
    r"(?:\b(?:answer|respuesta|réponse|antwort|lösung|resposta|risposta|(?:correct|right|best|top|my|most\s(?:fitting|appropriate|suitable|accurate|likely|logical|plausible|reasonable|probable))\s(?:option|choice|letter|match|one|pick|description|guess|bet|conclusion)"
    r"|(?:opción|option|choix)\scorrecte?a?|richtige?r?(?:\soption)?)\b"
    rf"(?:[^.\n:=]{{0,40}}?\b{_BE}\b(?!\s(?:not|nicht|pas|no)\b|n't)|(?:\s\d)?\s?[:=\n-]|(?=\s[(\[]?{MARK}))"
    r"|(?:答案|正解|答え|回答|正确的?选项|选项)\s?(?:应该|应)?(?:是|为|は)?\s?[:：]?)",
    re.IGNORECASE,
)
CUED = re.compile(
    r"(?:\A|[^\w\s'](?!\s\w)|(?<!\w)(?:(?:is|be|are|was|it|think|believe|actually|rather|on|choosing|chose|picking|picked|selected|means|said|sia|soit|sea|dirais|diría|dico|reality|fact|really|indeed|truth|la|el|le|die|say|answer|option|choice|letter|statement|pick|choose|select|guess|bet|mean|meant|with|for"
    r"|so|thus|hence|therefore|then|only|just|leaves|left|remains|probably|definitely|maybe|perhaps|likely|surely|clearly|obviously|certainly"
    r"|and|or|but|also|both|either|to|towards|as|namely|me|us|still|now|finally|between|versus|vs|prefer|take|opt|opt\.|ans|mark|tick|circle|sondern|sino|mais|mas|maar|utan|men|tylko|melainkan|là|vaan"
    r"|hanem|ist|lautet|es|est|è|é|är|er|jest|oder|und|ou|et|y|o|e|donc|alors|entonces|bien|wel|schon|opción|réponse|antwort|respuesta|risposta|resposta|это|а|но|هو|คือ|ama|plus|i\.e\.|e\.g\.))"
    r"|'s\s|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])\s?[(\['<#\s]*\Z",
    re.IGNORECASE,
)
"""What can precede a letter that is an answer."""
