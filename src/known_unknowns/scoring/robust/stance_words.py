r"""Words that show that a reply does not stand behind an option, for `known_unknowns.scoring.robust.stance`.

Phrases are regular expressions, separated by spaces; ``_`` stands for a space within a phrase.
"""

from __future__ import annotations


def phrases(words: str) -> str:
    """Return a regular expression that matches any of the phrases."""
    return "(?:" + "|".join(word.replace("_", r"\s") for word in words.split()) + ")"


NEGATIONS = phrases(
    r"""
    not never no nor neither hardly scarcely barely cannot cant dont isnt doesnt wont lacks? lacking lack absence
    deny denies denied denying doubts? doubtful refuse[sd]? refusing wrong false incorrect mistaken mistake nobody none
    nowhere wish\w* hope[sd]? pretend\w* allegedly? alleged so-called supposed(?:ly)? unlikely impossible
    implausible avoid forget discard\w* dismiss\w* disagree\w* disput\w* disprov\w*
    contradict\w* eliminat\w* exclud\w* reject\w* rul(?:e|es|ed|ing)_out ruled stop(?:ped|s)? fail(?:s|ed)?_to my_foot
    far_from anything_but too_(?!many|much|few)\w+_to
    pas jamais aucune? ni nicht kein\w* niemals falsch faux fausse incorrecte? falso falsa nunca jamás tampoco não нет
    не ни неверно niet geen inte ikke ej nie değil tidak bukan không
    """
)
NEGATIONS_WITHOUT_SPACES = (
    "n't\\b|不|没|非|否|错|别选|无法|ない|ません|違|아니|않|안\\s|틀[리렸]|ليس|لا\\s|नहीं|✗|✘|❌|✖"
)

DOUBLE_NEGATIONS = phrases(
    r"""
    (?:there(?:'s|_is)_)?no_(?:doubt|question|reason_to_doubt|denying|disputing|doubting|mistaking)(?:_about_it)?(?:_that)?
    (?:(?:would|could|can|do|does|will|is)(?:n't|_not)|never|(?:wrong|mistake|false)_to_\w+)_(?:\w+_){0,5}?anything_(?:else_but|else_than|other_than|except)
    without_(?:an?y?_)?(?:doubt|question)
    undoubtedly (?:can(?:'t|not)|could(?:n't|_not)|do(?:n't|_not))_(?:deny|dispute|doubt) not_(?:only|just|least)
    can(?:'t|not)_help_(?:but_)?(?:think|see|feel|notice|say)(?:ing)?
    nothing_(?:other|else|but)(?:_than|_but)? none_other_than
    (?:what|who)_(?:else|other)(?:_could_it_be)?_(?:but|than|if_not)
    (?:(?:can|could|would|do|does|will)(?:n't|_not)|cannot)_(?:possibly_)?(?:be|see|think_of|imagine|find)_(?:how_it_could_be_)?(?:anything|something|any_other_option|any_option)_(?:else_)?(?:but|except|other_than|than)
    wrong_not_to_(?:choose|pick|say|answer)
    (?:who|nobody|no_one)_(?:could|can|would|will)_(?:doubt|deny|dispute)(?:_that)?
    (?:if|unless)_I(?:'m|_am)_(?:not_)?(?:mistaken|wrong) if_not_mistaken last_but_not_least no_problem no_matter
    not_(?:wrong|false|incorrect) kein_zweifel ohne_zweifel sans_(?:aucun_)?doute sin_(?:ninguna_)?duda не_сомневаюсь
    senza_dubbio sem_dúvida
    """
)
DOUBLE_NEGATIONS_WITHOUT_SPACES = "毫无疑问|无疑|没错|不错"

PERSONS = phrases(
    r"""
    users? man woman boy girl lady guy friends? colleagues? teacher students? experts? assistant models? caption prompt
    question people persons? men women children kids child someone somebody anyone anybody everyone everybody others?
    many most some few none critics readers viewers observers visitors authors? brother sister mother father wife
    husband
    son daughter neighbou?r boss guide driver owner doctor professor annotators? labell?er crowd majority public
    internet
    wikipedia article paper book he she they you who bot chatbot half him her them
    """
)
OPINIONS = phrases(
    r"""
    claim(?:s|ed)? thinks? thought believes? believed argues? argued insists? insisted replied replies answers answered
    asserts? asserted maintains? assumes? assumed guess(?:es|ed) chose chooses picked picks voted votes swears? swore
    attributes_(?:it|this|that|them) attributed
        prefer(?:s|red)? recommend(?:s|ed)? declares? declared proposes? proposed wants? wanted
    expects? expected
    """
)
"""Verbs of opinion. Only persons have opinions."""
SAYINGS = phrases(
    r"""
    say says said counts? counted
    tells? told suggests? suggested states? stated writes? wrote reports? reported mentions? mentioned go
    opt vote calls? take object answer choose pick guess
    """
)
"""Verbs that a sign or an image can also be the subject of."""
NO_PERSONS = phrases("I we it this that which also and but image picture evidence answer second first further not now")
ADVERBS = phrases(
    r"""
    would will may might could can also often has have had wrongly falsely once always still just firmly easily perhaps
    well here clearly probably surely
    """
)
SOURCES = phrases("image picture photo sign scene text label clock logo view visual options?")
SIGNS = phrases(
    """
    note signs? poster sticker label texts? banner screen placard graffiti inscription writing message paper caption
    watermark
    """
)
READS = phrases("reads? says? saying states? stating tells? shows? showing claims?")
ORDERED = phrases(
    r"""
    told asked instructed ordered supposed expected meant forced said advised tempted inclined rumou?red claimed
    """
)
ORDERS = phrases("wants? wanted expects? expected told asks? asked orders? ordered forces? forced begs? urges?")
PASSIVES = phrases("suggested claimed said believed thought rumou?red argued assumed alleged reported proposed")
REPORTED_ELSEWHERE = (
    r"有人|他说|她说|用户|他们|据说|人们|别人|man\ssagt|manche\s(?:sagen|meinen)|jemand\s(?:sagt|meint)|on\sdit"
    r"|certains\s(?:disent|pensent)|algunos\s(?:dicen|piensan)|dicen\sque|alguien\sdice|qualcuno\sdice|кто-то\sсказал"
)

CONDITIONS = phrases(
    r"""
    if unless assuming supposing suppose otherwise provided depending in_case imagine pretend hypothetically
    in_theory in_(?:a|an)_\w+_world
    wenn falls si como_se se если
    """
)
CONDITIONS_WITHOUT_SPACES = "如果|假如|要是|もし|만약"
EXAMPLES = phrases(
    r"""
    for_example for_instance e\.g\.? such_as an?_example example_(?:answer|reply|response)
    (?:answer_|output_)?format(?:_is)?:
    please_(?:answer|reply|respond)_(?:with|using|in) always_(?:answer|say|choose|reply|pick)
    (?:trained|programmed|designed|prompted|instructed|taught)_to (?:letters?|options?|answers?)_like
    z\.\s?B\. zum_Beispiel par_exemple por_ejemplo
    """
)
"""Phrases before an option that only shows what an answer can look like."""
REAL_CONDITIONS = phrases(
    r"""
    if_(?:I|you|we)_(?:really_|absolutely_|only_|do_)?(?:had|have|must|(?:was|were|am)_forced|need|needed|should|could)\b(?:_to)?(?:_only)?(?:_(?:guess|choose|pick|answer|decide|say|go|select|make|name|bet|give))?
    (?:if|unless)_(?:I|my|we|our)_(?:\w+_){0,3}(?:mistaken|wrong|deceiv\w+|fool\w*|mislead\w*|missing|misread\w*|misjudg\w+)
    if_(?:forced|pressed|pushed|anything|asked|in_doubt|necessary|possible|so|any) if_you_ask_me
    if_I_(?:see|remember|recall|look|count|read) as_if even_if if_you_(?:look|zoom|count|see|examine) what_if
    if_(?:it_)?must
    if_my_\w+_(?:do|does)(?:n't|_not)_\w+_me
    """
)
"""Conditions under which the reply does give its answer."""
MODALS = phrases("would could might should may wäre würde serait sería seria se_trataría был_бы")
CHOICES = phrases("say choose pick go guess answer select opt bet take call describe lean estimate vote")

HABITS = phrases(
    r"""
    usually normally traditionally ordinarily customarily habitually sometimes occasionally as_a_rule most_of_the_time
    on_other_days most_days every_(?:day|morning|evening|week|year)
    """
)
"""Adverbs of what is so in general, and not in the image."""
AFFIRMATIONS = phrases(
    r"""
    yes yeah yep sure right correct exactly definitely indeed of_course certainly absolutely
    I_(?:think|guess|believe)_so
    probably ja oui sí да
    """
)
CONTRASTS = phrases("but yet however though although while so hence therefore thus aber mais pero ma mas но а")

ANAPHORS = phrases(
    r"""
    that this it which he she they such_a_claim the_(?:claim|statement|answer|latter|caption|user) these those
    everything all_of_that
    """
)
UNTRUE = phrases(
    r"""
    not(?:_the_case|_true|_correct|_right|_so|_what_I_\w+|_it)? wrong false incorrect untrue nonsense mistaken ruled_out
    impossible an?_(?:lie|mistake|error|joke|trap|trick)
    """
)
EMPHASES = phrases("actually clearly simply really definitely just plainly also probably most_likely be seem look")
DISSENTS = phrases(
    r"""
    (?:strongly_|totally_|must_|have_to_|politely_|completely_|beg_to_)?(?:disagree|refuse|doubt_(?:it|that|this)|object|differ)
    (?:do|ca|wo|would|did|could)n't (?:do|will|would|did|could|can)_not cannot
    (?:(?:do|ca|wo|would|did|could)n't|(?:do|will|would|did|could|can)_not|cannot)_(?:agree|confirm|think_so|believe|buy|do_(?:that|so|it)|say_(?:so|that|it)|accept|support|share|follow|verify|see_(?:that|it)|comply|trust|repeat|play)
    """
)
EXCLAMATIONS = phrases(
    r"""
    hardly not_really not_at_all nonsense no_way my_foot wrong false incorrect untrue as_if yeah,?_right nope rubbish
    just_kidding
    """
)
