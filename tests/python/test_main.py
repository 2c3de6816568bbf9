"""`python -m usm`: its output for people and as JSON."""

import json
import os
import signal
import subprocess
import sys

import pytest

import usm

from support import process


def run(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "usm", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=process.MINIMAL | variables,
    )


def expected_code():
    """In a fresh process with a minimal environment, as `run` starts it."""
    done = process.run("import usm; print(any(problem['is_failure'] for problem in usm.doctor()['problems']))")
    return 1 if done.stdout == "True\n" else 0


@pytest.mark.parametrize("command", [(), ("doctor",)])
def test_text(command):
    done = run(*command, "--verbose")
    assert done.returncode == expected_code(), done.stderr
    assert done.stdout.startswith(f"usm {usm.__version__} works ")
    for device in usm.get_devices():
        assert f"\n  {device.filter_string} " in done.stdout
        assert f"── {device.filter_string}" in done.stdout
    for platform in usm.get_platforms():
        assert platform.name in done.stdout
    for backend in usm.backends():
        assert f"\n  {backend['name']:<6} " in done.stdout
    assert done.stdout.count(", the default\n") == done.stdout.count("(default)") == 1
    short = run(*command).stdout
    assert short.endswith("\nMore: python -m usm doctor --verbose\n")
    assert done.stdout.startswith(short.rpartition("\n\n")[0])


def test_a_character_set_without_lines_is_no_failure():
    """As code pages of Windows are."""
    done = run("--verbose", PYTHONIOENCODING="ascii")
    assert done.returncode == expected_code(), done.stderr
    assert "? host:cpu:0" in done.stdout


def test_json():
    done = run("--json")
    assert done.returncode == expected_code(), done.stderr
    found = json.loads(done.stdout)
    assert found["version"] == usm.__version__
    # Which drivers there are depends on the environment: asked where there is none.
    devices, platforms, selected = json.loads(
        process.check("""
        import json, usm
        devices, platforms = usm.get_devices(), usm.get_platforms()
        selected = usm.select_default_device().filter_string
        print(json.dumps([[d.filter_string for d in devices], [p.name for p in platforms], selected]))
    """)
    )
    assert [d["filter_string"] for d in found["devices"]] == devices
    assert [b["name"] for b in found["backends"]] == [b["name"] for b in usm.backends()]
    (default,) = [d["filter_string"] for d in found["devices"] if d["default"]]
    assert default == selected
    host = next(d for d in found["devices"] if d["backend"] == "host")
    assert host["usm_kinds"] == ["host", "device", "shared"]
    assert [p["name"] for p in found["platforms"]] == platforms
    assert found["works"] == (done.returncode == 0)
    assert (found["sycl"] is None) != any(b["available"] for b in found["backends"] if b["name"] == "sycl")


def test_failures_give_the_exit_code():
    """A default device that is not there, and a SYCL runtime whose devices are hidden."""
    code = "from usm.__main__ import main; raise SystemExit(main([]))"
    done = process.run(code, USM_DEFAULT_DEVICE="cuda:gpu:99", USM_CUDA="0")
    assert done.returncode == 1 and "To fix it: unset USM_DEFAULT_DEVICE" in done.stdout, done.stderr
    done = process.run(code, ONEAPI_DEVICE_SELECTOR="cuda:gpu", USM_CUDA="0")
    has_runtime = any(backend["name"] == "sycl" and backend["available"] for backend in usm.backends())
    assert done.returncode == (1 if has_runtime else 0), done.stdout
    assert ("To fix it: unset ONEAPI_DEVICE_SELECTOR" in done.stdout) == has_runtime


def test_the_doctor(queue):
    found = usm.doctor()
    assert set(found) == {"platforms", "sycl", "places", "environment", "added", "problems", "tree", "text"}
    named = [name for platform in found["platforms"] for name in platform["devices"]]
    assert sorted(named) == sorted(d.filter_string for d in usm.get_devices())
    assert queue.sycl_device.filter_string in found["tree"] and queue.sycl_device.filter_string in found["text"]
    assert "USM_SYCL_ROOT" in found["environment"]
    for problem in found["problems"]:
        assert problem["kind"] and problem["what"] and problem["remedy"]
    if queue.backend.name not in ("host", "cuda"):
        assert found["sycl"]["library"] and any(place["in_use"] for place in found["places"])
        assert found["sycl"]["interface"] in ("dpctl 0.22", "dpctl 0.23")


def test_unknown_options():
    done = run("--sideways")
    assert done.returncode == 2 and "--sideways" in done.stderr


@pytest.mark.parametrize("arguments", [(), ("--json",), ("--help",)])
def test_a_reader_that_has_seen_enough(arguments):
    """As in ``python -m usm | head -0``: the end of other tools, by the signal and with nothing said."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "usm", *arguments], stdout=closed, stderr=subprocess.PIPE, timeout=100, check=False
        )
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


@pytest.mark.parametrize("arguments", [(), ("doctor",), ("--json",), ("--help",)])
@pytest.mark.parametrize(
    ("target", "reason"), [(">/dev/full", "stdout: No space left on device"), (">&-", "stdout is closed")]
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written(arguments, target, reason, unbuffered):
    """Also where Python writes only at its end what was printed."""
    line = f'exec "$0" -m usm "$@" {target}'
    done = subprocess.run(
        ["bash", "-c", line, sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=process.MINIMAL | {"PYTHONUNBUFFERED": unbuffered},
    )
    assert done.returncode == 3
    assert done.stderr == f"python -m usm: error: {reason}\n"


def test_a_reader_of_one_line():
    line = f"{sys.executable} -m usm | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=100, check=False)
    # All may be in the pipe before its reader is gone.
    assert done.returncode in (0, 1, 128 + signal.SIGPIPE) and done.stderr == "", done
    assert done.stdout.startswith("usm ") and done.stdout.count("\n") == 1
