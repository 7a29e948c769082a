"""The parts of the `openai` engine (known_unknowns.engines.openai): requests, rate limits, budget and replies."""
