"""Shared-prefix inference: each image is computed once, and every question about it continues from its cache.

An image's features are computed once (`encoder`), and so are the tokens of a prompt up to its last image (`prefix`,
`pieces`, `prefix_cache`). The rest is computed for many questions in one forward pass, as rows or packed into a tree
(`token_tree`), or separately (`segments`). Replies are continued from there (`rows`, `state_copies`), token by token,
as ``generate`` would have written them (`decoding`). `shared_decoder` chooses the plan, and `check` compares it
with ``generate``.
"""
