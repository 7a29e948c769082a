"""Published data: fetching, locking, checking, pinning, and the tables of questions.

Files come from a hub, a git repository, plain addresses, or a folder of the user. The size and hash of every file are
checked before it is put into the workflow's folders (`files`, `store`). Interrupted downloads are continued
(`download`). The expected hashes are in params.lock.yaml (`known_unknowns.data.lock_file`).
"""
