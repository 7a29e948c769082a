"""The tokenizer and the chat template that all tiny checkpoints share; each adds its architecture's own tokens."""

from __future__ import annotations

import string
from functools import cache

import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

LETTERS = ("A", "B", "C", "D", "E")
END = "<|im_end|>"
_SPECIAL = ["<pad>", "<s>", "<|im_start|>", END]
_TEXT = [
    "user\nassistant\nWhat colour is the ball? Which animal sits beside the tree? How many chairs are there?",
    "\nA. Red\nB. Blue\nC. Green\nD. Yellow\nE. None of the above answer A B C D E",
    "Look at the picture first. Describe what you see in a few words. Is the door open or closed, and why?",
]
_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% for c in m['content'] %}{{ IMAGE if c['type'] == 'image' else c['text'] }}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def template(image: str) -> str:
    """A chat template that writes ``image`` where an image stands."""
    return _TEMPLATE.replace("IMAGE", repr(image))


@cache
def _trained() -> str:
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words.train_from_iterator(_TEXT * 2, trainer)
    return words.to_str()


def tokenizer(*special: str, **roles: str) -> transformers.PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with ``special`` control tokens; ``roles`` name some: ``image_token="<image>"``."""
    words = Tokenizer.from_str(_trained())
    words.add_special_tokens(list(special))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words,
        bos_token="<s>",
        eos_token=END,
        pad_token="<pad>",
        additional_special_tokens=list(special),
        model_specific_special_tokens=roles,
    )


def piece_tokenizer(pieces: tuple[str, ...]) -> transformers.PreTrainedTokenizerFast:
    """A tokenizer of characters and ``pieces`` that writes the sign ▁ before a text, as SentencePiece does."""
    names = [*_SPECIAL, "<unk>"]
    scores = dict.fromkeys(names, 0.0) | dict.fromkeys(pieces, -1.0)
    scores |= dict.fromkeys([*string.printable.replace(" ", ""), "▁"], -10.0)
    words = Tokenizer(models.Unigram(list(scores.items()), unk_id=names.index("<unk>")))
    words.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    words.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
    words.add_special_tokens(_SPECIAL)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token=END, pad_token="<pad>", unk_token="<unk>"
    )
