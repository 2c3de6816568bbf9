"""Memory of several processes in trouble: some are killed, are of other users, or in namespaces and sandboxes."""

import os
import subprocess
import sys
import textwrap

import pytest

import usm.ipc
import usm.tensor as ut

from support import process, requirements, rounds, storm

#: Arrays of a storm of eight processes: ``USM_TEST_STORM``. ``USM_TEST_STORM_MINUTES`` lets it go on for longer.
ARRAYS = storm.arrays_of_run(300)
#: Missing rights are a failure where the tests of storms are long.
REQUIRE_RIGHTS = storm.ARE_LONG
#: Pages that may be left on the machine, which other programs use, too: a long storm has twenty times as many.
MOST_SHARED_KIB = 1 << 20


def shared_kib():
    """Pages of files in memory, of the whole machine."""
    with open("/proc/meminfo") as figures:
        return next(int(line.split()[1]) for line in figures if line.startswith("Shmem:"))


@pytest.mark.parametrize("device", ["host", "sycl"])
def test_a_storm_of_processes_leaves_nothing(device):
    if requirements.device_of(device).backend == "cuda":
        pytest.skip("a storm of processes on one GPU is a test of its driver")
    arrays = ARRAYS if device == "host" else ARRAYS // 10 + 100
    before, name = shared_kib(), requirements.device_of(device).filter_string
    # Each process looks for its devices.
    environment = {"USM_SYCL_ROOT": "/nowhere", "USM_CUDA": "0"} if device == "host" else {}
    storm.check(rounds.SEED, arrays, 8, [name], **environment)
    assert shared_kib() < before + MOST_SHARED_KIB


PRELUDE = """
import ctypes, faulthandler, multiprocessing, os, signal, socket, sys, threading, time
import usm, usm.ipc, usm.memory as um, usm.tensor as ut

# Other users and other roots may not be able to read the modules.
import importlib.metadata, traceback
import multiprocessing.connection, multiprocessing.popen_fork, multiprocessing.reduction
usm.get_devices()
libc = ctypes.CDLL(None, use_errno=True)
handle = bytes.fromhex(sys.argv[1])


def called(function, *arguments):
    if getattr(libc, function)(*arguments) == -1:
        print("no right to call", function, os.strerror(ctypes.get_errno()))
        sys.exit(77)


def refused(text):
    started = time.monotonic()
    try:
        usm.ipc.open(handle)
    except usm.UsmError as error:
        assert text in str(error), error
        assert "process" in str(error), error
    else:
        raise AssertionError("it is open")
    assert time.monotonic() - started < 9, "a wait for nobody"
    print("refused")
"""
#: What a program exits with that is not allowed to do what the test is about.
NO_RIGHT = 77


def run(code, handle=b""):
    """What `code` prints; a handle of this process is its `handle`."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code), handle.hex()],
        env=process.MINIMAL | {"USM_SYCL_ROOT": "/nowhere", "USM_CUDA": "0"},
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
        timeout=process.LIMIT_S,
        check=False,
    )
    if done.returncode == NO_RIGHT:
        requirements.missing("a right of the superuser", done.stdout, required=REQUIRE_RIGHTS)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def exported():
    array = ut.full(20000, 5, usm_type="shared", device="host")
    handle = usm.ipc.export(array)
    yield array, bytes(handle)
    assert usm.ipc.pending() == 1
    assert int(usm.ipc.open(handle)[0]) == 5, "others are still answered"


def test_another_user_is_refused(exported):
    code = """
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        except PermissionError as error:
            print(error)
            sys.exit(77)
        refused("a process of another user answers in its place")
        # A program that does not check who answers gets no file.
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(9)
        nonce = int.from_bytes(handle[16:24], "little")
        connection.connect(f"\\0usm-ipc-{int.from_bytes(handle[12:16], 'little')}-{nonce:016x}")
        connection.sendall(handle[24:40])
        found, files, _, _ = socket.recv_fds(connection, 4096, 4)
        assert files == [] and not any(found[8:16]), found
        assert b"it is of another user" in found + connection.recv(4096)
        print("nothing")
    """
    assert run(code, exported[1]).split() == ["refused", "nothing"]


def test_memory_of_another_user_is_refused():
    """Also by the superuser, who could take it: the other process may be a trap."""
    code = """
        ours, theirs = multiprocessing.Pipe()
        process = os.fork()
        if process == 0:
            try:
                os.setresuid(65534, 65534, 65534)
                exported = usm.ipc.export(ut.ones(20000, usm_type="shared", device="host"))
                theirs.send_bytes(bytes(exported))
                theirs.poll(60)
            except PermissionError as error:
                theirs.send_bytes(b"")
            os._exit(0)
        assert ours.poll(60)
        handle = ours.recv_bytes()
        if not handle:
            print("setresuid")
            sys.exit(77)
        refused("a process of another user answers in its place")
        ours.send_bytes(b"over")
        assert os.waitpid(process, 0)[1] == 0
    """
    assert run(code).split() == ["refused"]


def test_another_network_namespace_is_refused(exported):
    code = """
        def make(pipe):
            pipe.send(ut.full(20000, 9, usm_type="shared", device="host"))
            pipe.poll(60)

        CLONE_NEWNET = 0x40000000
        called("unshare", CLONE_NEWNET)
        refused("in another network namespace")
        # Processes in one namespace share.
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=make, args=(theirs,))
        process.start()
        assert ours.poll(60)
        assert ours.recv()[19999] == 9
        ours.send(None)
        process.join(60)
        assert process.exitcode == 0
    """
    assert run(code, exported[1]).split() == ["refused"]


def test_a_user_without_an_id_is_refused(exported):
    """The kernel shows the same ID for all users that a namespace does not have."""
    code = """
        CLONE_NEWUSER = 0x10000000
        called("unshare", CLONE_NEWUSER)
        assert os.geteuid() == 65534
        refused("may stand for any user")
    """
    assert run(code, exported[1]).split() == ["refused"]


SANDBOX = """
import errno, platform, struct

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID = 0x20000, 0x4000000, 0x8000000, 0x20000000
MS_RDONLY, MS_REC, MS_PRIVATE = 1, 0x4000, 0x40000
PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 3, 4, 22, 38
# ptrace, process_vm_readv, process_vm_writev, kcmp, pidfd_getfd
FORBIDDEN = [101, 310, 311, 312, 438]


def sandbox():
    '''No file in /dev/shm, no look into other processes, no core: what containers and hardened systems have.'''
    called("unshare", CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID)
    called("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    called("mount", b"none", b"/dev/shm", b"tmpfs", MS_RDONLY, None)
    try:
        os.open("/dev/shm/usm-test", os.O_CREAT | os.O_RDWR)
    except OSError as error:
        assert error.errno == errno.EROFS, error
    else:
        raise AssertionError("/dev/shm takes files")
    # Load the number of the call; go to the end for each forbidden one; allow the others; EPERM.
    rows = [(0x20, 0, 0, 0)]
    rows += [(0x15, len(FORBIDDEN) - index, 0, number) for index, number in enumerate(FORBIDDEN)]
    rows += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x50000 | errno.EPERM)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code)))
    called("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    called("prctl", PR_SET_SECCOMP, 2, program, 0, 0)
    assert libc.syscall(438, 0, 0, 0) == -1 and ctypes.get_errno() == errno.EPERM
    called("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)


def inside(work):
    '''Runs `work` in a child, which has the process ID 1.'''
    process = os.fork()
    if process == 0:
        try:
            called("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)
            called("mount", b"proc", b"/proc", b"proc", 0, None)
            assert os.getpid() == 1
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(process, 0)[1] == 0


if platform.machine() != "x86_64":
    print("the numbers of forbidden calls")
    sys.exit(77)
sandbox()
"""


def test_a_sandbox_shares_with_the_outside(exported):
    array, handle = exported
    code = """
        def work():
            array = usm.ipc.open(handle)
            assert array[5] == 5
            array[1] = 7
            assert usm.ipc.open(handle).usm_data._pointer == array.usm_data._pointer
            print("shared")
            sys.stdout.flush()

        inside(work)
    """
    assert run(SANDBOX + textwrap.dedent(code), handle).split() == ["shared"]
    assert int(array[1]) == 7


@pytest.mark.parametrize("user", [0, 65534], ids=["superuser", "user"])
def test_processes_in_a_sandbox_share(user):
    code = f"""
        def answer(pipe):
            assert libc.prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0
            while (array := pipe.recv()) is not None:
                array[0] = -1
                array.sycl_queue.wait()
                pipe.send(array[::2])

        def work():
            os.setresgid({user}, {user}, {user})
            os.setresuid({user}, {user}, {user})
            called("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)
            context = multiprocessing.get_context("fork")
            ours, theirs = context.Pipe()
            process = context.Process(target=answer, args=(theirs,))
            process.start()
            for kind in ("shared", "host", "device"):
                array = ut.ones(20000, usm_type=kind, device="host")
                ours.send(array)
                assert ours.poll(60)
                view = ours.recv()
                assert array[0] == -1 and view.shape == (10000,)
                array[2] = 3
                array.sycl_queue.wait()
                assert view[1] == 3
            assert usm.ipc.pending() == 0
            ours.send(None)
            process.join(60)
            assert process.exitcode == 0
            print("shared")
            sys.stdout.flush()

        inside(work)
    """
    assert run(SANDBOX + textwrap.dedent(code)).split() == ["shared"]


def test_a_process_without_file_descriptors_sends_copies():
    """A message that raises in the thread of a queue would be lost."""
    code = """
        import resource
        from multiprocessing.reduction import ForkingPickler

        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        arrays = [ut.full(20000, number, usm_type="shared", device="host") for number in range(60)]
        messages = [bytes(ForkingPickler.dumps(array)) for array in arrays]
        assert 0 < usm.ipc.pending() < 40
        found = [ForkingPickler.loads(message) for message in messages]
        assert [int(array[19999]) for array in found] == list(range(60))
        assert usm.ipc.pending() == 0
        print("sent")
    """
    assert run(code).split() == ["sent"]


def test_a_process_without_file_descriptors_answers_others():
    """A task whose arguments no worker gets would never end."""
    code = """
        import multiprocessing
        import resource
        from concurrent.futures import ProcessPoolExecutor

        context = multiprocessing.get_context("fork")
        with context.Pool(3) as pool, ProcessPoolExecutor(3, mp_context=context) as executor:
            pool.map(abs, range(30))
            list(executor.map(abs, range(30)))
            resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))
            arrays = [ut.full(20000, number, usm_type="shared", device="host") for number in range(100)]
            for map in (pool.map, executor.map):
                # Tuples, so that a task has one array.
                assert list(map(at_end, arrays)) == list(range(100))
        print("answered")
    """
    start = "def at_end(array):\n    return int(array[19999])\n\n"
    assert run(start + textwrap.dedent(code)).split() == ["answered"]


def test_what_is_left_of_a_process_is_not_what_others_have_opened():
    """A reader that has got memory says so to the process itself, which hears that before it hands the rest over."""
    code = """
        def asked(data):
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(9)
            address = f"\\0usm-ipc-{os.getpid()}-{int.from_bytes(data[16:24], 'little'):016x}"
            connection.connect(address)
            connection.sendall(data[24:40])
            files = socket.recv_fds(connection, 4096, 4)[1]
            assert len(files) == 1
            return connection

        arrays = [ut.zeros(20000, usm_type="shared", device="host") for _ in range(2)]
        first, second = [asked(usm.ipc._bytes_for_one(array, False)) for array in arrays]
        assert usm.ipc.pending() == 2
        threading.Timer(0.1, first.sendall, [b"!"]).start()
        # The second reader says nothing: it may have died before it opened the memory.
        listener, state, file = usm._usm._hand_over()
        assert usm.ipc.pending() == 1
        print("left")
    """
    assert run(code).split() == ["left"]
