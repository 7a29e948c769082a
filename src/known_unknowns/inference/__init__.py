"""How questions are asked: protocols bound to questions, the runner, its journal, and shards."""
