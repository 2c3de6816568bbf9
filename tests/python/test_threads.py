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
