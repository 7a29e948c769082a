r"""Set phrases of English in which a word has another sense: "out of the blue", "sad to say", "one by one".

An option's text inside such a phrase is not a mention of the option. The table names for each word its phrases;
``_`` stands for a space. It holds common idioms of words for colors, numbers, shapes, materials, animals, food,
weather, feelings, clothes, games, directions and postures, which are frequent texts of options.
"""

from __future__ import annotations

import re
from functools import cache

_PHRASES = {
    "angry": "I('m|_am)_(\\w+_)?angry",
    "apple": "apple_of_(my|his|her|your)_eye",
    "apples": "(compar\\w+|like)_apples_(to|and|with)_oranges",
    "ball": "on_the_ball ball_is_in_(your|his|her)_court ball_game",
    "bananas": "go(es|ing)?_bananas",
    "bank": "bank_on",
    "bat": "(right_)?off_the_bat bat_an_eye(lid)?",
    "bear": "bear_(in_mind|with_(me|us)|witness)",
    "bell": "rings?_a_bell",
    "bird": "a_little_bird_told early_bird",
    "black": "in_black_and_white black_(sheep|box|mark|humou?r|hole) black_and_white_(photo|image|picture|print|film)",
    "blue": "(out_of|into|in)_the_blue once_in_a_blue_moon (feel|feels|feeling)_blue",
    "boat": "in_the_same_boat miss(ed|es)?_the_boat",
    "box": "outside_(of_)?the_box black_box",
    "bus": "miss(ed|es)?_the_bus",
    "cake": "piece_of_cake (icing|cherry)_on_(the|top_of_the)_cake",
    "cards": "on_the_cards cards_on_the_table play_\\w+_cards_right house_of_cards",
    "cat": "let_the_cat_out copy_cat",
    "cats": "cats_and_dogs",
    "center": "center_of_attention",
    "centre": "centre_of_attention",
    "cherry": "cherry_(on|pick\\w*)",
    "chicken": "chicken_(out|feed)",
    "circle": "(full|vicious)_circle circle_of_(friends|life)",
    "clear": "(it's|it_is|quite|very|pretty|perfectly|to_be|make_it)_clear clear_(that|to_(me|see)|cut|enough|as_day)",
    "closed": "case_closed eyes_closed closed_book",
    "concrete": "concrete_(evidence|example|answer|clue|proof|terms)",
    "cow": "(cash|holy)_cow",
    "cup": "(my|your|everyone's)_cup_of_tea",
    "dog": "sick_as_a_dog dog_days",
    "down": "(narrow\\w*|boil\\w*|com(e|es|ing)|c[ao]me|cut\\w*|track\\w*|write|writing|break\\w*"
    "|pin\\w*)_(it_|this_|that_)?down",
    "elephant": "(the|white)_elephant_(in_the_room)? white_elephant",
    "fall": "falls?_(into|short|under|within|back)",
    "fan": "(a|big|huge|no|great)_fan_of",
    "fish": "fish_out_of_water big_fish",
    "five": "(high|take)_five",
    "four": "four-letter_word",
    "glass": "glass_(is_)?half",
    "gold": "gold_standard (as_good|worth_\\w+_weight)_(as|in)_gold heart_of_gold",
    "golden": "golden_(rule|opportunity|age|mean)",
    "gray": "gray_(area|matter)",
    "green": "green_with_envy (give|gives|gave|given|giving)_(\\w+_)?the_green_light",
    "grey": "grey_(area|matter)",
    "happy": "I('m|_am|'d_be|_would_be)_(\\w+_)?happy happy_to_(help|say|see|hear|assist|report|answer)"
    " (trigger|slap)_happy",
    "hat": "hat_trick eat_my_hat (my|your)_hat_off drop_of_a_hat out_of_(a|the)_hat",
    "horse": "(dark|high)_horse horse_around before_the_horse",
    "horses": "hold_your_horses",
    "ice": "(thin|break\\w*_the|broke_the)_ice",
    "iron": "iron_out",
    "jumping": "jumping_(to_conclusions|the_gun)",
    "key": "(the|a)_key_(to|point|detail|question|clue|feature|word)",
    "kite": "fly_a_kite",
    "luck": "good_luck_(with|to|in|finding|getting)",
    "million": "(one|chance)_in_a_million million_dollar_question",
    "nine": "nine_times_out_of cloud_nine",
    "one": "one_by_one one_(after|way_or)_(the_|an)?other for_one(_thing)?"
    " one_(thing|moment|second|sec|minute|last|final|should|has_to|needs_to)"
    " at_one_(point|time) back_to_square_one no_one number_one_(rule|thing)",
    "open": "open_(question|mind\\w*|secret|book|to_(debate|interpretation|question)|and_shut)",
    "oranges": "(compar\\w+|like)_apples_(to|and|with)_oranges",
    "paper": "on_paper",
    "pink": "tickled_pink in_the_pink",
    "plain": "plain_(and_simple|to_see|to_me|wrong|that) plain,?_(as_day)",
    "plastic": "plastic_surgery",
    "purple": "purple_prose",
    "rain": "rain_(or_shine|check) right_as_rain",
    "red": "red_(herring|flags?|tape|handed|carpet_treatment) (see|sees|seeing|saw)_red in_the_red",
    "right": "(all|quite)_right right_(away|now|then|off|on_time|out_of|up_to|from_the_start|enough)",
    "ring": "rings?_(a_bell|true|hollow)",
    "rock": "(solid|steady)_as_a_rock rock_bottom",
    "round": "(a|another|first|next|final|last)_round_of all(_|-)?(the_)?(year_)?round year(_|-)round"
    " round_(trip|about|here|the_(clock|corner|back))",
    "running": "running_(out|late|joke|low|gag) in_the_running",
    "sad": "sad_(to_say|but_true|fact|truth) I('m|_am)_(\\w+_)?sad",
    "second": "(on|upon|at|a)_second_(look|thought|thoughts|glance|sight|reading|inspection|opinion)"
    " second_(to_none|nature|guess\\w*) (a|one|one_more|just_a)_second",
    "seven": "sixes_and_sevens",
    "shelf": "off_the_shelf",
    "silver": "silver_(lining|bullet|tongue|screen)",
    "sitting": "sitting_(tight|duck)",
    "sleeping": "sleeping_on_it",
    "spring": "springs?_to_mind",
    "square": "square_(one|deal|meal|with) fair_and_square",
    "standing": "standing_(joke|out|by_(my|this|that))",
    "star": "star_of_(the|this|that|our)_(show|picture|image|scene|photo|shot|party)",
    "stone": "(set|carved|written|cast)_in_stone stone_(cold|dead|deaf)",
    "stop": "stop_(asking|telling|saying|me|it|right_there)",
    "straight": "straight_(away|forward|answer|face|from_the) (get|set|be|think)_\\w*_?straight",
    "summer": "indian_summer",
    "surprised": "I('m|_am|_was|'d_be)_(\\w+_)?surprised (not|don't|hardly)_(be_)?surprised",
    "ten": "ten_to_one out_of_ten",
    "third": "third_time",
    "three": "three_cheers",
    "tie": "ties?_(in_with|to|up)",
    "tree": "up_the_wrong_tree",
    "tunnel": "end_of_the_tunnel tunnel_vision",
    "two": "(my|your)_two_cents two_and_two_together two_by_two in_two_minds put_two_and or_two",
    "up": "(sum\\w*|look\\w*|end\\w*|mak(e|es|ing)|made|giv(e|es|ing)|gave|clear\\w*|clos(e|er)"
    "|what's|add\\w*|speak|wrap\\w*|show\\w*|turn(s|ed)?|com(e|es|ing))"
    "_(it_|this_|that_)?up up_(to|front|close|until|for)",
    "wall": "up_the_wall fly_on_the_wall",
    "water": "hold\\w*_water fish_out_of_water",
    "weather": "under_the_weather",
    "welcome": "you('re|_are)_(\\w+_)?welcome welcome_(to|back)",
    "white": "in_black_and_white white_(lie|elephant|noise|paper) black_and_white_(photo|image|picture|print|film)",
    "wolf": "cr(y|ies|ied|ying)_wolf",
    "wood": "(knock|touch)_(on_)?wood",
    "yellow": "yellow_pages",
}
_NEARBY = 28
"""Number of characters before and after a mention that are searched."""


@cache
def _pattern(word: str) -> re.Pattern[str]:
    phrases = _PHRASES[word].replace("_", r"\s").split()
    return re.compile(rf"\b(?:{'|'.join(phrases)})(?!\w)", re.IGNORECASE)


def in_idiom(text: str, start: int, end: int) -> bool:
    """Whether ``text[start:end]``, which has at most two words, is part of a set phrase with another sense."""
    words = text[start:end].casefold().split()
    if not words or len(words) > 2 or words[-1] not in _PHRASES:
        return False
    first = max(0, start - _NEARBY)
    return any(
        match.start() + first <= start < end <= match.end() + first and len(match[0]) > end - start
        for match in _pattern(words[-1]).finditer(text[first : end + _NEARBY])
    )
