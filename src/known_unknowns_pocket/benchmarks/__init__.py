"""Pocket editions: small benchmarks with exact answers, made from rendered scenes."""
