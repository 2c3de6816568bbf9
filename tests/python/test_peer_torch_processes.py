"""Arrays and tensors in the queues and pools of torch.multiprocessing: the same memory in each process."""

import os

import pytest

import usm.ipc
import usm.tensor as ut

METHODS = pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])


def array_of(kind="shared"):
    return ut.zeros(20000, "float32", usm_type=kind, device="host")


def write(questions, answers):
    for array, tensor in iter(questions.get, None):
        array[0] = tensor[0] = -1
        answers.put((array[::2], tensor[::2], os.getpid()))


@METHODS
def test_queues(torch, method):
    context = torch.multiprocessing.get_context(method)
    questions, answers = context.Queue(), context.Queue()
    process = context.Process(target=write, args=(questions, answers))
    process.start()
    for kind in ("shared", "host", "device"):
        array, tensor = array_of(kind), torch.zeros(20000)
        questions.put((array, tensor))
        view, part, pid = answers.get(timeout=60)
        assert (pid, float(array[0]), float(tensor[0])) == (process.pid, -1, -1)
        array[2] = tensor[2] = 3
        array.sycl_queue.wait()
        assert (view.shape, float(view[1]), float(part[1])) == ((10000,), 3, 3)
        del view, part
    questions.put(None)
    process.join(60)
    assert process.exitcode == 0
    assert usm.ipc.pending() == 0


def set_at(array, index):
    array[index] = index
    return array


@METHODS
def test_pools(torch, method):
    array = array_of()
    with torch.multiprocessing.get_context(method).Pool(2) as pool:
        answers = pool.starmap(set_at, [(array, index) for index in range(20)])
    assert array[:20].tolist() == list(range(20))
    array[...] = 7
    assert {float(answer[5]) for answer in answers} == {7}
    assert usm.ipc.pending() == 0


def tensor_of(array):
    import torch

    tensor = torch.from_dlpack(array)
    tensor[1] = 5
    return array


def test_tensors_over_arrays(torch):
    """A tensor over shared memory of ours is made in the other process; the tensor itself would go as a copy."""
    array = array_of()
    with torch.multiprocessing.get_context("spawn").Pool(1) as pool:
        answer = pool.apply(tensor_of, (array,))
    assert (float(array[1]), float(answer[1])) == (5, 5)


def test_spawn(torch):
    array = array_of()
    torch.multiprocessing.spawn(set_rank, args=(array,), nprocs=2)
    assert array[:2].tolist() == [1, 2]


def set_rank(rank, array):
    array[rank] = rank + 1


def batch_of(index):
    return ut.full(20000, index, "float32", usm_type="shared", device="host")


def first(items):
    return items[0]


class Items:
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return batch_of(index)


def test_loaders_of_data(torch):
    """The workers of a loader end when the last batch is read."""
    loader = torch.utils.data.DataLoader(Items(), batch_size=1, num_workers=2, collate_fn=first)
    found = [int(batch[19999]) for batch in loader]
    assert found == list(range(6))
    assert usm.ipc.pending() == 0
