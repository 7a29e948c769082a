"""Shared-prefix inference for transformers: the common beginning of several prompts is computed once.

Use `SharedPrefixDecoder` with prompts from `make_prompts`. An image's features are computed once (`encoder`), and so
are the tokens of a prompt's prefix (`prefix`, `pieces`, `prefix_cache`). The rest is computed for many prompts in one
forward pass, as rows or packed into a tree (`token_tree`), or separately (`segments`). Replies are continued from there
(`rows`, `state_copies`), token by token, as ``generate`` would have written them (`decoding`). `shared_decoder` chooses
the plan, and `check` compares it with ``generate``. README.md has an example.
"""

from prefix_sharing.kernels import choose_kernels
from prefix_sharing.padding import PaddingCheck
from prefix_sharing.prompts import Prompt, make_prompts
from prefix_sharing.shared_decoder import SharedPrefixDecoder

__all__ = ["PaddingCheck", "Prompt", "SharedPrefixDecoder", "choose_kernels", "make_prompts"]
