"""The same calls in dpnp.tensor and here: the same results, in the same kind of memory, or the same exceptions."""

import warnings

import pytest

from support import requirements

np = requirements.needed("numpy")

import usm.tensor as ut


class Names:
    """A namespace with arrays made in it: what a program has after `import … as dpt`."""

    def __init__(self, module, queue):
        self.t, self.queue = module, queue
        self.a = module.asarray(np.arange(6, dtype="f4").reshape(2, 3), usm_type="shared", sycl_queue=queue)
        self.b = module.asarray(np.array([2, 0, 1], dtype="i8"), usm_type="device", sycl_queue=queue)
        self.h = module.asarray(np.array([True, False, True]), usm_type="host", sycl_queue=queue)
        self.q = {"sycl_queue": queue}


RESULTS = {
    "empty": lambda n: n.t.zeros_like(n.t.empty((2, 3), dtype="i2", usm_type="shared", order="F", **n.q)),
    "zeros": lambda n: n.t.zeros((2, 3), dtype="i2", usm_type="shared", order="F", **n.q),
    "zeros default": lambda n: n.t.zeros(3, **n.q),
    "ones": lambda n: n.t.ones(3, dtype=n.t.int8, **n.q),
    "ones bool": lambda n: n.t.ones(3, dtype=bool, **n.q),
    "full": lambda n: n.t.full((2, 2), 7, **n.q),
    "full cast": lambda n: n.t.full(3, 2.7, dtype="i4", **n.q),
    "full negative cast": lambda n: n.t.full(3, -2.7, dtype="i4", **n.q),
    "full bool": lambda n: n.t.full(3, 2, dtype="?", **n.q),
    "full array": lambda n: n.t.full((2, 3), n.b),
    "full array dtype": lambda n: n.t.full((2, 3), n.b, dtype="f8", usm_type="host"),
    "full like": lambda n: n.t.full_like(n.a, 3.5),
    "full like cast": lambda n: n.t.full_like(n.b, 3.5),
    "ones like": lambda n: n.t.ones_like(n.a.T, dtype="c8", usm_type="host"),
    "zeros like": lambda n: n.t.zeros_like(n.b, order="C"),
    "eye": lambda n: n.t.eye(3, 4, k=-1, dtype="f4", **n.q),
    "arange": lambda n: n.t.arange(5, **n.q),
    "arange real": lambda n: n.t.arange(1, 3, 0.5, dtype="f4", **n.q),
    "arange down": lambda n: n.t.arange(5, -2, step=-3, usm_type="host", **n.q),
    "linspace": lambda n: n.t.linspace(0, 1, 5, **n.q),
    "linspace keyword": lambda n: n.t.linspace(0, 10, num=4, endpoint=False, dtype="i4", **n.q),
    "tril": lambda n: n.t.tril(n.a, k=1),
    "triu": lambda n: n.t.triu(n.a),
    "meshgrid": lambda n: tuple(n.t.copy(g, order="C") for g in n.t.meshgrid(n.b, n.b[:2], indexing="ij")),
    "concat": lambda n: n.t.concat((n.a, n.a[:1]), axis=0),
    "concat promoted": lambda n: n.t.concat([n.b, n.h]),
    "concat flat": lambda n: n.t.concat([n.a, n.b], axis=None),
    "stack": lambda n: n.t.stack([n.b, n.h], axis=1),
    "unstack": lambda n: n.t.unstack(n.a, axis=1),
    "repeat": lambda n: n.t.repeat(n.a, 2, axis=1),
    "repeat array": lambda n: n.t.repeat(n.b, n.b),
    "repeat tuple": lambda n: n.t.repeat(n.b, (1, 0, 2)),
    "tile": lambda n: n.t.tile(n.b, (2, 1)),
    "roll": lambda n: n.t.roll(n.a, 1),
    "roll axes": lambda n: n.t.roll(n.a, (1, 2), axis=(0, 1)),
    "permute_dims": lambda n: n.t.permute_dims(n.a, (1, 0)),
    "moveaxis": lambda n: n.t.moveaxis(n.a, 0, -1),
    "swapaxes": lambda n: n.t.swapaxes(n.a, axis1=0, axis2=1),
    "matrix_transpose": lambda n: n.t.matrix_transpose(n.a),
    "expand_dims": lambda n: n.t.expand_dims(n.a, axis=(0, -1)),
    "expand_dims default": lambda n: n.t.expand_dims(n.a),
    "squeeze": lambda n: n.t.squeeze(n.a[:1], axis=0),
    "squeeze all": lambda n: n.t.squeeze(n.a[:1]),
    "flip": lambda n: n.t.flip(n.a, axis=1),
    "flip all": lambda n: n.t.flip(n.a),
    "reshape": lambda n: n.t.reshape(n.a, (3, -1)),
    "reshape F": lambda n: n.t.reshape(n.a, 6, order="F", copy=True),
    "broadcast_to": lambda n: n.t.broadcast_to(n.b, (2, 3)),
    "broadcast_arrays": lambda n: n.t.broadcast_arrays(n.a, n.b),
    "astype": lambda n: n.t.astype(n.a, n.t.int16),
    "astype order": lambda n: n.t.astype(n.a.T, "f8", order="C", casting="safe", copy=False),
    "copy": lambda n: n.t.copy(n.a.T),
    "copy F": lambda n: n.t.copy(n.a, order="F"),
    "take": lambda n: n.t.take(n.a, n.b, axis=1),
    "take mode": lambda n: n.t.take(n.b, n.b, mode="clip"),
    "take_along_axis": lambda n: n.t.take_along_axis(n.a, n.t.reshape(n.b, (1, 3)), axis=1),
    "nonzero": lambda n: n.t.nonzero(n.a),
    "extract": lambda n: n.t.extract(n.h, n.b),
    "where": lambda n: n.t.where(n.h, n.a, n.b),
    "where numbers": lambda n: n.t.where(n.h, n.a, 2),
    "equal": lambda n: n.t.equal(n.a, n.b),
    "not_equal": lambda n: n.t.not_equal(n.a, 2),
    "less": lambda n: n.t.less(2, n.a),
    "less_equal": lambda n: n.t.less_equal(n.a, n.b),
    "greater": lambda n: n.t.greater(n.a, 1.5),
    "greater_equal": lambda n: n.t.greater_equal(n.b, n.h),
    "logical_and": lambda n: n.t.logical_and(n.a, n.h),
    "logical_or": lambda n: n.t.logical_or(n.b, n.h),
    "logical_xor": lambda n: n.t.logical_xor(n.b, n.h),
    "logical_not": lambda n: n.t.logical_not(n.a.T),
    "bitwise_and": lambda n: n.t.bitwise_and(n.h, True),
    "bitwise_invert": lambda n: n.t.bitwise_invert(n.h),
    "isnan": lambda n: n.t.isnan(n.a),
    "isfinite": lambda n: n.t.isfinite(n.b),
    "isinf": lambda n: n.t.isinf(n.a.T),
    "signbit": lambda n: n.t.signbit(n.a),
    "all": lambda n: n.t.all(n.a, axis=1, keepdims=True),
    "all scalar": lambda n: n.t.all(n.a),
    "any": lambda n: n.t.any(n.a, axis=(0, 1)),
    "count_nonzero": lambda n: n.t.count_nonzero(n.a, axis=0),
    "min": lambda n: n.t.min(n.a, axis=0),
    "max": lambda n: n.t.max(n.b),
    "sum": lambda n: n.t.sum(n.a, axis=1),
    "sum integers": lambda n: n.t.sum(n.b),
    "sum bool": lambda n: n.t.sum(n.h, axis=0, keepdims=True),
    "sum dtype": lambda n: n.t.sum(n.b, dtype="f4"),
    "allclose": lambda n: n.t.allclose(n.a, n.a),
}
VALUES = {
    "can_cast": lambda n: (
        n.t.can_cast(n.a, "f8"),
        n.t.can_cast("f8", "f4"),
        n.t.can_cast("i4", "i2", casting="same_kind"),
    ),
    "result_type": lambda n: np.dtype(n.t.result_type(n.a, n.b, 1.5)),
    "result_type numbers": lambda n: np.dtype(n.t.result_type("i1", 2)),
    "isdtype": lambda n: n.t.isdtype(np.dtype("f4"), ("integral", np.dtype("f4"))),
    "finfo": lambda n: (n.t.finfo(n.a).eps, n.t.finfo("c16").max, n.t.finfo("f4").bits, n.t.finfo("f2").precision),
    "iinfo": lambda n: (n.t.iinfo(n.b).max, n.t.iinfo("u2").min, n.t.iinfo("u2").bits),
    "dtypes": lambda n: sorted(n.t.__array_namespace_info__().dtypes(kind="numeric")),
    "defaults": lambda n: [str(d) for d in n.t.__array_namespace_info__().default_dtypes(device=n.queue).values()],
    "constants": lambda n: (n.t.pi, n.t.e, n.t.inf, str(n.t.nan), n.t.newaxis),
    "device": lambda n: (
        repr(n.t.Device.create_device(n.queue)),
        n.t.Device.create_device(n.queue) == n.queue,
        n.t.Device.create_device(n.queue).sycl_device.name,
    ),
}
CHANGES = {
    "put": lambda n: n.t.put(n.b, n.t.arange(2, **n.q), 7),
    "put axis": lambda n: n.t.put(n.a, n.b, n.t.ones((2, 1), **n.q), axis=1),
    "put clip": lambda n: n.t.put(n.b, n.t.full(1, 9, **n.q), 5, mode="clip"),
    "put sequence": lambda n: n.t.put(n.b, n.t.arange(2, **n.q), np.array([5, 6])),
    "put_along_axis": lambda n: n.t.put_along_axis(n.a, n.t.reshape(n.b, (1, 3)), n.t.full((1, 3), -1, **n.q), axis=1),
    "place": lambda n: n.t.place(n.b, n.h, n.t.full(1, 9, **n.q)),
    "take out": lambda n: n.t.take(n.t.arange(3, **n.q), n.t.copy(n.b), out=n.b),
    "equal out": lambda n: n.t.equal(n.h, True, out=n.h),
    "max out": lambda n: n.t.max(n.a, axis=0, out=n.a[0]),
}


@pytest.fixture
def both(dpctl, dpt, sycl_queue):
    theirs = dpctl.SyclQueue(sycl_queue.sycl_device.filter_string)
    return Names(ut, sycl_queue), Names(dpt, theirs)


def compare(ours, theirs, dpt):
    if isinstance(theirs, (tuple, list)):
        # dpctl has some lists where the standard has tuples.
        assert isinstance(ours, tuple)
        for a, b in zip(ours, theirs, strict=True):
            compare(a, b, dpt)
        return
    assert ours.shape == theirs.shape
    assert np.dtype(ours.dtype) == theirs.dtype
    assert ours.usm_type == theirs.usm_type
    np.testing.assert_array_equal(ut.asnumpy(ours), dpt.asnumpy(theirs))
    if theirs.size > 1:
        wide = [n > 1 for n in theirs.shape]
        strides = zip(ours.strides, theirs.strides, wide, strict=True)
        assert ours.flags.c_contiguous == theirs.flags.c_contiguous
        assert all(a == b for a, b, w in strides if w)


@pytest.mark.parametrize("name", RESULTS)
def test_results(both, dpt, name):
    compare(RESULTS[name](both[0]), RESULTS[name](both[1]), dpt)


@pytest.mark.parametrize("name", VALUES)
def test_values(both, name):
    assert VALUES[name](both[0]) == VALUES[name](both[1])


@pytest.mark.parametrize("name", CHANGES)
def test_changes(both, dpt, name):
    for names in both:
        CHANGES[name](names)
    for array in ("a", "b", "h"):
        compare(getattr(both[0], array), getattr(both[1], array), dpt)


EXCEPTIONS = {
    "shape": lambda n: n.t.empty(1.5, **n.q),
    "size": lambda n: n.t.empty(-1, **n.q),
    "kind": lambda n: n.t.empty(3, usm_type="x", **n.q),
    "kind type": lambda n: n.t.empty(3, usm_type=3, **n.q),
    "order": lambda n: n.t.empty(3, order="Z", **n.q),
    "device": lambda n: n.t.empty(3, device=object()),
    "two places": lambda n: n.t.empty(3, device=n.queue, sycl_queue=type(n.queue)()),
    "full": lambda n: n.t.full(3, "x", **n.q),
    "full array": lambda n: n.t.full((2, 2), n.b),
    "arange step": lambda n: n.t.arange(0, 5, 0, **n.q),
    "linspace": lambda n: n.t.linspace(0, 1, -1, **n.q),
    "tril": lambda n: n.t.tril(n.b),
    "tril type": lambda n: n.t.tril(3),
    "meshgrid": lambda n: n.t.meshgrid(n.a),
    "meshgrid indexing": lambda n: n.t.meshgrid(n.b, indexing="x"),
    "concat type": lambda n: n.t.concat(n.a),
    "concat items": lambda n: n.t.concat([1, 2]),
    "concat axes": lambda n: n.t.concat([n.a, n.b]),
    "concat axis": lambda n: n.t.concat([n.a, n.a], axis=2),
    "stack": lambda n: n.t.stack([n.a, n.b]),
    "unstack": lambda n: n.t.unstack(n.b[0]),
    "repeat": lambda n: n.t.repeat(n.b, -1),
    "repeat counts": lambda n: n.t.repeat(n.b, (1, 2)),
    "repeat axis": lambda n: n.t.repeat(n.b, 1, axis=1),
    "tile": lambda n: n.t.tile(n.b, -1),
    "permute_dims": lambda n: n.t.permute_dims(n.a, (0, 0)),
    "moveaxis": lambda n: n.t.moveaxis(n.a, 0, 2),
    "swapaxes": lambda n: n.t.swapaxes(n.a, 0, 2),
    "matrix_transpose": lambda n: n.t.matrix_transpose(n.b),
    "expand_dims": lambda n: n.t.expand_dims(n.b, axis=5),
    "squeeze": lambda n: n.t.squeeze(n.a, 0),
    "squeeze axis": lambda n: n.t.squeeze(n.a, 5),
    "flip": lambda n: n.t.flip(n.a, axis=2),
    "reshape": lambda n: n.t.reshape(n.a, 5),
    "reshape copy": lambda n: n.t.reshape(n.a.T, 6, copy=False),
    "broadcast_to": lambda n: n.t.broadcast_to(n.b, (2, 2)),
    "broadcast_arrays": lambda n: n.t.broadcast_arrays(n.b, n.b[:2]),
    "astype": lambda n: n.t.astype(n.a, "i4", casting="safe"),
    "astype casting": lambda n: n.t.astype(n.a, "i4", casting="x"),
    "copy": lambda n: n.t.copy(3),
    "copy order": lambda n: n.t.copy(n.a, order="Z"),
    "take": lambda n: n.t.take(n.b, n.a),
    "take type": lambda n: n.t.take(n.b, {0}),
    "take axis": lambda n: n.t.take(n.a, n.b),
    "take mode": lambda n: n.t.take(n.b, n.b, mode="x"),
    "take out": lambda n: n.t.take(n.b, n.b, out=n.h),
    "put axis": lambda n: n.t.put(n.a, n.b, 1),
    "put values": lambda n: n.t.put(n.b, n.b, n.b[:2]),
    "take_along_axis": lambda n: n.t.take_along_axis(n.a, n.b),
    "nonzero": lambda n: n.t.nonzero(n.b[0]),
    "extract": lambda n: n.t.extract(n.h[:2], n.b),
    "place": lambda n: n.t.place(n.b, n.h[:2], n.b),
    "place nothing": lambda n: n.t.place(n.b, n.h, n.b[:0]),
    "where": lambda n: n.t.where(n.h, n.b, n.b[:2]),
    "where condition": lambda n: n.t.where(True, n.b, n.b),
    "can_cast": lambda n: n.t.can_cast("f8", "f4", casting="x"),
    "can_cast array": lambda n: n.t.can_cast("f8", n.a),
    "result_type": lambda n: n.t.result_type(),
    "finfo": lambda n: n.t.finfo("i4"),
    "iinfo": lambda n: n.t.iinfo("f4"),
    "isdtype": lambda n: n.t.isdtype(np.dtype("i4"), "x"),
    "isdtype type": lambda n: n.t.isdtype(np.dtype("i4"), 3),
    "equal": lambda n: n.t.equal(1, 2),
    "equal shapes": lambda n: n.t.equal(n.b, n.b[:2]),
    "equal out": lambda n: n.t.equal(n.b, n.b, out=n.h[:2]),
    "bitwise_and": lambda n: n.t.bitwise_and(n.a, n.a),
    "min": lambda n: n.t.min(n.b[:0]),
    "min axis": lambda n: n.t.min(n.b, axis=3),
    "min repeated axis": lambda n: n.t.min(n.a, axis=(0, 0)),
    "get_execution_queue": lambda n: n.t.get_execution_queue(3),
    "get_coerced_usm_type": lambda n: n.t.get_coerced_usm_type("host"),
    "validate_usm_type": lambda n: n.t.validate_usm_type("x"),
    "Device": lambda n: n.t.Device(),
    "create_device": lambda n: n.t.Device.create_device("x"),
    "two queues": lambda n: n.t.equal(n.b, n.t.ones(3, sycl_queue=type(n.queue)())),
    "two queues concat": lambda n: n.t.concat([n.b, n.t.ones(3, sycl_queue=type(n.queue)())]),
    "two queues where": lambda n: n.t.where(n.h, n.b, n.t.ones(3, sycl_queue=type(n.queue)())),
    "two queues take": lambda n: n.t.take(n.b, n.t.arange(3, sycl_queue=type(n.queue)())),
}


def raised(call, names):
    with pytest.raises(Exception) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(names)
    return caught.value


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_exceptions(both, name):
    ours, theirs = (raised(EXCEPTIONS[name], names) for names in both)
    # A class of dpctl or NumPy, such as AxisError, has the built-in one that ours is, or ours of that name.
    bases = {base.__name__ for base in type(ours).__mro__} - {"Exception", "BaseException", "object"}
    assert type(theirs).__name__ in bases or any(
        base in type(theirs).__mro__ for base in (ValueError, TypeError) if isinstance(ours, base)
    ), (ours, theirs)
