"""Loading, probing and asking a model: what creates engines and runs them over the questions of an edition."""
