"""Construct questions from scene graphs: generate candidates, filter them, review them and release a data set."""
