"""Programs where something of the system is missing, broken, closed, full or limited: they work, and end as always.

A cell is a condition on a backend. Its program allocates memory of each kind, works on it, hands it to other processes,
prints, and ends with objects in globals, cycles, pools, threads and `atexit`. It ends with 0 and an empty stderr.
``USM_REQUIRE_MATRIX=1`` tries the devices beside the host, too, and takes a missing right for a failure.
"""

import ctypes.util
import glob
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from support import figures, process, requirements
from support.environments import Environment
from support.interrupts import REQUIRE_MATRIX

BACKENDS = ["host", "sycl"] if REQUIRE_MATRIX else ["host"]
#: What a device beside the host needs to be found.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name.startswith(("USM_CUDA", "CUDA_"))}
#: What a launcher exits with that is not allowed to do what the cell is about.
NO_RIGHT = 77
#: The same, of a machine without that.
NOT_HERE = 78

LAUNCH = """
import ctypes, os, resource, signal, sys
libc = ctypes.CDLL(None, use_errno=True)

def called(function, *arguments):
    if getattr(libc, function)(*arguments) == -1:
        print("no right to call", function, os.strerror(ctypes.get_errno()))
        sys.exit(77)

def mount_in_memory(place, options):
    CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000
    called("unshare", CLONE_NEWNS)
    called("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    called("mount", b"none", place.encode(), b"tmpfs", 0, options)

"""

CONDITIONS = {
    "nothing else": "",
    "no address space for more than a GiB": """
        size = 1 << 30 if DEVICE.startswith("host") else 16 << 30
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    """,
    "files of no length": "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
    "few files": "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))",
    "a short stack": "resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))",
    "no home": "os.environ.pop('HOME', None)",
    "a home that is no folder": "os.environ.update(HOME='/dev/null', XDG_CACHE_HOME='/dev/null', TMPDIR='/dev/null')",
    "a home that nobody writes to": """
        MS_RDONLY, MS_REMOUNT = 1, 32
        mount_in_memory(FOLDER, None)
        called("mount", b"none", FOLDER.encode(), None, MS_RDONLY | MS_REMOUNT, None)
        os.environ.update(HOME=FOLDER, XDG_CACHE_HOME=FOLDER, TMPDIR=FOLDER)
    """,
    "a full disk": """
        mount_in_memory(FOLDER, b"size=64k")
        os.environ.update(HOME=FOLDER, XDG_CACHE_HOME=FOLDER, TMPDIR=FOLDER)
        os.chdir(FOLDER)
        try:
            with open("full", "wb") as file:
                while True:
                    file.write(bytes(4096))
                    file.flush()
        except OSError:
            pass
    """,
    "no /dev/shm": "mount_in_memory('/dev', None)",
    "no /proc": "mount_in_memory('/proc', None)",
    "no /sys": "mount_in_memory('/sys', None)",
    "a cgroup of 256 MiB": """
        (own,) = [line[3:].strip() for line in open("/proc/self/cgroup") if line.startswith("0::")] or ["/"]
        parent = f"/sys/fs/cgroup{own}".rstrip("/")
        try:
            with open(f"{parent}/cgroup.subtree_control") as controllers:
                if "memory" not in controllers.read().split():
                    raise OSError("its children have no limit of memory")
            os.mkdir(f"{parent}/{os.path.basename(FOLDER)}")
            for name, value in ("memory.max", 256 << 20), ("cgroup.procs", os.getpid()):
                with open(f"{parent}/{os.path.basename(FOLDER)}/{name}", "w") as file:
                    file.write(str(value))
        except OSError as error:
            print(f"{parent}: {error}")
            sys.exit(78)
    """,
    "SIGINT ignored": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "SIGCHLD ignored": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "signals blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))",
    "stdin closed": "os.close(0)",
    "stdout closed": "os.close(1)",
    "stderr closed": "os.close(2)",
    "everything closed": "os.closerange(0, 3)",
    "stdout on a full disk": "os.dup2(os.open('/dev/full', os.O_WRONLY), 1)",
}

#: Conditions that the runtime of a device does not bear, whatever the package does.
UNBEARABLE = {
    ("sycl", "files of no length"): "a handler of Intel's OpenCL driver writes to stderr at each SIGXFSZ",
    ("sycl", "no /proc"): "the SYCL runtime would wait for ever at its start, so that it is refused",
    ("sycl", "no /sys"): "hwloc, which the SYCL runtime loads, writes to stderr that it finds no topology",
    ("cuda", "files of no length"): "the driver, or its stand-in, has files in memory",
    ("cuda", "no address space for more than a GiB"): "the driver reserves as many addresses as GPUs and host have",
}

#: Variables that say where runtimes are, beside the host backend.
ENVIRONMENTS = {
    "no runtime": {"USM_SYCL_ROOT": "/nowhere"},
    "drivers that are no libraries": {
        "USM_SYCL_ROOT": "{folder}",
        "USM_CUDA": "1",
        "USM_CUDA_DRIVER": "{folder}/text.so",
    },
    "drivers that are other libraries": {
        "USM_SYCL_ROOT": "{folder}/other",
        "USM_CUDA": "1",
        "USM_CUDA_DRIVER": "{libm}",
    },
    "drivers that are folders": {"USM_SYCL_ROOT": "/dev/null", "USM_CUDA": "1", "USM_CUDA_DRIVER": "/"},
}

PROGRAM = """
import atexit, gc, os, sys, threading, time
import usm, usm.ipc, usm.memory as um, usm.tensor as ut
from multiprocessing.reduction import ForkingPickler

queue = usm.SyclQueue(DEVICE, property="in_order")
keep, IS_HOST = [], DEVICE.startswith("host")

def work():
    for kind in ("host", "device", "shared"):
        a = ut.asarray([[1, 2, 3], [4, 5, 6]], "i4", usm_type=kind, sycl_queue=queue)
        a[:, ::2] = 7
        assert ut.asarray(a.T[::-1], usm_type="shared").tolist() == [[7, 7], [2, 5], [7, 7]]
        large = ut.zeros(100_000, "f8", usm_type=kind, sycl_queue=queue)
        queue.memset_async(large, 1).wait()
        assert large[-1:].tolist() == [7.748604185489348e-304]
        try:
            ut.empty(1 << 50, "u1", usm_type=kind, sycl_queue=queue)
        except MemoryError:
            pass
        else:
            raise AssertionError("there is no such memory")
        keep.extend((a, large, large[::-7], a.usm_data))
    usm.backends(), usm.get_devices(), repr(keep[0]), str(um.snapshot())

def share():
    a = ut.full(20_000, 5, "i8", usm_type="shared" if IS_HOST else "device", sycl_queue=queue)
    try:
        keep.append(usm.ipc.export(a))
        assert int(usm.ipc.open(bytes(keep[-1]))[-1]) == 5
    except (ValueError, usm.UsmError):
        pass    # what the system does not let it hand over, it says
    assert int(ForkingPickler.loads(bytes(ForkingPickler.dumps(a)))[-1]) == 5
    if IS_HOST and os.path.exists("/proc/self"):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                assert a[::1000].tolist() == [5] * 20
                code = 0
            finally:
                os._exit(code)
        try:
            assert os.waitpid(pid, 0)[1] == 0
        except ChildProcessError:
            pass    # nobody waits for children where SIGCHLD is ignored

class Node:
    def __del__(self):
        assert self.array.shape == (10,)

def leave():
    node = Node()
    node.me, node.array = node, ut.ones(10, sycl_queue=queue)
    keep.append(um.use_pool(queue.sycl_device))
    keep.append(ut.ones(10, sycl_queue=queue))
    atexit.register(lambda: keep[0].tolist())

    def hold(array):
        while True:
            time.sleep(0.001)
            array = array[::-1]
    threading.Thread(target=hold, args=(ut.ones(100, sycl_queue=queue),), daemon=True).start()
    for _ in range(3):
        queue.memset_async(ut.empty(1 << 20, "u1", sycl_queue=queue), 3)

work()
share()
leave()
try:
    if sys.stdout is not None:
        print("done", flush=True)
except OSError:
    # As Python does at its end: nothing more is written there.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Python that has nothing but the package."""
    return Environment(tmp_path_factory.mktemp("bare") / "venv").python


@pytest.fixture
def python(request, backend):
    """Only the SYCL runtime is beside the package."""
    is_alone = requirements.device_of(backend).backend in ("host", "cuda")
    return request.getfixturevalue("bare") if is_alone else sys.executable


def run_cell(python, condition, program, device, folder, environment):
    values = f"DEVICE, FOLDER = {device!r}, {str(folder)!r}\n"
    launch = LAUNCH + values + textwrap.dedent(condition)
    launch += "\nos.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])\n"
    return subprocess.run(
        [python, "-c", launch, values + program],
        env={"PATH": process.MINIMAL["PATH"], "USM_DEFAULT_DEVICE": device} | environment,
        capture_output=True,
        text=True,
        timeout=process.LIMIT_S,
        check=False,
    )


@pytest.fixture(scope="module")
def cells():
    """The cells that were tried."""
    tried = []
    yield tried
    if tried:
        figures.add(f"{len(tried)} cells of conditions, ends and backends: the right exit code, nothing else on stderr")


@pytest.fixture
def no_group_left(tmp_path):
    """Removes the group of processes that has the name of the folder."""
    yield
    for group in glob.glob(f"/sys/fs/cgroup/**/{tmp_path.name}", recursive=True):
        os.rmdir(group)


def check_cell(python, condition, backend, folder, cells, environment):
    device = requirements.device_of(backend).filter_string
    done = run_cell(python, CONDITIONS.get(condition, ""), PROGRAM, device, folder, environment)
    if done.returncode == NO_RIGHT:
        requirements.missing("a right of the superuser", done.stdout, required=REQUIRE_MATRIX)
    if done.returncode == NOT_HERE:
        pytest.skip(done.stdout)
    assert (done.returncode, done.stderr) == (0, ""), f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.stdout == ("" if "stdout" in condition or "everything" in condition else "done\n")
    cells.append((condition, backend))


@pytest.mark.lengthy
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_programs_under_a_condition(python, condition, backend, cells, tmp_path, no_group_left):
    runtime = "cuda" if requirements.device_of(backend).backend == "cuda" else backend
    if (runtime, condition) in UNBEARABLE:
        pytest.skip(UNBEARABLE[runtime, condition])
    check_cell(python, condition, backend, tmp_path, cells, ENVIRONMENT)


@pytest.mark.lengthy
@pytest.mark.parametrize("condition", ENVIRONMENTS)
def test_programs_without_a_runtime_that_works(bare, condition, cells, tmp_path):
    (tmp_path / "other").mkdir()
    libm = os.path.realpath(ctypes.util._findLib_ld("m") or ctypes.util.find_library("m"))
    for name in ("libDPCTLSyclInterface.so", "text.so"):
        (tmp_path / name).write_text("no library " * 100)
        if os.path.isfile(libm):
            os.symlink(libm, tmp_path / "other" / name)
    values = {key: value.format(folder=tmp_path, libm=libm) for key, value in ENVIRONMENTS[condition].items()}
    check_cell(bare, condition, "host", tmp_path, cells, values)


ENDS = {
    "sys.exit(3)": 3,
    "raise SystemExit('words')": 1,
    "raise ValueError('words')": 1,
    "os._exit(5)": 5,
    "raise KeyboardInterrupt": -signal.SIGINT,
    "signal.raise_signal(signal.SIGINT)": -signal.SIGINT,
    "signal.raise_signal(signal.SIGTERM)": -signal.SIGTERM,
    "os.kill(os.getpid(), signal.SIGKILL)": -signal.SIGKILL,
    "threading.Thread(target=sys.exit, args=(3,)).start()": 0,
    "import concurrent.futures as f; f.ThreadPoolExecutor(2).submit(ut.ones, 10, sycl_queue=queue); sys.exit(4)": 4,
    "import multiprocessing as m; m.get_context('spawn').Pool(1); sys.exit(6)": 6,
}


@pytest.mark.lengthy
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("end", ENDS)
def test_exit_codes(python, end, backend, cells, tmp_path):
    """Objects are alive, and work is under way. Only what the program says itself is on stderr."""
    program = f"import signal\n{PROGRAM}\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n{end}\n"
    done = run_cell(python, "", program, requirements.device_of(backend).filter_string, tmp_path, ENVIRONMENT)
    assert (done.returncode, done.stdout) == (ENDS[end], "done\n"), f"{done.stdout}\n{done.stderr}"
    said = [line for line in done.stderr.splitlines() if not line.startswith((" ", "Traceback"))]
    allowed = {"SystemExit('words')": ["words"], "ValueError('words')": ["ValueError: words"]}
    is_interrupt = ENDS[end] == -signal.SIGINT
    assert said == (["KeyboardInterrupt"] if is_interrupt else allowed.get(end.removeprefix("raise "), [])), done.stderr
    cells.append((end, backend))
