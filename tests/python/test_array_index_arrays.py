"""Index arrays, masks, lists and mixtures, and assignment through them, against NumPy, on every kind of memory."""

import array as array_module
import itertools
import random

import pytest

import usm.tensor as ut

from support.values import DTYPES

SHAPE = (4, 5, 6)


@pytest.fixture
def cube(array, numpy, usm_type):
    a, n = array(SHAPE, "i4", buffer=usm_type), numpy.arange(120, dtype="i4").reshape(SHAPE)
    a[...] = n
    return a, n


def ours(key, make):
    """The key with its lists as our arrays."""
    if isinstance(key, tuple):
        return tuple(ours(part, make) for part in key)
    return make(key) if isinstance(key, list) else key


KEYS = [
    [0],
    [3, 0, -1],
    [[0, 1], [2, 3]],
    [True, False, True, True],
    ([0, 1], [1, 2]),
    ([0, 1], 2),
    (1, [0, 2]),
    ([0, 1], slice(None), [1, 2]),
    (slice(None), [0, 4, 2]),
    (slice(None), [0, 4, 2], slice(None, None, -2)),
    (slice(1, 3), [[0], [4]], [1, 2]),
    (..., [5, 0]),
    ([0, 1], ..., None),
    (None, [0, 1]),
    ([[0], [1]], [2, 3], slice(1, 2)),
    (0, slice(None), [True, False, True, False, False, True]),
    ([True, True, False, False], [1, 2]),
    ([False] * 4,),
    ([False] * 4, [True, False, False, False, False]),
    True,
    False,
    (True, 1),
    (slice(None), None, [0, 1]),
    [[]],
    [],
    (3, [1], 5),
    ([-4, 3], [-5, 4], [-6, 5]),
]


def as_arrays(numpy, queue, usm_type, dtype):
    def make(key):
        n = numpy.asarray(key)
        n = n.astype("i8" if not n.size else n.dtype if n.dtype == bool else dtype)
        a = ut.usm_ndarray(n.shape, n.dtype, buffer=usm_type, buffer_ctor_kwargs={"queue": queue})
        a[...] = n
        return a

    return make


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("form", ["lists", "numpy", "arrays", "small"])
def test_reading(cube, numpy, queue, usm_type, key, form):
    a, n = cube
    expected = n[ours(key, lambda part: numpy.asarray(part, dtype=None if part and part != [[]] else "i8"))]
    makers = {
        "lists": lambda part: part,
        "numpy": lambda part: numpy.asarray(part, dtype=None if part and part != [[]] else "i8"),
        "arrays": as_arrays(numpy, queue, usm_type, "i8"),
        "small": as_arrays(numpy, queue, "host", "i1"),
    }
    for view, model in ((a, expected), (a[::-1][::-1], expected)):
        found = view[ours(key, makers[form])]
        assert found.shape == model.shape and found.tolist() == model.tolist()
        assert (found.dtype, found.usm_type, found.sycl_queue) == (a.dtype, usm_type, queue)
        assert found.flags.c_contiguous and found.flags.writable


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_assignment(cube, numpy, queue, usm_type, key):
    _, n = cube
    n_key = ours(key, lambda part: numpy.asarray(part, dtype=None if part and part != [[]] else "i8"))
    shape = n[n_key].shape
    values = numpy.arange(n[n_key].size, dtype="i4").reshape(shape) - 50
    for make in (lambda part: part, as_arrays(numpy, queue, usm_type, "i2")):
        for value in (7, values, values.tolist(), values[..., :1] if values.ndim else values):
            a = ut.usm_ndarray(SHAPE, "i4", buffer=usm_type, buffer_ctor_kwargs={"queue": queue})
            a[...] = n
            model = n.copy()
            if isinstance(value, list) and numpy.asarray(value).shape != shape:
                continue  # sizes of 0 that lists cannot tell
            a[ours(key, make)] = value
            model[n_key] = value
            assert a.tolist() == model.tolist(), value


def test_integers_without_axes_are_integers(cube):
    a, n = cube
    one = ut.usm_ndarray((), "u1", buffer="device")
    one[...] = 2
    assert a[one]._pointer == a[2]._pointer and a[one].tolist() == n[2].tolist()
    assert a[one, one, one].item() == n[2, 2, 2]
    flag = ut.usm_ndarray((), "?", buffer="device")
    flag[...] = True
    assert a[flag].shape == (1, *SHAPE)
    assert a[one:].shape == (2, 5, 6)


def test_masks_of_comparisons(cube):
    a, n = cube
    assert a[a > 100].tolist() == n[n > 100].tolist()
    assert a[(a > 10) & (a < 13), ...].tolist() == [11, 12]
    a[a < 100] = 0
    n[n < 100] = 0
    assert a.tolist() == n.tolist()
    a[a > 0] = list(range(20))
    n[n > 0] = list(range(20))
    assert a.tolist() == n.tolist()


@pytest.mark.any_memory
@pytest.mark.parametrize(
    "key",
    [
        [4],
        [-5],
        ([0], [5]),
        [True, False],
        [[True] * 6],
        (slice(None), [True] * 4),
        ([0, 1], [0, 1, 2]),
        [0.5],
        ["a"],
        [None],
        [[0], [1, 2]],
        (0, 0, 0, [0]),
        [2**70],
        [1j],
        b"\0",
        {0: 1},
    ],
    ids=repr,
)
def test_refused(cube, key):
    a, n = cube
    with pytest.raises((IndexError, ValueError)) as reading:
        a[key]
    with pytest.raises((IndexError, ValueError)):
        a[key] = 1
    assert a.tolist() == n.tolist(), "nothing is written"
    if not isinstance(key, tuple) or key[0] != [0, 1]:
        assert reading.type is IndexError


def test_numpy_arrays_that_are_no_index(cube, numpy):
    for key in (numpy.ones(2), numpy.array(["a"]), numpy.array([None]), numpy.float64(1), numpy.array(1.5)):
        with pytest.raises(IndexError):
            cube[0][key]


def test_random_mixtures(numpy, queue):
    """A mixture for each seed, read and written, beside NumPy."""
    for seed in range(300):
        rng = random.Random(seed)
        shape = tuple(rng.randrange(1, 5) for _ in range(rng.randrange(1, 4)))
        n = numpy.arange(numpy.prod(shape)).reshape(shape)
        kind = rng.choice(["host", "device", "shared"])
        a = ut.usm_ndarray(shape, "i8", buffer=kind, buffer_ctor_kwargs={"queue": queue})
        a[...] = n
        common = rng.randrange(1, 4)
        key, axis = [], 0
        while axis < len(shape) and rng.random() < 0.9:
            size, choice = shape[axis], rng.randrange(6)
            axis += 1
            if choice == 0:
                key.append(rng.randrange(-size, size))
            elif choice == 1:
                key.append(slice(*(rng.choice([None, -2, 1, 3]) for _ in range(2)), rng.choice([None, -1, 2])))
            elif choice == 2:
                key.append([rng.randrange(-size, size) for _ in range(common)])
            elif choice == 3:
                key.append([[rng.randrange(-size, size)] for _ in range(2)])
            elif choice == 4:
                mask = [False] * size
                for place in rng.sample(range(size), min(size, common)):
                    mask[place] = True
                key.append(mask)
            else:
                axis -= 1
                key.append(None)
        key = tuple(key)
        n_key = ours(key, numpy.asarray)
        try:
            expected = n[n_key]
        except IndexError:
            with pytest.raises((IndexError, ValueError)):
                a[key]
            continue
        assert a[key].shape == expected.shape and a[key].tolist() == expected.tolist(), (seed, shape, key)
        values = -numpy.arange(1, expected.size + 1).reshape(expected.shape)
        a[key] = values
        n[n_key] = values
        assert a.tolist() == n.tolist(), (seed, shape, key)


@pytest.mark.parametrize(("source", "target"), list(itertools.product([*DTYPES][::3], DTYPES)), ids=str)
def test_assigned_arrays_are_cast(array, numpy, usm_type, source, target):
    values = numpy.asarray([0, 1, 2, 100]).astype(source)
    a = array((2, 4), target, buffer=usm_type)
    a[...] = values
    with numpy.errstate(all="ignore"), __import__("warnings").catch_warnings(action="ignore"):
        expected = values.astype(target)
    assert a.tolist() == [expected.tolist()] * 2


def test_what_can_be_assigned(array, numpy, usm_type):
    a = array((2, 3), "f8", buffer=usm_type)
    import array as stdlib

    for value in (
        [1, 2, 3],
        (1, 2.5, True),
        [[1], [2]],
        range(3),
        [range(3), (4, 5, 6)],
        numpy.arange(3),
        numpy.arange(6.0).reshape(3, 2).T,
        numpy.arange(12).reshape(2, 6)[:, ::-2],
        stdlib.array("f", [1, 2, 3]),
        memoryview(b"abc"),
        numpy.float32(0.5),
        numpy.asarray(2),
        [numpy.float64(3), 4, numpy.int8(5)],
        2**80,
        True,
    ):
        a[...] = value
        expected = numpy.zeros((2, 3))
        expected[...] = value
        assert a.tolist() == expected.tolist(), value


def test_real_numbers_in_integers(array, usm_type):
    """As in NumPy: the fraction is lost, and what is no number is refused."""
    a = array((2,), "i4", buffer=usm_type)
    for value, expected in ((1.9, 1), (-1.9, -1), (True, 1), (0.0, 0)):
        a[...] = value
        assert a.tolist() == [expected] * 2
    for value, error in (
        (float("nan"), ValueError),
        (float("inf"), OverflowError),
        (1e10, OverflowError),
        (1j, TypeError),
    ):
        with pytest.raises(error):
            a[0] = value
    with pytest.raises(TypeError):
        array((2,), "f4", buffer=usm_type)[0] = 1j
    assert a.tolist() == [0, 0]


@pytest.mark.parametrize(
    "value", ["a", None, object(), {}, {1}, [None], ["a"], [[1], [2, 3]], [1, [2]], [[1], 2], b"ab"]
)
def test_what_cannot_be_assigned(array, usm_type, value):
    a = array((3,), "i4", buffer=usm_type)
    a[...] = 5
    with pytest.raises((TypeError, ValueError)):
        a[...] = value
    assert a.tolist() == [5] * 3


def test_lists_that_contain_themselves(array):
    a = array((3,), "i4")
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="sequences"):
        a[...] = endless
    with pytest.raises(IndexError, match="sequences"):
        a[endless]


def test_the_array_itself_as_value_and_index(array, numpy, usm_type):
    a = array((5,), "i8", buffer=usm_type)
    a[...] = [4, 3, 2, 1, 0]
    a[a] = a[::-1]
    n = numpy.asarray([4, 3, 2, 1, 0])
    n[n.copy()] = n[::-1].copy()
    assert a.tolist() == n.tolist()


def test_arrays_of_dpnp(dpt, sycl_queue, usm_type):
    a = ut.zeros((3, 4), "i4", usm_type=usm_type, sycl_queue=sycl_queue)
    a[...] = dpt.reshape(dpt.arange(12, dtype="i8"), (3, 4))
    assert a[dpt.asarray([2, 0])].tolist() == [[8, 9, 10, 11], [0, 1, 2, 3]]
    assert a[dpt.asarray([True, False, False])].tolist() == [[0, 1, 2, 3]]
    a[dpt.asarray([0]), 1:] = dpt.ones(3)
    assert a.tolist()[0] == [0, 1, 1, 1]
    theirs = dpt.reshape(dpt.arange(12, dtype="i4"), (3, 4))
    for key in ((0, slice(None)), dpt.asarray([1, 2]), (slice(None), dpt.asarray([3, 3])), dpt.asarray([False] * 3)):
        model = ut.asarray(theirs)
        assert model[key].tolist() == dpt.asnumpy(theirs[key]).tolist()


def test_errors_of_other_code_come_through(array):
    class Broken:
        def __init__(self, error):
            self.error = error

        def __getattr__(self, name):
            raise self.error

        def __index__(self):
            raise self.error

    a = array((3,), "i4")
    for error in (RuntimeError("mine"), KeyboardInterrupt()):
        for act in (
            lambda e=error: a[Broken(e)],
            lambda e=error: a.__setitem__(0, Broken(e)),
            lambda e=error: a == Broken(e),
        ):
            with pytest.raises(type(error)):
                act()


def test_messages_name_what_is_wrong(array):
    a = array((3,), "i4")
    for act, start in (
        (lambda: a["x"], "index: found str"),
        (lambda: a[[1, "x"]], "index"),
        (lambda: a.__setitem__(..., {}), "value: found dict"),
        (lambda: a.__setitem__(..., [1, {}]), "value"),
    ):
        with pytest.raises((IndexError, TypeError), match=f"^{start}"):
            act()


class Three:
    def __index__(self):
        return 3


# Objects between the brackets, each of which NumPy takes for an index, a mask or an array of them.
KEYS = {
    "range": range(3),
    "a range backwards": range(3, -1, -2),
    "an empty range": range(0),
    "ranges": (range(2), range(2)),
    "a range and a slice": (range(2), slice(1, 3)),
    "tuples": ((0, 1), (1, 0)),
    "a tuple in a tuple": ((2, 0),),
    "an empty tuple in a tuple": ((),),
    "nested tuples": (((0, 1), (2, 3)),),
    "nested tuples and lists": ([[0], [1]], ((0, 1),)),
    "an empty list": [],
    "a list of booleans": [True, False, True, False],
    "a tuple of booleans": ((True, False, True, False),),
    "a list of ranges": [range(2), range(2, 4)],
    "an array of the standard library": array_module.array("h", [3, 1]),
    "a bytearray": bytearray([3, 1]),
    "a view of bytes": memoryview(b"\x01\x02"),
    "a view beside a range": (memoryview(bytearray(2)), range(2)),
    "an object with __index__": Three(),
    "objects with __index__": (Three(), Three()),
    "true": True,
    "a range beyond nothing": (slice(None), range(1, 5, 3)),
    "one of each": (None, range(2), ..., (0, 1)),
}


@pytest.mark.any_memory
@pytest.mark.parametrize("name", KEYS)
def test_every_kind_of_index_object(array, numpy, usm_type, name):
    key, shape = KEYS[name], (4, 5)
    a, n = array(shape, "i4", buffer=usm_type), numpy.arange(20, dtype="i4").reshape(shape)
    a[...] = n
    assert a[key].tolist() == n[key].tolist() and a[key].shape == n[key].shape
    a[key], n[key] = -1, -1
    assert a.tolist() == n.tolist()
    if n[key].size:
        values = -numpy.arange(1, n[key].size + 1, dtype="i4").reshape(n[key].shape)
        a[key], n[key] = values, values
        assert a.tolist() == n.tolist()


def test_numbers_of_numpy_as_indices(array, numpy, usm_type):
    a, n = array((4, 5), "i4", buffer=usm_type), numpy.arange(20, dtype="i4").reshape(4, 5)
    a[...] = n
    two, no = numpy.int8(2), numpy.bool_(False)
    for key in (
        two,
        (two, numpy.uint64(3)),
        numpy.asarray(2),
        no,
        (no, two),
        [two, two],
        (two, range(2)),
        ((two, 0), [0, two]),
    ):
        assert a[key].tolist() == n[key].tolist(), key


@pytest.mark.parametrize(
    "key",
    ["ab", b"ab", {0}, {0: 1}, 1.0, (0.5,), [1.0], ((1.5, 2),), iter([0]), object(), 1j],
    ids=lambda key: type(key).__name__,
)
def test_what_is_no_index(array, usm_type, key):
    a = array((4, 5), "i4", buffer=usm_type)
    a[...] = 7
    with pytest.raises(IndexError, match="^index"):
        a[key]
    with pytest.raises(IndexError):
        a[key] = 1
    assert a.tolist() == [[7] * 5] * 4


def test_sequences_beyond_an_axis_are_refused(array, usm_type):
    a = array((4, 5), "i4", buffer=usm_type)
    for key in (range(5), range(-5, 0), ((0, 4),), (range(2), range(3)), ((True, False),)):
        with pytest.raises((IndexError, ValueError)):
            a[key]


def test_indices_of_take_and_put_may_be_sequences(array, numpy, usm_type):
    a, n = array((4, 5), "i4", buffer=usm_type), numpy.arange(20, dtype="i4").reshape(4, 5)
    a[...] = n
    for indices in (
        range(3),
        (2, 0),
        [3, 1],
        [[0, 1], [2, 3]],
        ((0,), (1,)),
        numpy.asarray([1, 1]),
        range(0),
        [],
        memoryview(b"\x01"),
    ):
        found = ut.take(a, indices, axis=0)
        assert (
            found.tolist() == numpy.take(n, numpy.asarray(indices, "i8"), axis=0).tolist()
            and found.usm_type == usm_type
        )
    ut.put(a, (0, 2), 7, axis=0)
    n[[0, 2]] = 7
    assert a.tolist() == n.tolist()
    for wrong in ("ab", {0}, [0.5], object(), None):
        with pytest.raises((IndexError, TypeError), match="^ind(ices|ex array)"):
            ut.take(a, wrong, axis=0)


def test_index_arrays_that_do_not_broadcast(queue):
    array = ut.zeros((4, 4), sycl_queue=queue)
    mask = ut.asarray([True, True, True, False], sycl_queue=queue)
    for index in (([0, 1], [0, 1, 2]), (mask, [0, 1])):
        with pytest.raises(IndexError, match="^index arrays: shape"):
            array[index]
        with pytest.raises(IndexError, match="^index arrays: shape"):
            array[index] = 1
