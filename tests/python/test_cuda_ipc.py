"""Memory of a GPU in several processes, where another library has allocated it."""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import threading
import time

import pytest

import usm
import usm.ipc
import usm.tensor as ut

from support.cuda import Driver

SIZE = 5000


class Block:
    """Memory of another library."""

    def __init__(self, driver):
        self.driver = driver
        address = ctypes.c_uint64()
        driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4 * SIZE))
        self.address = address.value

    @property
    def __cuda_array_interface__(self):
        return {"version": 3, "shape": (SIZE,), "typestr": "<i4", "data": (self.address, False), "stream": None}

    def __del__(self):
        # On any thread, which may have no context.
        driver = Driver(self.driver.device_id)
        driver.call("cuMemFree_v2", ctypes.c_uint64(self.address))
        driver.close()

    def handle(self):
        data = ctypes.create_string_buffer(64)
        self.driver.call("cuIpcGetMemHandle", data, ctypes.c_uint64(self.address))
        return data.raw


def read_and_hold(pipe):
    for opened in iter(pipe.recv, None):
        if isinstance(opened, tuple):
            handle, offset_bytes, count = opened
            try:
                memory = usm.ipc.open_cuda(handle, 4 * count, offset_bytes=offset_bytes)
            except (ValueError, usm.UsmError) as error:
                pipe.send(str(error))
                continue
            array = ut.usm_ndarray((count,), "i4", buffer=memory)
        else:
            array = usm.ipc.open(opened)
        pipe.send(array.tolist())
        pipe.recv()
        # Not kept beyond this.
        array = memory = None
        pipe.send("closed")


@contextlib.contextmanager
def other_process(target):
    """Another process that runs a function with one end of a pipe, and the other end."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    yield process, ours
    process.kill()
    process.join(60)


@pytest.fixture
def reader():
    with other_process(read_and_hold) as (_, pipe):
        yield pipe


def ask(reader, what):
    reader.send(what)
    assert reader.poll(60), "the other process does not answer"
    return reader.recv()


def close(reader):
    reader.send(None)
    assert reader.poll(60), "the other process does not answer"
    return reader.recv()


def test_memory_of_another_library_stays_while_others_have_it_open(driver, cuda_queue, reader):
    block = Block(driver)
    array = ut.asarray(block)
    array[...] = ut.arange(SIZE, dtype="i4", sycl_queue=cuda_queue)
    address = block.address
    handle = usm.ipc.export(array[10::-2])
    second = usm.ipc.export(array)
    assert ask(reader, bytes(handle)) == list(range(10, -1, -2))
    del block, array, handle, second
    assert driver.is_allocated(address)
    assert close(reader) == "closed"
    until = time.monotonic() + 60
    while driver.is_allocated(address):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_handles_of_other_libraries(driver, cuda_queue, reader):
    block = Block(driver)
    array = ut.asarray(block)
    array[...] = ut.arange(SIZE, dtype="i4", sycl_queue=cuda_queue)
    array.sycl_queue.wait()
    handle = block.handle()
    assert ask(reader, (handle, 0, 3)) == [0, 1, 2]
    assert close(reader) == "closed"
    # As PyTorch writes it, with its version and a letter.
    assert ask(reader, (b"\x02c" + handle, 40, 2)) == [10, 11]
    assert close(reader) == "closed"
    assert "found 20004 bytes at 0 in a block of" in ask(reader, (handle, 0, SIZE + 1))
    assert "found 4 bytes at 20000 in a block of" in ask(reader, (handle, 4 * SIZE, 1))
    assert "CUDA_ERROR" in ask(reader, (bytes(64), 0, 1))
    assert "found 63 bytes, allowed are the 64 bytes of cudaIpcGetMemHandle" in ask(reader, (handle[:63], 0, 1))
    assert "found 66 bytes" in ask(reader, (b"\x02e" + handle, 0, 1))
    with pytest.raises(usm.UsmError):
        usm.ipc.open_cuda(handle, 4)


def export_and_wait(pipe):
    queue = usm.SyclQueue("cuda")
    ut.zeros(1, sycl_queue=queue)
    array = ut.asarray(Block(Driver()))
    array[...] = 7
    handle = usm.ipc.export(array)
    pipe.send(bytes(handle))
    time.sleep(600)


def test_memory_of_another_library_goes_with_its_process(cuda_queue):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=export_and_wait, args=(theirs,), daemon=True)
    process.start()
    assert ours.poll(60)
    opened = usm.ipc.open(ours.recv())
    again = usm.ipc.export(opened)
    os.kill(process.pid, 9)
    process.join(60)
    assert opened.tolist() == [7] * SIZE, "it stays where it is open"
    assert usm.ipc.open(again)._pointer == opened._pointer


def test_host_and_shared_memory_say_what_works(cuda_queue):
    for kind in ("host", "shared"):
        array = ut.zeros(20000, usm_type=kind, sycl_queue=cuda_queue)
        with pytest.raises(ValueError, match="CUDA shares device memory alone.*a copy works"):
            usm.ipc.export(array)


def submit(driver, queue, seconds):
    """An array that gets its content after so many seconds."""
    array = ut.zeros(SIZE, dtype="i4", sycl_queue=queue)
    queue.wait()
    driver.hold(queue.native_stream, seconds)
    queue.memset_async(array.usm_data, 7)
    return array


def test_a_handle_of_an_array_that_gets_its_content_later(driver, cuda_queue, reader):
    array = submit(driver, cuda_queue, 2)
    started = time.monotonic()
    handle = usm.ipc.export(array)
    assert time.monotonic() - started < 1, "an export waits for nothing"
    assert ask(reader, bytes(handle)) == [0x07070707] * SIZE
    assert time.monotonic() - started > 1.5
    assert close(reader) == "closed"
    assert ask(reader, bytes(handle)) == [0x07070707] * SIZE, "the work is complete"
    assert close(reader) == "closed"


def export_of_a_slow_one(pipe):
    queue = usm.SyclQueue("cuda")
    ut.zeros(1, sycl_queue=queue)
    array = submit(Driver(), queue, 60)
    handle = usm.ipc.export(array)
    pipe.send(bytes(handle))
    pipe.recv()


@pytest.fixture
def slow():
    """Another process, and the handle of an array in it that gets its content in a minute."""
    with other_process(export_of_a_slow_one) as (process, pipe):
        assert pipe.poll(60)
        yield process, pipe.recv()


def test_who_waits_for_a_process_that_is_killed_gets_an_error(cuda_queue, slow):
    process, handle = slow
    timer = threading.Timer(1, process.kill)
    timer.start()
    with pytest.raises(usm.UsmError, match=f"process {process.pid}"):
        usm.ipc.open(handle)
    timer.join()


def test_ctrl_c_ends_the_wait_for_another_process(cuda_queue, slow):
    _, handle = slow
    timer = threading.Timer(1, signal.raise_signal, (signal.SIGINT,))
    # A shell ignores SIGINT in what it starts in the background, and children inherit that.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        started = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            usm.ipc.open(handle)
        assert time.monotonic() - started < 10
        timer.join()
    finally:
        signal.signal(signal.SIGINT, previous)
