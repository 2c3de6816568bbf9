"""Exceptions of the array functions that are of several built-in ones."""

__all__ = ["AxisError"]


class AxisError(ValueError, IndexError):
    """An axis that the array has not.

    >>> import usm.tensor as ut
    >>> ut.flip(ut.zeros(3, device="host"), axis=1)
    Traceback (most recent call last):
        ...
    usm.tensor.AxisError: axis: axis 1 is out of bounds for 1 axes, allowed are -1 to 0
    """


AxisError.__module__ = "usm.tensor"
