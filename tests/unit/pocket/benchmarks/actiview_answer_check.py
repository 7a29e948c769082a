"""Answers to the pocket ActiView's questions, worked out from their text and the scene graph alone."""

import re

from known_unknowns_pocket.scenes import relations

WAYS = ("left of", "right of", "above", "below")
SIDES = dict(zip(("On the left", "On the right", "Above it", "Below it"), WAYS, strict=True))
HEADINGS = dict(zip(("To the left", "To the right", "Upwards", "Downwards"), WAYS, strict=True))
LIES = dict(zip(("to the left of", "to the right of", "above", "below"), WAYS, strict=True))


class AnswerCheck:
    """Answers a question from its text and the scene graph alone."""

    def __init__(self, scene_image):
        self.scene, self.box = scene_image.scene, scene_image.box
        self.relations = set(relations(self.scene))
        self.small = [index for index, thing in enumerate(self.scene.objects) if thing.size == "small"]

    def like(self, name):
        colour, _, shape = name.rpartition(" ")
        things = self.scene.objects
        return [k for k in self.small if things[k].shape == shape and colour in ("", things[k].colour)]

    def one(self, name):
        (index,) = self.like(name)
        return index

    def holds(self, one, way, other):
        return (one, other, way) in self.relations

    def way(self, name, other):
        """Where one lies from the other: by the graph, and plainly so by the boxes' middles."""
        one, other = self.one(name), self.one(other)
        (way,) = [way for way in WAYS if self.holds(one, way, other)]
        ours, theirs = self.box(one), self.box(other)
        dx, dy = ((ours[k] + ours[k + 2] - theirs[k] - theirs[k + 2]) / 2 for k in (0, 1))
        assert way == (WAYS[dx > 0] if abs(dx) > 2 * abs(dy) else WAYS[2 + (dy > 0)])
        assert max(abs(dx), abs(dy)) > 2 * min(abs(dx), abs(dy))
        return way

    def answer(self, stem):
        (found,) = [(rule, match) for pattern, rule in self.RULES if (match := re.fullmatch(pattern, stem))]
        return found[0](self, *found[1].groups())

    def country(self, told):
        emblems = re.findall(r"(\w+) a small (\w+ \w+) and a small (\w+ \w+)(?:; |$)", told)
        assert "; ".join(f"{n} a small {a} and a small {b}" for n, a, b in emblems) == told
        (name,) = [name for name, a, b in emblems if self.like(a) and self.like(b)]
        return name

    def is_place(self, kind, one, lies, other, again):
        assert kind == again
        return "Yes" if self.way(one, other) == LIES[lies] else "No"

    def which_place(self, other, one, told):
        places = dict(re.findall(r"(to the left of|to the right of|above|below) it in a (\w+)", told))
        assert len(places) == len(set(places.values())) == 4
        way = self.way(one, other)
        return f"A {next(place for lies, place in places.items() if LIES[lies] == way)}"

    def colour(self, shape, lies, other):
        (index,) = [index for index in self.like(shape) if self.holds(index, LIES[lies], self.one(other))]
        return self.scene.objects[index].colour.capitalize()

    def side(self, one, other):
        return next(side for side, way in SIDES.items() if way == self.way(one, other))

    def heading(self, start, end):
        return next(heading for heading, way in HEADINGS.items() if way == self.way(end, start))

    def count(self, many):
        return str(len(self.like(re.sub("(?<=cross)es$|s$", "", many))))

    def over(self, many):
        return "Yes" if len(self.colours(re.sub("(?<=cross)es$|s$", "", many))) == 1 else "No"

    def colours(self, name):
        return {self.scene.objects[index].colour for index in self.like(name)}

    def find(self, name):
        things, own = self.scene.objects, self.one(name)
        (index,) = [k for k in self.small if things[k].colour == name.split()[0] and k != own]
        return f"A {things[index].shape}"

    RULES = (
        (r"Each country has two emblems: (.+)\. In which country are both emblems of this place\?", country),
        (r"In a (\w+), the small (.+) lies (.+) the small (.+)\. Is this a (\w+)\?", is_place),
        (
            r"Seen from the small (.+), the small (.+) lies ((?:to|above|below) .+)\. What is this place\?",
            which_place,
        ),
        (r"What color is the small (\w+) that lies (.+) the small (.+)\?", colour),
        (r"Where is the small (.+) as seen from the small (.+)\?", side),
        (r"The wind blows from the small (.+) towards the small (.+)\. Where does it blow\?", heading),
        (r"The small (.+) runs after the small (.+)\. Where do they run\?", heading),
        (r"How many small (.+) are there\?", count),
        (r"The game of the small (.+) is over when all of them have the same color\. Is the game over\?", over),
        (r"The small (.+) picks up the other small object of its color\. What does it pick up\?", find),
    )
