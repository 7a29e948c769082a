"""Golden values of a commit: every reply, score and number of its runs, and their comparison with another run."""
