"""A second opinion on questions: reads their text and looks at the image.

Colours, sizes, places and contacts are measured in rendered pixels, with none of the code under test but the
renderer; shapes and textures alone are taken from the scene. A true option must be plainly true, and a false
one not even roughly true.
"""

import re
from dataclasses import replace

import numpy as np

from known_unknowns_pocket.scenes import COLOURS, SHAPES, TEXTURES, Background, Scene, render

WHITE = Background((255, 255, 255), (255, 255, 255))
SHORTER = 200  # pixels of the shorter side that everything is measured at
DIRECTIONS = {
    "to the left of": (-1, 0),
    "to the right of": (1, 0),
    "above": (0, -1),
    "below": (0, 1),
}
CONTACTS = {
    "inside": ("inside", False),
    "around": ("inside", True),
    "partly covering": ("covering", False),
    "partly covered by": ("covering", True),
}
PHRASES = "|".join([*DIRECTIONS, *CONTACTS])


class Looks:
    """What can be seen of a scene's objects."""

    def __init__(self, scene: Scene):
        self.scene = scene
        width, height = (round(SHORTER * side) for side in scene.canvas)
        scene_image = np.asarray(render(scene, width, height)).astype(int)
        self.masks = [self._mask(thing, width, height) for thing in scene.objects]
        self.words = []
        for index, thing in enumerate(scene.objects):
            visible = self.masks[index].copy()
            for later in self.masks[index + 1 :]:
                visible &= ~later
            size = "small" if max(self.extent(index)) < 0.24 else "large"
            self.words.append({size, thing.texture, self._colour(scene_image[visible]), thing.shape})

    def _mask(self, thing, width, height):
        alone = np.asarray(render(replace(self.scene, objects=(thing,), background=WHITE), width, height))
        nothing = np.asarray(render(replace(self.scene, objects=(), background=WHITE), width, height))
        return np.abs(alone.astype(int) - nothing).max(axis=-1) > 12

    @staticmethod
    def _colour(pixels):
        """The named colour that most pixels are close to."""
        names = list(COLOURS)
        distances = np.abs(pixels[:, None, :] - np.array([COLOURS[name] for name in names])).max(axis=-1)
        return names[int((distances < 24).sum(axis=0).argmax())]

    def box(self, index):
        rows, columns = np.nonzero(self.masks[index])
        return np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])

    def extent(self, index):
        x0, y0, x1, y1 = self.box(index) / SHORTER
        return x1 - x0, y1 - y0

    def named(self, expression):
        """Ids of the objects that an expression may mean."""
        words = set(expression.removesuffix(" object").split()) - {"object"}
        return [index for index, seen in enumerate(self.words) if words <= seen]

    def relation(self, phrase, subject, target):
        """(plainly true, roughly true)"""
        if phrase in DIRECTIONS:
            return self._direction(DIRECTIONS[phrase], subject, target)
        kind, turned = CONTACTS[phrase]
        subject, target = (target, subject) if turned else (subject, target)
        within = self._within(subject, target)
        if kind == "inside":
            return within, within
        shared = (self.masks[subject] & self.masks[target]).sum()
        hidden = shared / self.masks[target].sum()
        in_front = subject > target and shared > 0
        return in_front and not within and 0.05 < hidden < 0.55, in_front

    def _within(self, subject, target):
        columns = np.nonzero(self.masks[subject].any(axis=0))[0]
        for column in columns:
            outer = np.nonzero(self.masks[target][:, column])[0]
            inner = np.nonzero(self.masks[subject][:, column])[0]
            if not outer.size or inner.min() <= outer.min() or inner.max() >= outer.max():
                return False
        return True

    def _direction(self, way, subject, target):
        ours, theirs = self.box(subject), self.box(target)
        dx, dy = ((ours[:2] + ours[2:]) - (theirs[:2] + theirs[2:])) / 2
        along, across = (dx * way[0], dy) if way[0] else (dy * way[1], dx)
        axis = 0 if way[0] else 1
        apart = max(ours[axis] - theirs[axis + 2], theirs[axis] - ours[axis + 2]) >= -1
        touching = (self.masks[subject] & self.masks[target]).any()
        nested = self._within(subject, target) or self._within(target, subject)
        plainly = apart and not touching and along > 0 and abs(across) <= 0.5 * along
        roughly = not nested and along > 0 and abs(across) <= 3 * along
        return plainly, roughly


def split(text):
    """Stem and the options by letter."""
    stem, *lines = text.split("\n")
    assert [line[:3] for line in lines] == [f"{letter}. " for letter in "ABCDE"]
    return stem, {line[0]: line[3:] for line in lines}


def check_answer(looks, text):
    """For each of the options A to D, (plainly true, roughly true); checks the expressions in the stem."""
    stem, options = split(text)
    assert options.pop("E") == "None of the above"
    assert len(set(options.values())) == 4
    for pattern, reader in READERS:
        match = re.fullmatch(pattern, stem)
        if match:
            return {letter: reader(looks, option, *match.groups()) for letter, option in options.items()}
    raise AssertionError(f"a question that the check cannot parse: {stem}")


def one(looks, expression):
    found = looks.named(expression)
    assert len(found) == 1, f"{expression!r} may mean {found} of {looks.words}"
    return found[0]


def exact(value):
    return value, value


def existence(looks, option):
    return exact(bool(looks.named(option)))


def count(looks, option, noun):
    singular = noun.removesuffix("crosses") + "cross" if noun.endswith("crosses") else noun.removesuffix("s")
    return exact(option == str(len(looks.named(singular))))


def where(looks, option, ours, theirs):
    subject, target = one(looks, ours), one(looks, theirs)
    return looks.relation(option.removesuffix(" it"), subject, target)


def related(looks, option, phrase, theirs):
    target = one(looks, theirs)
    found = looks.named(option)
    assert len(found) <= 1 and target not in found
    return looks.relation(phrase, found[0], target) if found else exact(False)


def colour(looks, option, expression):
    assert option in COLOURS and not set(COLOURS) & set(expression.split())
    return exact(option in looks.words[one(looks, expression)])


def shape(looks, option, expression):
    assert option in SHAPES and not set(SHAPES) & set(expression.split())
    return exact(option in looks.words[one(looks, expression)])


def texture(looks, option, expression):
    assert not set(TEXTURES) & set(expression.split())
    return exact(option in looks.words[one(looks, expression)])


def owner(looks, option, value):
    assert value not in option.split()
    found = looks.named(option)
    assert len(found) <= 1
    return exact(bool(found) and value in looks.words[found[0]])


READERS = [
    (r"Which of these objects is in the image\?", existence),
    (r"How many (.+) are there in the image\?", count),
    (r"Where is the (.+) in relation to the (.+)\?", where),
    (rf"Which of these objects is ({PHRASES}) the (.+)\?", related),
    (r"What colour is the (.+)\?", colour),
    (r"What shape is the (.+)\?", shape),
    (r"What is the texture of the (.+)\?", texture),
    (r"Which of these objects is (large|small|plain|striped|dotted)\?", owner),
]
