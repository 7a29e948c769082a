"""The parts of the `openai` engine (known_unknowns.engines.openai): what is asked, how it is sent, how it is read."""
