"""Local servers for the tests that produce faults on request."""
