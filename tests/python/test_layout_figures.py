"""The layout figures of the container specification: each element is where the figure draws it.

The specification draws four instances after the rule they all follow,
``a[i] == buf_flat[sum(strides[k] * i[k])]``; the rule is the fifth test, in three dimensions.
"""

import itertools

import pytest

import usm.tensor as ut

from support.values import counting, pack, unpack

# name: (elements of the buffer, shape, strides, offset, {index: position in buf_flat})
FIGURES = {
    "c_contiguous_2d": (
        6,
        (2, 3),
        (3, 1),
        0,
        {(0, 0): 0, (0, 1): 1, (0, 2): 2, (1, 0): 3, (1, 1): 4, (1, 2): 5},
    ),
    "f_contiguous_2d": (
        6,
        (2, 3),
        (1, 2),
        0,
        {(0, 0): 0, (1, 0): 1, (0, 1): 2, (1, 1): 3, (0, 2): 4, (1, 2): 5},
    ),
    "submatrix": (6, (2, 2), (3, 1), 0, {(0, 0): 0, (0, 1): 1, (1, 0): 3, (1, 1): 4}),
    "negative_1d": (8, (4,), (-2,), 7, {(3,): 1, (2,): 3, (1,): 5, (0,): 7}),
    "the_rule_in_3d": (
        60,
        (2, 3, 4),
        (30, -10, 2),
        21,
        {(i, j, k): 21 + 30 * i - 10 * j + 2 * k for i, j, k in itertools.product(range(2), range(3), range(4))},
    ),
}


@pytest.fixture(params=FIGURES)
def figure(request):
    return FIGURES[request.param]


@pytest.mark.any_memory
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64", "complex64"])
def test_reading_follows_the_figure(allocate, usm_type, figure, dtype):
    count, shape, strides, offset, positions = figure
    flat = counting(dtype, count, start=1)
    memory = allocate(usm_type, len(pack(dtype, flat)))
    memory.copy_from_host(pack(dtype, flat))
    a = ut.usm_ndarray(shape, dtype=dtype, buffer=memory, strides=strides, offset=offset)
    assert (a.shape, a.strides, a._element_offset) == (shape, strides, offset)
    assert a._pointer == memory._pointer + offset * a.itemsize
    assert {index: a[index].item() for index in positions} == {i: flat[p] for i, p in positions.items()}


def test_writing_follows_the_figure(allocate, usm_type, figure):
    count, shape, strides, offset, positions = figure
    memory = allocate(usm_type, count * 2)
    memory.copy_from_host(pack("int16", [-1] * count))
    a = ut.usm_ndarray(shape, dtype="int16", buffer=memory, strides=strides, offset=offset)
    expected = [-1] * count
    for value, (index, position) in enumerate(positions.items(), start=100):
        a[index] = value
        expected[position] = value
    assert unpack("int16", memory.tobytes()) == expected


def test_slices_make_the_figures(array, usm_type):
    """The same layouts again, as views of contiguous arrays."""
    a = array((2, 3), dtype="i4", buffer=usm_type)
    a.usm_data.copy_from_host(pack("int32", range(6)))
    submatrix = a[:2, :2]
    assert (submatrix.shape, submatrix.strides) == ((2, 2), (3, 1))
    assert submatrix.tolist() == [[0, 1], [3, 4]]

    contig_vec = array((8,), dtype="i4", buffer=usm_type)
    contig_vec.usm_data.copy_from_host(pack("int32", range(8)))
    backwards = contig_vec[7::-2]
    assert (backwards.shape, backwards.strides, backwards._element_offset) == ((4,), (-2,), 7)
    assert backwards.tolist() == [7, 5, 3, 1]


def test_contiguity_flags(array, usm_type):
    assert array((2, 3), dtype="f4", buffer=usm_type).flags.c_contiguous
    f_order = array((2, 3), dtype="f4", buffer=usm_type, order="F")
    assert f_order.flags.f_contiguous and not f_order.flags.c_contiguous
    both = array((5,), dtype="f4", buffer=usm_type)
    assert both.flags.c_contiguous and both.flags.f_contiguous
    neither = both[::2]
    assert not neither.flags.c_contiguous and not neither.flags.f_contiguous
