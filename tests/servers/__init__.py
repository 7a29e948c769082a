"""Real servers for the tests, which misbehave on command."""
