"""Objects used from several threads at once."""

from concurrent.futures import ThreadPoolExecutor

import usm.tensor as ut

from support.interface import changed


def in_threads(work, count=8):
    with ThreadPoolExecutor(count) as pool:
        # Reading the results raises what a thread raised.
        list(pool.map(work, range(count)))


def test_each_thread_its_own_arrays(array, usm_type):
    def work(n):
        for i in range(50):
            a = array((10, 10), dtype="i4", buffer=usm_type)
            a[...] = n * 100 + i
            assert ut.asarray(changed(a.T)).tolist() == [[n * 100 + i] * 10] * 10

    in_threads(work)


def test_reading_one_array(array, usm_type):
    a = array((16, 16), dtype="i4", buffer=usm_type)
    a[...] = 7

    def work(n):
        for _ in range(50):
            assert a[n:].tolist() == [[7] * 16] * (16 - n)

    in_threads(work)


def test_freeing_in_another_thread(array, usm_type):
    made = [array((100,), dtype="f4", buffer=usm_type) for _ in range(64)]

    def work(_):
        for _ in range(8):
            made.pop()

    in_threads(work)
    assert made == []


def test_readers_and_writers_of_one_row_never_meet_an_error(array, usm_type):
    a = array((16, 4096), dtype="i4", buffer=usm_type)
    a[...] = 0

    def work(n):
        for i in range(200):
            if n % 2:
                a[3] = i
            else:
                assert len(a[3].tolist()) == 4096

    in_threads(work, 4)
    assert a[3].tolist() == [199] * 4096


def test_columns_of_four_threads_beside_each_other(array, usm_type):
    a = array((64, 63), dtype="i4", buffer=usm_type)
    a[...] = -1

    def work(n):
        for _ in range(50):
            a[:, n::4] = n
            assert a[5, n] == n

    in_threads(work, 4)
    assert a.tolist() == [[i % 4 for i in range(63)]] * 64


def test_copies_crosswise_come_to_their_end(array, usm_type):
    a = array((100_000,), dtype="i4", buffer=usm_type)
    b = array((100_000,), dtype="i4", buffer=usm_type)
    a[...], b[...] = 1, 2
    index = ut.arange(0, 100_000, 7, device=a.device)

    def work(n):
        to, source = (a, b) if n % 2 else (b, a)
        for _ in range(30):
            to[...] = source
            to[index] = source[index]
            assert ut.all(to == source) in (True, False)

    in_threads(work, 4)
    assert set(a.tolist()) | set(b.tolist()) <= {1, 2}


def test_masks_beside_readers_and_writers_of_the_same_array(array, usm_type):
    a = array((30_000,), dtype="i4", buffer=usm_type)
    mask = array((30_000,), dtype="?", buffer=usm_type)
    a[...], mask[...] = 0, False
    mask[::3] = True

    def work(n):
        for i in range(1, 60):
            match n:
                case 0:
                    a[mask] = i
                case 1:
                    assert a[mask].shape == (10_000,)
                case 2:
                    ut.copy(a)
                case 3:
                    assert ut.asarray(a[1::3]).tolist() == [0] * 10_000

    in_threads(work, 4)
    assert a.tolist() == [59, 0, 0] * 10_000


def test_two_masks_of_each_other(array, usm_type):
    a = array((30_000,), dtype="?", buffer=usm_type)
    b = array((30_000,), dtype="?", buffer=usm_type)
    a[...], b[...] = True, True

    def work(n):
        to, mask = (a, b) if n % 2 else (b, a)
        for _ in range(60):
            to[mask] = True
            assert to[mask].shape == (30_000,)
            to[mask] = to[mask]

    in_threads(work, 4)
    assert ut.all(a) and ut.all(b)
