"""Kernels on a CUDA device, from PTX and from CUDA C, beside what the stand-in of the driver can run."""

import os
import struct
from importlib import metadata

import pytest
from test_robust_interrupt import INTERRUPTED

import usm
import usm.memory as um
import usm.program as up
import usm.tensor as ut
from usm import _locate

from support import children, requirements
from support.cuda import SCALE

SOURCE = """
extern "C" __global__ void scale(float *x, float by, unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) x[i] *= by;
}
"""


def uint(number):
    """A number of 32 bits, without NumPy."""
    return memoryview(struct.pack("I", number)).cast("I", [])


def single(number):
    return memoryview(struct.pack("f", number)).cast("f", [])


@pytest.fixture
def scale(cuda_queue):
    return up.create_program_from_ptx(cuda_queue, SCALE).get_sycl_kernel("scale")


def test_ptx(cuda_queue, scale, usm_type):
    assert (scale.num_args, scale.get_function_name(), scale.max_sub_group_size) == (3, "scale", 32)
    x = ut.ones(1000, dtype="f4", usm_type=usm_type, sycl_queue=cuda_queue)
    for sizes, group in (([1024], [128]), ([1000], None)):
        cuda_queue.submit(scale, [x, single(2), uint(1000)], sizes, group)
    # The last size is the one of x.
    cuda_queue.submit(scale, [x, single(3), uint(300)], [1, 512], [1, 256])
    assert x.tolist() == [12] * 300 + [4] * 700


def test_sizes_of_arguments_are_checked(cuda_queue, scale):
    x = um.MemoryUSMDevice(40, queue=cuda_queue)
    for args, text in (
        ([x, 2.0, uint(10)], "argument 1 has 8 bytes, but the kernel declares 4"),
        ([x, single(2), 10], "argument 2 has 8 bytes, but the kernel declares 4"),
        ([x, single(2)], "has 3 arguments, but 2 were given"),
    ):
        with pytest.raises(usm.SyclKernelSubmitError, match=text):
            cuda_queue.submit(scale, args, [10])


def test_order(cuda_queue, scale):
    other = usm.SyclQueue(cuda_queue.sycl_device)
    x = ut.ones(64, dtype="f4", sycl_queue=cuda_queue)
    for turn in range(20):
        queue = (cuda_queue, other)[turn % 2]
        queue.submit_async(scale, [x, single(3 if turn % 2 else 1 / 3), uint(64)], [64])
    other.submit_async(scale, [x, single(5), uint(64)], [64]).wait()
    assert all(abs(number - 5) < 1e-5 for number in x.tolist())


def test_refused_programs(cuda_queue):
    with pytest.raises(up.SyclProgramCompilationError, match="PTX could not be built.*CUDA_ERROR"):
        up.create_program_from_ptx(cuda_queue, "no PTX")
    with pytest.raises(up.SyclProgramCompilationError, match="-O0"):
        up.create_program_from_ptx(cuda_queue, SCALE, "--nonsense")
    with pytest.raises(up.SyclProgramCompilationError, match="takes PTX"):
        up.create_program_from_spirv(cuda_queue, struct.pack("5I", 0x07230203, 0x10000, 0, 1, 0))
    with pytest.raises(ValueError, match='no kernel named "sale"'):
        up.create_program_from_ptx(cuda_queue, SCALE).get_sycl_kernel("sale")


LOADS = """
import ctypes, usm.program
from support.cuda import SCALE
driver = ctypes.CDLL(os.environ["USM_CUDA_DRIVER"])
def loads():
    return driver.cuda_loopback_calls(b"cuModuleLoadDataEx")
def slow(is_slow):
    driver.cuda_loopback_set(b"LOAD_MS", ctypes.c_uint64(600 if is_slow else 0))
a, b, indices = array(8), array((8, 8), "i2"), array(2, "i8")
"""


def test_ctrl_c_while_a_module_loads(cuda_queue, monkeypatch, came_back):
    """The load goes on, and the next call waits for its kernel. No module is loaded twice."""
    if not requirements.is_stand_in(cuda_queue.sycl_device):
        pytest.skip("only the stand-in of the CUDA driver loads modules as slowly as a test wants")
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    came_back(
        children.run(
            "sycl",
            INTERRUPTED
            + LOADS
            + """
works = {   # with the number of modules
    "index array": (1, lambda: a[indices].tolist()),
    "copy": (1, lambda: b[::-2, ::-3].copy().tolist()),
    "a refused module": (2, lambda: [x.tolist() for x in ut.nonzero(a)]),
}
expected = [0.0, 0.0], [[0] * 3] * 4, [[]]
for (name, (modules, work)), result in zip(works.items(), expected, strict=True):
    before = loads()
    slow(True)
    if "refused" in name:
        driver.cuda_loopback_fail(b"cuModuleLoadDataEx", ctypes.c_size_t(1), ctypes.c_uint(218))
    took = interrupted(work, 0.1)
    print(f"{name}: back {took * 1e3:.0f} ms after Ctrl-C")
    assert took < 0.4, "the load was waited for"
    found = []
    threads = [threading.Thread(target=lambda: found.append(work())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [result] * 3, (name, found)
    assert loads() == before + modules, (name, loads() - before)
    slow(False)
    assert work() == result and loads() == before + modules

slow(True)
took = interrupted(lambda: usm.program.create_program_from_ptx(QUEUE, SCALE), 0.1)
print(f"create_program_from_ptx: back {took * 1e3:.0f} ms after Ctrl-C")
# The end comes under this load.
took = interrupted(lambda: ut.astype(a, "f4").tolist(), 0.1)
print(f"astype: back {took * 1e3:.0f} ms after Ctrl-C")
""",
        )
    )


@pytest.fixture
def nvrtc(cuda_queue):
    try:
        up.create_program_from_source(cuda_queue, SOURCE, "--gpu-architecture=compute_75")
    except up.SyclProgramCompilationError as error:
        if "NVRTC, which was not found" not in str(error):
            raise
        assert "pip install nvidia-cuda-nvrtc" in str(error)
        requirements.missing("NVRTC", str(error), required=requirements.REQUIRE_NVRTC)


@pytest.mark.usefixtures("nvrtc")
def test_cuda_c(cuda_queue):
    program = up.create_program_from_source(cuda_queue, SOURCE, "--gpu-architecture=compute_75 -lineinfo")
    kernel = program.get_sycl_kernel("scale")
    x = ut.ones(100, dtype="f4", sycl_queue=cuda_queue)
    cuda_queue.submit(kernel, [x, single(2.5), uint(90)], [128], [32])
    assert x.tolist() == [2.5] * 90 + [1] * 10


@pytest.mark.usefixtures("nvrtc")
def test_the_messages_of_the_compiler_are_in_the_error(cuda_queue):
    for source, options, text in (
        ('extern "C" __global__ void f() { missing(1); }', "", 'identifier "missing" is undefined'),
        (SOURCE, "--nonsense", "--nonsense"),
        ("#error chosen\n", "-DX=1", "chosen"),
    ):
        with pytest.raises(up.SyclProgramCompilationError, match=text):
            up.create_program_from_source(cuda_queue, source, options)


def test_where_nvrtc_is_looked_for(tmp_path, monkeypatch):
    for folder in ("cuda_nvrtc/lib", "cu13/lib", "cublas/lib", "other/lib"):
        (tmp_path / "nvidia" / folder).mkdir(parents=True)
    monkeypatch.setattr(_locate.sys, "path", [str(tmp_path), str(tmp_path / "absent")])
    folders = _locate.nvrtc_folders()
    assert folders[:3] == [str(tmp_path / "nvidia" / name / "lib") for name in ("cu13", "cublas", "cuda_nvrtc")]
    assert all(folder.endswith("lib") for folder in folders[3:])


def test_the_installed_package_is_found():
    names = ("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc")
    found = [file for name in names for file in _files(name) if file.name.startswith("libnvrtc.so")]
    if not found:
        pytest.skip("no package of NVRTC is installed")
    assert {str(file.locate().parent) for file in found} <= set(_locate.nvrtc_folders())


def _files(name):
    try:
        return metadata.files(name) or []
    except metadata.PackageNotFoundError:
        return []
