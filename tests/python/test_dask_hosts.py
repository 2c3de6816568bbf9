"""Workers of distributed on two hosts, which are network namespaces of this machine. Needs the rights of root."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support import process, requirements

requirements.needed("distributed", required=requirements.REQUIRE_SYCL)
pytestmark = pytest.mark.skipif(
    not requirements.REQUIRE_DASK, reason="it takes long and needs root: cargo xtask verify dask runs it"
)

TESTS = Path(__file__).parent
#: Addresses in these namespaces alone.
ADDRESSES = {"a": "10.213.77.1", "b": "10.213.77.2"}


def ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=10, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"


@pytest.fixture
def hosts() -> Iterator[dict[str, str]]:
    """The names of two namespaces with a network between them."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        requirements.missing(
            "a network namespace", "root and the command ip make one", required=requirements.REQUIRE_DASK
        )
    names = {host: f"usm-{os.getpid()}-{host}" for host in ADDRESSES}
    with ExitStack() as stack:
        for name in names.values():
            try:
                ip("netns", "add", name)
            except AssertionError as error:
                requirements.missing("a network namespace", str(error), required=requirements.REQUIRE_DASK)
            stack.callback(ip, "netns", "del", name)
        ends = {host: f"usm{host}{os.getpid()}"[:15] for host in names}
        ip(*("link", "add", ends["a"], "netns", names["a"], "type", "veth", "peer", ends["b"], "netns", names["b"]))
        for host, name in names.items():
            ip("-n", name, "addr", "add", f"{ADDRESSES[host]}/24", "dev", ends[host])
            ip("-n", name, "link", "set", ends[host], "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names


def command(namespace: str, *arguments: str) -> list[str]:
    return ["ip", "netns", "exec", namespace, sys.executable, *arguments]


@contextmanager
def running(folder: Path, name: str, arguments: list[str]) -> Iterator[None]:
    """A program in the background, which ends with this context."""
    with (folder / f"{name}.log").open("w") as log:
        started = subprocess.Popen(arguments, env=environment(), cwd=folder, stdout=log, stderr=log)
        try:
            yield
        finally:
            started.terminate()
            try:
                started.wait(10)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait(10)


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(TESTS), process.MINIMAL.get("PYTHONPATH"))))
    return {**process.MINIMAL, "PYTHONPATH": path, "USM_DEFAULT_DEVICE": "host:cpu:0", "HOME": "/nonexistent"}


def test_two_hosts(hosts: dict[str, str], tmp_path: Path) -> None:
    scheduler = f"tcp://{ADDRESSES['a']}:8786"
    with ExitStack() as stack:
        host = ("--host", ADDRESSES["a"], "--port", "8786", "--no-dashboard")
        program = command(hosts["a"], "-m", "distributed.cli.dask_scheduler", *host)
        stack.enter_context(running(tmp_path, "scheduler", program))
        for name in ("a1", "a2", "b"):
            options = ("--host", ADDRESSES[name[0]], "--name", name, "--nthreads", "1", "--no-dashboard")
            options += ("--memory-limit", "0", "--death-timeout", "60", "--local-directory", str(tmp_path))
            # Workers open handles of arrays from the first connection on.
            options += ("--preload", "usm.dask")
            program = command(hosts[name[0]], "-m", "distributed.cli.dask_worker", scheduler, *options)
            stack.enter_context(running(tmp_path, name, program))
        done = subprocess.run(
            command(hosts["b"], "-m", "support.dask_hosts_client", scheduler),
            env=environment(),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=process.LIMIT_S,
            check=False,
        )
    logs = "\n".join(f"{log.name}\n{log.read_text()[-3000:]}" for log in sorted(tmp_path.glob("*.log")))
    assert (done.returncode, done.stdout) == (0, "ok\n"), f"{done.stdout}\n{done.stderr}\n{logs}"
