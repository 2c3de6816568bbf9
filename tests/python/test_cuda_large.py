"""More than 2³² elements in one operation on a GPU: indices and byte offsets of 64 bits. CuPy checks them in parts."""

import pytest

import usm.tensor as ut

from support import requirements

REQUIRED = requirements.REQUIRE_CUDA and requirements.REQUIRE_PEERS
FREE_BYTES = 30 << 30
# Odd, so that no row but the first one begins at a multiple of 2 bytes.
ROWS, COLUMNS = 65_539, 65_543
LEN = ROWS * COLUMNS
# Elements that CuPy compares at once.
PART = 1 << 29

assert LEN > 1 << 32


@pytest.fixture
def cupy(cuda_queue):
    cupy = requirements.module("cupy", required=REQUIRED)
    try:
        free_bytes, _ = cupy.cuda.runtime.memGetInfo()
    except Exception as error:  # CuPy has its own class
        requirements.missing("a GPU of CuPy", str(error), required=REQUIRED)
    if free_bytes < FREE_BYTES:
        pytest.skip(f"{FREE_BYTES >> 30} GiB of free memory are needed, and {free_bytes >> 30} GiB are there")
    yield cupy
    cupy.get_default_memory_pool().free_all_blocks()


@pytest.fixture
def source(cupy, cuda_queue):
    """Bytes that differ between any two places whose distance is a power of two."""
    array = ut.empty(LEN, "u1", usm_type="device", sycl_queue=cuda_queue)
    theirs = cupy.asarray(array)
    for start in range(0, LEN, PART):
        places = cupy.arange(start, min(start + PART, LEN), dtype="i8")
        theirs[start : start + PART] = (places % 251).astype("u1")
    cupy.cuda.Device().synchronize()
    return array


def equal(cupy, found, expected):
    """Whether `expected(start, stop)` are the elements of one axis, or the rows of two."""
    found.sycl_queue.wait()
    theirs = cupy.asarray(found)
    step = PART if found.ndim == 1 else PART // found.shape[1]
    parts = range(0, found.shape[0], step)
    return all(bool((theirs[at : at + step] == expected(at, min(at + step, found.shape[0]))).all()) for at in parts)


def places(cupy, start, stop, step=1, first=0):
    return ((first + step * cupy.arange(start, stop, dtype="i8")) % 251).astype("u1")


def test_dense_reversed_and_fill(cupy, source):
    target = ut.empty_like(source)
    target[...] = source
    assert equal(cupy, target, lambda start, stop: places(cupy, start, stop))
    target[...] = source[::-1]
    assert equal(cupy, target, lambda start, stop: places(cupy, start, stop, -1, LEN - 1))
    target[1:] = source[:-1]
    assert equal(cupy, target[1:], lambda start, stop: places(cupy, start, stop))
    target[...] = 7
    assert equal(cupy, target, lambda start, stop: 7)


def test_transpose(cupy, source):
    matrix = ut.reshape(source, (ROWS, COLUMNS))
    target = ut.empty((COLUMNS, ROWS), "u1", usm_type="device", sycl_queue=source.sycl_queue)
    target[...] = matrix.T
    theirs = cupy.asarray(matrix)
    assert equal(cupy, target, lambda start, stop: theirs[:, start:stop].T)
    target[...] = matrix.T[::-1, ::-1]
    assert equal(cupy, target, lambda start, stop: theirs[::-1, COLUMNS - stop : COLUMNS - start][:, ::-1].T)


def test_strided_and_cast(cupy, source):
    matrix = ut.reshape(source, (ROWS, COLUMNS))
    inner = ut.empty((ROWS - 2, COLUMNS - 2), "u1", usm_type="device", sycl_queue=source.sycl_queue)
    inner[...] = matrix[1:-1, 1:-1]
    theirs = cupy.asarray(matrix)[1:-1, 1:-1]
    assert equal(cupy, inner, lambda start, stop: theirs[start:stop])
    del inner
    wide = ut.astype(source, "u2")
    assert equal(cupy, wide, lambda start, stop: places(cupy, start, stop))
    half = wide[::2]
    half[...] = 9
    assert equal(cupy, wide[1::2], lambda start, stop: places(cupy, start, stop, 2, 1))
    assert equal(cupy, half, lambda start, stop: 9)


def test_index_operations(cupy, source, cuda_queue):
    last = [0, 1, (1 << 31) + 1, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, LEN - 1, -1, -LEN]
    index = ut.asarray(last, "i8", usm_type="device", sycl_queue=cuda_queue)
    expected = [place % LEN % 251 for place in last]
    for found in (ut.take(source, index, axis=0, mode="wrap"), source[index]):
        assert ut.asnumpy(found).tolist() == expected
    with pytest.raises(IndexError, match=str(LEN)):
        ut.take(source, ut.asarray([LEN], "i8", usm_type="device", sycl_queue=cuda_queue), axis=0)
    source[index] = 255
    mask = source == 255
    assert ut.asnumpy(ut.nonzero(mask)[0]).tolist() == sorted({place % LEN for place in last})
    assert ut.asnumpy(source[mask]).tolist() == [255] * len({place % LEN for place in last})
    assert int(ut.sum(mask)) == len({place % LEN for place in last})
    assert bool(ut.any(mask)) and not bool(ut.all(mask))
