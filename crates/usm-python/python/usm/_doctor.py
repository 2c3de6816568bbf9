"""What ``python -m usm doctor`` finds, and one command for each problem."""

import importlib.util
import os
import pathlib
import shlex
import shutil
import sys
import textwrap
import warnings
from collections.abc import Mapping
from typing import Any

import usm
from usm.compute import _choice

#: The keys of ``--json``.
KEYS = {
    "works": "true where nothing that is installed or requested fails; the exit status is 0 then, else 1",
    "summary": "the first line of the text",
    "problems": "a list; of each its kind, is_failure, what, remedy, and command (null where no command helps)",
    "devices": "a list; of each its filter_string, name, default, memory, aspects of USM, …",
    "backends": "a list; of each its name, available, library, reason, notes, devices",
    "platforms": "a list; of each its name, vendor, version, backend, devices",
    "sycl": "library, version, interface and driver of the SYCL runtime; null without one",
    "places": "a list of the places where the SYCL runtime was searched for, each with its outcome",
    "environment": "the variables that matter, as the user set them, null where they are not set",
    "added": "what usm itself has appended to these variables",
    "providers": "the memory of these devices, each with the installed libraries that compute on it",
    "version, python, executable": "of usm and of this Python",
    "container": "true in a container",
}

#: How commands of pip begin.
_PIP = "pip install "
_REINSTALL_DRIVER = f"{_PIP}--force-reinstall --no-deps intel-opencl-rt"
_CONTAINER_HINT = (
    "This is a container. Options at its start show GPUs: `--device /dev/dri` those of Intel,"
    " `--gpus all` those of NVIDIA."
)
#: An installation that has lost its library, in the words of `usm._locate.roots`.
_LOST = "distribution dpctl (its "


def report(device: str | None = None) -> dict[str, Any]:
    """All that is found, as values that JSON can hold. `device` is a filter selector that has to select a device."""
    found = usm.doctor()
    default = _default()
    described = [_describe(each, default) for each in usm.get_devices()]
    problems = [dict(problem) for problem in found["problems"]]
    _name_lost_library(problems, found)
    _name_broken_driver(problems, found)
    for problem in problems:
        _name_this_python(problem)
    _require(problems, described)
    problems += [*_requested(device), *_other_environment()]
    works = not any(problem["is_failure"] for problem in problems)
    return {
        "works": works,
        "summary": _summary(works, described),
        "problems": problems,
        "devices": described,
        "backends": [{**backend, "devices": [str(d) for d in backend["devices"]]} for backend in usm.backends()],
        **{key: found[key] for key in ("platforms", "sycl", "places", "environment", "added")},
        "providers": _choice.for_devices(usm.get_devices()),
        "version": usm.__version__,
        "python": sys.version.split()[0],
        "executable": sys.executable,
        "container": _is_container(os.environ),
    }


def _default() -> usm.SyclDevice | None:
    with warnings.catch_warnings():
        # The warning says what a problem says.
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return usm.select_default_device()
        except usm.SyclDeviceCreationError:
            # USM_DEFAULT_DEVICE selects no device, as a problem says.
            return None


def _describe(device: usm.SyclDevice, default: usm.SyclDevice | None) -> dict[str, Any]:
    kinds = {
        "host": device.has_aspect_usm_host_allocations,
        "device": device.has_aspect_usm_device_allocations,
        "shared": device.has_aspect_usm_shared_allocations,
    }
    return {
        "filter_string": device.filter_string,
        "name": device.name,
        "vendor": device.vendor,
        "driver_version": device.driver_version,
        "backend": device.backend,
        "device_type": device.device_type,
        "default": device == default,
        "global_mem_size": device.global_mem_size,
        "max_mem_alloc_size": device.max_mem_alloc_size,
        "max_compute_units": device.max_compute_units,
        "usm_kinds": [kind for kind, offered in kinds.items() if offered],
        "fp16": device.has_aspect_fp16,
        "fp64": device.has_aspect_fp64,
    }


def _summary(works: bool, devices: list[dict[str, Any]]) -> str:
    others = sum(device["backend"] != "host" for device in devices)
    where = "on the host device" if not others else f"with {others} device{'s' if others > 1 else ''} beside the host"
    if works:
        return f"usm {usm.__version__} works here, {where}."
    return f"usm {usm.__version__} works {where}, but something installed or requested here fails."


def _name_this_python(problem: dict[str, Any]) -> None:
    """Makes a command of pip one for the environment of this Python."""
    command = problem["command"]
    if command is not None and command.startswith(_PIP):
        problem["command"] = pip_install(command.removeprefix(_PIP))
        problem["remedy"] = problem["remedy"].replace(command, problem["command"])


def pip_install(arguments: str) -> str:
    """The command that installs into the environment of this Python, whichever environment is active."""
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        for again in ("--force-reinstall", "--ignore-installed"):
            arguments = arguments.replace(again, "--reinstall")
        return f"uv pip install --python {python} {arguments}"
    return f"{python} -m {_PIP}{arguments}"


def _name_lost_library(problems: list[dict[str, Any]], found: Mapping[str, Any]) -> None:
    """Makes a failure of dpctl that is installed without its library."""
    lost = next((place for place in found["places"] if place["origin"].startswith(_LOST)), None)
    for problem in problems:
        if problem["kind"] == "NoRuntime" and lost is not None:
            what = f"dpctl is installed, but its library is not in {lost['path']}"
            command = problem["command"].replace(_PIP, f"{_PIP}--ignore-installed ")
            remedy = f"install dpctl again: `{command}`"
            problem.update(kind="IncompleteInstallation", is_failure=True, what=what, remedy=remedy, command=command)


def _name_broken_driver(problems: list[dict[str, Any]], found: Mapping[str, Any]) -> None:
    """Adds the reason why the CPU driver cannot be used. The runtime does not tell it, and a selector may hide it."""
    driver = found["sycl"]["driver"] if found["sycl"] else None
    suspects = [problem for problem in problems if problem["kind"] in ("UnusableDriver", "SelectorHidesDevices")]
    reason = _error_of_driver(driver) if driver and suspects else None
    if reason is None:
        return
    what = f"the OpenCL CPU driver {driver} cannot be used: {reason.removeprefix(f'{driver}: ')}"
    if suspects[0]["kind"] == "UnusableDriver":
        suspects[0]["what"] = what
    else:
        remedy = f"reinstall the driver, for instance by `{_REINSTALL_DRIVER}`"
        problems.insert(0, _problem("UnusableDriver", what, remedy, _REINSTALL_DRIVER, is_failure=True))


def _error_of_driver(path: str) -> str | None:
    import ctypes

    try:
        driver = ctypes.CDLL(path)
    except OSError as error:
        return str(error)
    if not hasattr(driver, "clGetExtensionFunctionAddress"):
        return "it has no function clGetExtensionFunctionAddress, which drivers of OpenCL have"
    return None


def _require(problems: list[dict[str, Any]], devices: list[dict[str, Any]]) -> None:
    """Makes failures of what USM_REQUIRE_SYCL and USM_REQUIRE_CUDA ask for and what is not there."""
    has_sycl = any(device["backend"] not in ("host", "cuda") for device in devices)
    has_cuda = any(device["filter_string"].startswith("cuda:") for device in devices)
    for variable, is_there, word, kinds in (
        ("USM_REQUIRE_SYCL", has_sycl, "SYCL", {"NoRuntime", "DriverMissing", "DriverNotRegistered"}),
        ("USM_REQUIRE_CUDA", has_cuda, "CUDA", {"NoCudaDevice", "UnusableCudaDriver"}),
    ):
        if is_there or os.environ.get(variable) != "1":
            continue
        cause = next((problem for problem in problems if problem["kind"] in kinds), None)
        what = f"{variable}=1 requires a {word} device, and there is none"
        if cause is not None:
            cause.update(is_failure=True, what=f"{what}: {cause['what']}")
        elif not any(problem["is_failure"] for problem in problems):
            remedy = f"install a driver with a {word} device, or unset {variable}"
            problems.append(_problem("RequiredDeviceMissing", what, remedy, None, is_failure=True))


def _requested(device: str | None) -> list[dict[str, Any]]:
    if device is None:
        return []
    try:
        usm.SyclDevice(device)
    except (usm.SyclDeviceCreationError, ValueError) as error:
        remedy = "name one of the devices that are there"
        return [_problem("NoSuchDevice", f"--device {device}: {error}", remedy, None, is_failure=True)]
    return []


def _other_environment() -> list[dict[str, Any]]:
    active = os.environ.get("VIRTUAL_ENV")
    if not active or os.path.realpath(active) == os.path.realpath(sys.prefix):
        return []
    what = f"the active virtual environment is {active}, but this Python is that of {sys.prefix}"
    remedy = "start the Python of the active environment, or leave that environment"
    command = shlex.join([os.path.join(active, "bin", "python"), "-m", "usm", "doctor"])
    return [_problem("OtherEnvironment", what, remedy, command, is_failure=False)]


def _problem(kind: str, what: str, remedy: str, command: str | None, *, is_failure: bool) -> dict[str, Any]:
    return {"kind": kind, "is_failure": is_failure, "what": what, "remedy": remedy, "command": command}


def _is_container(environment: Mapping[str, str], root: pathlib.Path = pathlib.Path("/")) -> bool:
    # Docker and Podman leave these files, and systemd and Podman set the variable.
    return "container" in environment or any((root / mark).exists() for mark in (".dockerenv", "run/.containerenv"))


def as_text(found: Mapping[str, Any]) -> str:
    """The report for a reader at a terminal: first whether it works, then what to do, then the devices."""
    lines = [found["summary"]]
    failures = [problem for problem in found["problems"] if problem["is_failure"]]
    notes = [problem for problem in found["problems"] if not problem["is_failure"]]
    for problem in failures:
        lines += ["", *_told("Problem: ", problem, "To fix it")]
    lines += ["", "Devices"]
    width = max(len(device["filter_string"]) for device in found["devices"])
    for device in found["devices"]:
        default = ", the default" if device["default"] else ""
        size = device["global_mem_size"] / 2**30
        lines += [f"  {device['filter_string']:<{width}}  {device['name']}, {size:.1f} GiB{default}"]
    installed = dict.fromkeys(name for names in found["providers"].values() for name in names)
    lines += [f"Arithmetic: {', '.join(installed) or 'none'}"]
    for problem in notes:
        lines += ["", *_told("Note: ", problem, _OPTIONAL.get(problem["kind"], "To change that"))]
    for command, memory in _missing_providers(found["providers"]).items():
        lines += ["", f"Note: no library is installed that computes on {', or on '.join(memory)}."]
        lines += [f"  To add one (optional): {pip_install(command.removeprefix(_PIP))}"]
    has_gpu = any(device["device_type"].name == "gpu" for device in found["devices"])
    if found["container"] and not has_gpu:
        lines += ["", _CONTAINER_HINT]
    lines += ["", "More: python -m usm doctor --verbose"]
    return "\n".join(lines)


def _missing_providers(providers: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The memory that no installed library computes on, by the command that adds one."""
    missing: dict[str, list[str]] = {}
    for memory, installed in providers.items():
        if not installed:
            missing.setdefault(_choice.install(memory), []).append(memory)
    return missing


_OPTIONAL = {
    "NoRuntime": "To add this CPU as a SYCL device (optional)",
    "DriverMissing": "To add this CPU as a SYCL device (optional)",
    "OtherEnvironment": "To examine the active one",
}


def _told(label: str, problem: Mapping[str, Any], to_fix: str) -> list[str]:
    what = problem["what"]
    lines = [label + what + ("" if what.endswith(".") else ".")]
    lines += [f"  {to_fix}: {problem['command'] or problem['remedy']}"]
    if problem["kind"] == "UnusableCudaDriver":
        lines += ["  To go on without it: export USM_CUDA=0"]
    return lines


def details(found: Mapping[str, Any], tree: str) -> str:
    """What `as_text` leaves out."""
    lines = [f"Python {found['python']}: {found['executable']}", "", "Platforms and devices", tree.rstrip(), ""]
    lines += ["Backends"]
    for backend in found["backends"]:
        state = "available" if backend["available"] else "missing"
        lines += [f"  {backend['name']:<6} {state:<10} {backend['library'] or ''}".rstrip()]
        if backend["reason"]:
            # The places have a list of their own.
            lines += [f"         why: {backend['reason'].splitlines()[0]}"]
        lines += [f"         note: {note}" for note in backend["notes"]]
    sycl = found["sycl"]
    if sycl:
        lines += ["", f"SYCL runtime: DPC++ {sycl['version']}", f"  C interface: {sycl['interface']}"]
        lines += [f"  CPU driver: {sycl['driver'] or 'not installed'}"]
    if found["places"]:
        lines += ["", "Searched for the SYCL runtime, in this order (* is in use)"]
    for place in found["places"]:
        lines += [f"{'*' if place['in_use'] else ' '} {place['origin']}: {place['path']}: {place['outcome']}"]
    lines += ["", "Arithmetic, by the libraries that are installed (none was tried)"]
    lines += [f"  {memory}: {', '.join(installed) or 'none'}" for memory, installed in found["providers"].items()]
    lines += ["", "Environment"]
    set_ones = [f"  {name}={value}" for name, value in found["environment"].items() if value is not None]
    lines += set_ones or ["  none of the variables that matter was set"]
    lines += [f"  usm has appended to {name}: {value}" for name, value in found["added"].items()]
    for problem in found["problems"]:
        lines += ["", f"{problem['kind']}: {problem['what']}"]
        lines += textwrap.indent(f"what to do: {problem['remedy']}", "  ").splitlines()
    return "\n".join(lines)
