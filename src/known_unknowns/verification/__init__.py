"""Verification of recorded replies: `verify` asks a sample again, `summaries` reads what it found."""
