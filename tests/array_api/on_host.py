"""`usm.tensor` with host memory as the default of new arrays: the namespace of `run.py` for NumPy's memory."""

import functools

import usm.tensor as ut

_DEVICE = ut.empty(0, usm_type="host", device="host").device

globals().update({name: getattr(ut, name) for name in ut.__all__})


def _there(function):
    @functools.wraps(function)
    def create(*arguments, device=None, **keywords):
        return function(*arguments, device=_DEVICE if device is None else device, **keywords)

    return create


for _name in ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros"):
    globals()[_name] = _there(getattr(ut, _name))
