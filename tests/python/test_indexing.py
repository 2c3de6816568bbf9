"""`a[key]` is a view at the right elements, and no memory is touched to make it."""

import pytest

import usm
import usm.tensor as ut

from support.model import Strided
from support.values import counting, pack

SHAPE = (4, 5, 6)

KEYS = [
    0,
    -1,
    (1, 2),
    (1, 2, 3),
    (-1, -1, -1),
    slice(None),
    slice(1, 3),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(3, 0, -2),
    slice(-2, None),
    slice(10, 20),
    slice(3, 1),
    slice(-100, 100),
    slice(100, -100, -3),
    (slice(None), 2),
    (slice(None, None, -1), slice(None, None, -2), slice(None, None, -3)),
    (slice(1, 3), slice(1, 4), slice(2, 5)),
    (slice(1, 3), 2, slice(None, None, 5)),
    ...,
    (..., 0),
    (0, ...),
    (0, ..., 0),
    (..., slice(None, None, -1)),
    (slice(2), ..., slice(1, 2)),
    (1, 2, 3, ...),
    None,
    (None, 0),
    (0, None),
    (..., None),
    (None, slice(None, None, -1), None, 2, ..., None),
    (),
]


@pytest.fixture
def cube(array, usm_type):
    flat = counting("int32", 120)
    flat = [n + 100 * (i // 100) for i, n in enumerate(flat)]
    a = array(SHAPE, dtype="i4", buffer=usm_type)
    a.usm_data.copy_from_host(pack("int32", flat))
    return a, Strided.c_order(flat, SHAPE)


@pytest.mark.any_memory
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_views_match_the_model(cube, key):
    a, model = cube
    before = usm.live_allocations()
    view, expected = a[key], model[key]
    assert usm.live_allocations() == before
    assert view.shape == expected.shape
    assert view.tolist() == expected.tolist()
    if view.size:
        assert view._pointer == a._pointer + 4 * expected.offset
        # Strides along axes of length 1 are free.
        assert [s for n, s in zip(view.shape, view.strides, strict=True) if n > 1] == [
            s for n, s in zip(expected.shape, expected.strides, strict=True) if n > 1
        ]
    assert view.usm_data._pointer == a.usm_data._pointer


@pytest.mark.any_memory
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_views_of_a_reversed_transposed_array(cube, key):
    a, model = cube
    reversed_view, expected = a.T[::-1, :, ::-1], model.transposed()[::-1, :, ::-1]
    assert reversed_view.tolist() == expected.tolist()
    assert reversed_view[key].tolist() == expected[key].tolist()


@pytest.mark.any_memory
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_views_survive_the_dict(cube, key):
    a, model = cube
    view = a[key]
    again = ut.asarray(view)
    assert again.tolist() == model[key].tolist()
    assert again.__sycl_usm_array_interface__ == view.__sycl_usm_array_interface__


@pytest.mark.parametrize("key", [4, -5, (0, 5), (0, 0, 6), (0, 0, -7), (0, 0, 0, 0), (..., ...), 2**70])
def test_indices_out_of_range(cube, key):
    with pytest.raises(IndexError):
        cube[0][key]


@pytest.mark.parametrize("key", [1.0, "a", (0, "b"), b"0", 1j, object()])
def test_keys_of_wrong_type(cube, key):
    with pytest.raises((TypeError, IndexError)):
        cube[0][key]


def test_a_step_of_zero_is_refused(cube):
    with pytest.raises(ValueError, match=r"step|zero"):
        cube[0][::0]


@pytest.mark.parametrize("name", ["start", "stop", "step"])
def test_ctrl_c_in_code_of_a_bound_comes_through(cube, name):
    class Bound:
        asked = 0

        def __index__(self):
            self.asked += 1
            if self.asked == 1:
                raise KeyboardInterrupt
            return 1

    bounds = {"start": None, "stop": None, "step": None}
    with pytest.raises(KeyboardInterrupt):
        cube[0][slice(*(bounds | {name: Bound()}).values())]


def test_numpy_integers_are_indices(cube, numpy):
    a, model = cube
    assert a[numpy.int64(1), numpy.uint8(2)].tolist() == model[1, 2].tolist()


def test_slices_of_slices_equal_one_slice(array, usm_type):
    a = array((100,), dtype="i4", buffer=usm_type)
    a.usm_data.copy_from_host(pack("int32", range(100)))
    view, expected = a, list(range(100))
    for part in (slice(5, 95), slice(None, None, -1), slice(2, 80, 3), slice(None, None, -2), slice(1, 10)):
        view, expected = view[part], expected[part]
        assert view.tolist() == expected
    assert view.usm_data._pointer == a.usm_data._pointer


def test_iteration_gives_rows(cube):
    a, model = cube
    assert [row.tolist() for row in a] == model.tolist()


def test_length_of_a_zero_dimensional_array(array):
    with pytest.raises(TypeError):
        len(array((), dtype="i4"))
