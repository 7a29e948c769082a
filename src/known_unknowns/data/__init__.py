"""Published files, brought here: from a hub, a git repository, plain addresses, or a folder that a user has.

Every file is checked against its size and hash before it is put where the workflow reads (`files`, `store`), what was
cut is continued (`download`), and what is right is what params.lock.yaml says (`known_unknowns.data.lock_file`).
"""
