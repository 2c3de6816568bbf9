"""Helpers of the test-suite: no test in here, and no import of NumPy."""
