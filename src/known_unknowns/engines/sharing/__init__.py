"""Shared-prefix inference: a picture is looked at once, and all that is asked of it starts from there.

A prompt's tokens up to its last picture are computed once (`prefix`), what follows is computed for many questions in
one forward pass, as rows or packed into a tree (`forest`), and replies are written on from there (`rows`,
`copies`), token by token, as ``generate`` would have written them (`writing`). Which of the ways is used, and that it
gives what ``generate`` gives, is the business of `sharer` and `check`.
"""
