"""Helpers of the test-suite, without tests and without an import of NumPy."""
