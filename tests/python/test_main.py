"""`python -m usm`: what it prints, for people and as JSON."""

import json
import subprocess
import sys

import usm


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "usm", *arguments], capture_output=True, text=True, timeout=120, check=False, env={}
    )


def test_text():
    done = run()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usm {usm.__version__} ")
    for device in usm.get_devices():
        assert device.filter_string in done.stdout
    for backend in usm.backends():
        assert backend["name"] in done.stdout
        if not backend["available"]:
            for line in backend["reason"].splitlines():
                assert line in done.stdout
            assert 'pip install "usm[sycl-cpu]"' in done.stdout
    assert sum(line.startswith("* ") for line in done.stdout.splitlines()) == 1


def test_json():
    done = run("--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["version"] == usm.__version__
    assert [d["filter_string"] for d in found["devices"]] == [d.filter_string for d in usm.get_devices()]
    assert [b["name"] for b in found["backends"]] == [b["name"] for b in usm.backends()]
    (default,) = [d["filter_string"] for d in found["devices"] if d["default"]]
    assert default == usm.select_default_device().filter_string
    host = next(d for d in found["devices"] if d["backend"] == "host")
    assert host["usm_kinds"] == ["host", "device", "shared"]


def test_unknown_options():
    done = run("--sideways")
    assert done.returncode == 2 and "--sideways" in done.stderr
