"""`python -m usm doctor` where something is missing or broken: its words and its exit status.

The environments are venvs of links to what this Python has installed. Stand-ins for what can't be installed here are in
the folder that USM_TEST_STAND_INS names.
"""

import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import types

import pytest

import usm
from usm import _doctor

from support import requirements
from support.environments import Environment

STAND_INS = os.environ.get("USM_TEST_STAND_INS")
DRIVER = "libintelocl.so"
#: Any library that is no driver and no C interface of SYCL.
OTHER_LIBRARY = usm._usm.__file__


@pytest.fixture
def bare(tmp_path):
    return Environment(tmp_path / "venv")


@pytest.fixture
def full(bare):
    """With dpctl, its runtime and the driver of the CPU."""
    if requirements.NO_SYCL or not os.path.isfile(os.path.join(sys.prefix, "lib", DRIVER)):
        requirements.missing("intel-opencl-rt", "not in this environment", required=requirements.REQUIRE_SYCL)
    bare.add_numpy()
    bare.add_dpctl(bare.site)
    bare.add_runtime()
    return bare


@pytest.fixture
def stand_in():
    def stand_in(name):
        if STAND_INS is None or not os.path.isfile(os.path.join(STAND_INS, name)):
            requirements.missing(name, "USM_TEST_STAND_INS names no folder with it", required=STAND_INS is not None)
        return os.path.join(STAND_INS, name)

    return stand_in


def only(found):
    (problem,) = found["problems"]
    return problem


def pip(environment, *arguments):
    return f"{environment.python} -m pip install {' '.join(arguments)}"


#: As the extra `sycl` has it.
(DPCTL,) = (
    f'"{each.partition(";")[0].strip()}"' for each in importlib.metadata.requires("usm") if each.startswith("dpctl")
)


def test_nothing_installed(bare):
    found = bare.examine()
    assert found["works"] and found["summary"].endswith("works here, on the host device.")
    problem = only(found)
    assert problem["kind"] == "NoRuntime" and not problem["is_failure"]
    assert problem["command"] == pip(bare, DPCTL, "intel-opencl-rt")
    assert "(optional): " + problem["command"] in found["text"]
    note = "no library is installed that computes on host and shared memory, or on device memory of the host backend.\n"
    assert f"Note: {note}  To add one (optional): {pip(bare, 'numpy')}\n" in found["text"]
    assert [device["filter_string"] for device in found["devices"]] == ["host:cpu:0"]


def test_dpctl_with_the_driver_of_the_cpu(full):
    found = full.examine()
    assert (found["works"], found["problems"]) == (True, [])
    assert "with 1 device beside the host" in found["summary"]
    assert found["sycl"]["interface"] in ("dpctl 0.22", "dpctl 0.23")
    assert "opencl:cpu:0" in found["text"] and "Arithmetic: numpy" in found["text"]


def test_the_form_of_dpctl_023(bare, stand_in, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    shutil.copy(stand_in("libsycl_023_loopback.so"), root / "libDPCTLSyclInterface.so")
    found = bare.examine(USM_SYCL_ROOT=str(root))
    assert found["works"] and found["sycl"]["interface"] == "dpctl 0.23"
    assert [p for p in found["problems"] if p["is_failure"]] == []


def test_without_the_driver_of_the_cpu(full):
    (full.lib / DRIVER).unlink()
    found = full.examine()
    problem = only(found)
    assert found["works"] and problem["kind"] == "DriverMissing"
    assert problem["command"] == pip(full, "intel-opencl-rt")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("no library", "file too short"),
        ("no library " * 100, "invalid ELF header"),
        (OTHER_LIBRARY, "clGetExtensionFunctionAddress"),
    ],
    ids=["short", "no ELF", "no symbols"],
)
def test_a_broken_driver(full, content, reason):
    full.replace(full.lib / DRIVER, pathlib.Path(content) if content == OTHER_LIBRARY else content)
    found = full.examine()
    problem = only(found)
    assert not found["works"] and problem["kind"] == "UnusableDriver"
    assert str(full.lib / DRIVER) in problem["what"] and reason in problem["what"]
    assert problem["command"] == pip(full, "--force-reinstall", "--no-deps", "intel-opencl-rt")
    # A selector does not hide the cause.
    hidden = full.examine(ONEAPI_DEVICE_SELECTOR="opencl:cpu")["problems"]
    assert [problem["kind"] for problem in hidden] == ["UnusableDriver", "SelectorHidesDevices"]
    assert hidden[0]["command"] == problem["command"] and hidden[0]["remedy"] == problem["remedy"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [("no library " * 100, "invalid ELF header"), (OTHER_LIBRARY, "lacks")],
    ids=["text", "other"],
)
def test_a_broken_interface(full, content, reason):
    library = full.site / "dpctl" / "libDPCTLSyclInterface.so"
    full.replace(library, pathlib.Path(content) if content == OTHER_LIBRARY else content)
    problem = only(full.examine())
    assert problem["is_failure"] and problem["kind"] == "UnusableRuntime"
    assert reason in problem["what"] and problem["what"].count(str(library)) == 1
    assert problem["command"] == pip(full, "--force-reinstall", DPCTL, "intel-opencl-rt")


def test_an_interface_that_is_lost(full):
    (full.site / "dpctl" / "libDPCTLSyclInterface.so").unlink()
    problem = only(full.examine())
    assert problem["is_failure"] and "dpctl is installed, but its library is not" in problem["what"]
    assert problem["command"] == pip(full, "--ignore-installed", DPCTL, "intel-opencl-rt")


def test_an_installation_with_target(bare, full, tmp_path):
    target = tmp_path / "target"
    full.add_dpctl(target)
    shutil.rmtree(full.site / "dpctl")
    for file in full.lib.iterdir():
        if not file.name.startswith("python"):
            file.unlink()
    found = full.examine(PYTHONPATH=str(target))
    problem = only(found)
    assert problem["is_failure"] and problem["kind"] == "IncompleteInstallation" and "--target" in problem["what"]
    # pip takes the target for an installation, where the path of modules has it.
    assert problem["command"] == pip(full, "--ignore-installed", DPCTL, "intel-opencl-rt")
    # The runtime in the environment is what the target lacks.
    full.add_runtime()
    assert full.examine(PYTHONPATH=str(target))["works"]


def test_a_selector_that_excludes_all(full):
    found = full.examine(ONEAPI_DEVICE_SELECTOR="cuda:gpu")
    problem = only(found)
    assert problem["is_failure"] and problem["kind"] == "SelectorHidesDevices"
    assert problem["command"] == "unset ONEAPI_DEVICE_SELECTOR"


def test_a_selector_without_a_runtime_hides_nothing(bare):
    assert only(bare.examine(ONEAPI_DEVICE_SELECTOR="cuda:gpu"))["kind"] == "NoRuntime"


def test_a_driver_that_may_not_be_registered(full):
    problem = only(full.examine(USM_SYCL_AUTOCONFIG="0"))
    assert not problem["is_failure"] and problem["command"] == "unset USM_SYCL_AUTOCONFIG"


def test_dpctl_imported_first(full):
    doctor = "from usm.__main__ import main; raise SystemExit(main([]))"
    text, status = full.run(code=f"import dpctl; {doctor}")
    assert status == 0 and "opencl:cpu:0" in text, text
    # It keeps the empty list that it had before the driver was registered.
    text, status = full.run(code=f"import dpctl; assert not dpctl.get_devices(); {doctor}")
    assert status == 1, text
    assert "before the OpenCL CPU driver" in text and text.count("`import usm`") == 1


def test_a_root_without_a_runtime(bare, tmp_path):
    problem = only(bare.examine(USM_SYCL_ROOT=str(tmp_path / "nothing")))
    assert problem["is_failure"] and problem["command"] == "unset USM_SYCL_ROOT"


def test_an_active_environment_of_another_python(bare, tmp_path):
    other = tmp_path / "other"
    found = bare.examine(VIRTUAL_ENV=str(other))
    (problem,) = [problem for problem in found["problems"] if problem["kind"] == "OtherEnvironment"]
    assert found["works"] and problem["command"] == f"{other}/bin/python -m usm doctor"
    assert str(other) in problem["what"] and str(bare.prefix) in problem["what"]
    # Commands name this Python, whichever environment is active.
    assert pip(bare, DPCTL, "intel-opencl-rt") in found["text"]
    assert only(bare.examine(VIRTUAL_ENV=str(bare.prefix)))["kind"] == "NoRuntime"


def test_a_container(bare, tmp_path):
    found = bare.examine(container="podman")
    assert found["container"] and found["text"].count("This is a container.") == 1
    assert "--gpus all" in found["text"]
    assert not _doctor._is_container({}, tmp_path)
    (tmp_path / ".dockerenv").touch()
    assert _doctor._is_container({}, tmp_path)


def test_an_nvidia_driver(bare, stand_in):
    driver = stand_in("libcuda_loopback.so")
    found = bare.examine(USM_CUDA="1", USM_CUDA_DRIVER=driver)
    assert (found["works"], found["problems"]) == (True, [])
    assert "cuda:gpu:0" in found["text"] and "container" not in found["text"]
    found = bare.examine(USM_CUDA="1", USM_CUDA_DRIVER=driver, CUDA_LOOPBACK_DEVICES="0", CUDA_VISIBLE_DEVICES="")
    assert found["works"], "a program may hide the GPUs"
    (problem,) = [problem for problem in found["problems"] if problem["kind"] == "NoCudaDevice"]
    assert problem["command"] == "unset CUDA_VISIBLE_DEVICES"


def test_no_nvidia_driver_is_no_problem(bare, tmp_path):
    found = bare.examine(USM_CUDA="1", LD_LIBRARY_PATH=str(tmp_path))
    (cuda,) = [backend for backend in found["backends"] if backend["name"] == "cuda"]
    if not cuda["available"]:
        assert found["works"] and "NVIDIA driver" in cuda["reason"] and "NVIDIA driver" not in found["text"]


@pytest.fixture
def old_driver(tmp_path):
    """A driver for CUDA 11.1, which lacks functions."""
    source = tmp_path / "driver.c"
    source.write_text("int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int *v) { *v = 11010; return 0; }")
    if shutil.which("cc") is None:
        requirements.missing("cc", "no compiler for C is on PATH", required=False)
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def test_an_nvidia_driver_that_is_too_old(bare, old_driver):
    found = bare.examine(USM_CUDA="1", LD_LIBRARY_PATH=str(old_driver.parent))
    (problem,) = [problem for problem in found["problems"] if problem["kind"] == "UnusableCudaDriver"]
    assert not found["works"] and "11.2 or newer" in problem["what"]
    assert "install a driver for CUDA 11.2 or newer" in problem["remedy"]
    assert "To go on without it: export USM_CUDA=0" in found["text"]
    found = bare.examine(USM_CUDA="1", USM_CUDA_DRIVER=str(old_driver))
    (problem,) = [problem for problem in found["problems"] if problem["kind"] == "UnusableCudaDriver"]
    assert problem["command"] == "unset USM_CUDA_DRIVER"


def test_what_was_requested_fails(bare):
    assert bare.examine("--device", "host:cpu")["works"]
    for arguments, variables, kind in (
        (["--device", "gpu"], {}, "NoSuchDevice"),
        (["--device", "nonsense:"], {}, "NoSuchDevice"),
        ([], {"USM_DEFAULT_DEVICE": "gpu"}, "NoSuchDefault"),
        ([], {"USM_REQUIRE_SYCL": "1"}, "NoRuntime"),
        ([], {"USM_REQUIRE_CUDA": "1"}, "RequiredDeviceMissing"),
    ):
        found = bare.examine(*arguments, **variables)
        assert [problem["kind"] for problem in found["problems"] if problem["is_failure"]] == [kind]


def test_details(full):
    text, status = full.run("--verbose")
    assert status == 0 and text.splitlines()[0] == full.examine()["summary"]
    for part in ("Platforms and devices", "libDPCTLSyclInterface.so: loaded", str(full.python)):
        assert text.count(part) == 1, text


@pytest.mark.parametrize("of_user", [None, "/no/such/driver.so"])
def test_a_driver_that_usm_registered_is_no_choice_of_the_user(full, of_user):
    variables = {} if of_user is None else {"OCL_ICD_FILENAMES": of_user}
    found = full.examine(**variables)
    driver = str(full.lib / DRIVER)
    assert found["environment"]["OCL_ICD_FILENAMES"] == of_user
    assert found["added"] == {"OCL_ICD_FILENAMES": driver}
    text, _ = full.run("--verbose", **variables)
    assert f"  usm has appended to OCL_ICD_FILENAMES: {driver}\n" in text
    assert ("  OCL_ICD_FILENAMES=" in text) == (of_user is not None)
    # The same in the words of Rust, which registers the driver where Python did not.
    code = "import os, usm; os.environ.update({!r}); print(usm.doctor()['text'])"
    for environment in ({}, {"USM_SYCL_AUTOCONFIG": "0"}):
        again = {"USM_SYCL_AUTOCONFIG": "1"} if environment else {}
        text, _ = full.run(code=code.format(again), **environment, **variables)
        (line,) = [line for line in text.splitlines() if line.startswith("  OCL_ICD_FILENAMES")]
        assert line.endswith(f"; usm has appended {driver}"), text
        assert line.startswith(f"  OCL_ICD_FILENAMES={of_user}  " if of_user else "  OCL_ICD_FILENAMES is not set  ")


def test_a_driver_of_the_user(full):
    driver = str(full.lib / DRIVER)
    found = full.examine(OCL_ICD_FILENAMES=driver)
    assert found["environment"]["OCL_ICD_FILENAMES"] == driver and found["added"] == {}


def test_arithmetic_on_the_memory_that_is_here(full, stand_in):
    assert full.examine()["providers"] == {
        "host and shared memory": ["numpy"],
        "device memory of the host backend": ["numpy"],
        "host and shared memory of a SYCL device": ["numpy"],
        "device memory of a CPU": ["numpy"],
    }
    text, _ = full.run("--verbose")
    lines = text[text.index("Arithmetic, by the libraries that are installed (none was tried)") :].splitlines()
    assert "  host and shared memory: numpy" in lines[1:5]
    assert "no library is installed" not in text
    found = full.examine(USM_CUDA="1", USM_CUDA_DRIVER=stand_in("libcuda_loopback.so"))
    assert found["providers"]["device memory of an NVIDIA GPU"] == []
    note = "Note: no library is installed that computes on device memory of an NVIDIA GPU.\n"
    assert note + f"  To add one (optional): {pip(full, 'cupy-cuda13x', 'array-api-compat')}\n" in found["text"]
    # A CPU is a device like others where host code is kept away.
    found = full.examine(USM_STRICT_DEVICE="1")
    assert found["providers"]["device memory of a SYCL device"] == []
    assert f"(optional): {pip(full, 'dpnp')}\n" in found["text"]


def test_searched_places_are_told_once(bare):
    text, _ = bare.run("--verbose")
    assert text.count("has no libDPCTLSyclInterface.so") == text.count("/lib: has no") > 0
    command = pip(bare, DPCTL, "intel-opencl-rt")
    assert text.count(command) == text.count("intel-opencl-rt") == 2, "one form, in the note and in the details"


def test_help_names_the_keys_and_the_exit_status(bare):
    text, status = bare.run("--help")
    assert status == 0 and "exit status:" in text
    named = {name for names in _doctor.KEYS for name in names.split(", ")}
    assert named == set(json.loads(bare.run("--json")[0]))
    assert all(f"  {names}: " in text for names in _doctor.KEYS)


def test_a_python_without_pip(monkeypatch):
    monkeypatch.setattr(_doctor.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(_doctor.shutil, "which", lambda name: "/usr/bin/uv")
    command = _doctor.pip_install("--force-reinstall intel-opencl-rt")
    assert command == f"uv pip install --python {sys.executable} --reinstall intel-opencl-rt"
    monkeypatch.setattr(_doctor, "shutil", types.SimpleNamespace(which=lambda name: None))
    assert _doctor.pip_install("numpy") == f"{sys.executable} -m pip install numpy"
