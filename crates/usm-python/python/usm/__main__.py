"""``python -m usm``: platforms and devices of this machine, why a backend is missing, and what to do about it."""

import argparse
import json
import signal
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import usm
import usm.compute

_INSTALL_HINT = "pip install dpctl intel-opencl-rt"


def report() -> dict[str, Any]:
    """Everything this command prints, as values JSON can hold."""
    devices = usm.get_devices()
    default = usm.select_default_device()
    found = usm.doctor()
    return {
        "version": usm.__version__,
        "python": sys.version.split()[0],
        "backends": [{**backend, "devices": [str(d) for d in backend["devices"]]} for backend in usm.backends()],
        **{key: found[key] for key in ("platforms", "sycl", "places", "environment", "problems")},
        "providers": usm.compute.providers(),
        "devices": [_describe(device, default) for device in devices],
    }


def _describe(device: usm.SyclDevice, default: usm.SyclDevice) -> dict[str, Any]:
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


def as_text() -> str:
    """The report for a reader at a terminal."""
    found = usm.doctor()
    lines = [f"usm {usm.__version__} on Python {sys.version.split()[0]}", "", "Platforms and devices", found["tree"]]
    lines += ["Backends"]
    for backend in usm.backends():
        lines += _backend_lines(backend)
    sycl = found["sycl"]
    if sycl:
        lines += ["", f"SYCL runtime: DPC++ {sycl['version']}", f"  C interface: {sycl['interface']}"]
        lines += [f"  CPU driver: {sycl['driver'] or 'not installed'}"]
    lines += ["", "Arithmetic"]
    lines += [f"  {name:<6} {', '.join(memory)}" for name, memory in usm.compute.providers().items()]
    if not usm.compute.providers():
        lines += ["  no library that computes is installed; pip install numpy installs one for host and shared memory"]
    lines += ["", "Environment"]
    lines += [f"  {name}={value}" for name, value in found["environment"].items() if value is not None]
    lines += ["", "Problems"]
    for problem in found["problems"]:
        lines += textwrap.indent(problem["what"], "  ").splitlines()
        lines += textwrap.indent(f"what to do: {problem['remedy']}", "    ").splitlines()
    if found["problems"]:
        lines += [f"  A SYCL runtime with a CPU device comes with: {_INSTALL_HINT}"]
    else:
        lines += ["  none"]
    return "\n".join(lines)


def _backend_lines(backend: Any) -> list[str]:
    state = "available" if backend["available"] else "missing"
    lines = [f"  {backend['name']:<6} {state:<10} {backend['library'] or ''}".rstrip()]
    if backend["reason"]:
        lines += textwrap.indent(f"why: {backend['reason']}", " " * 9).splitlines()
    if not backend["available"]:
        lines += [f"         tried: {attempt}" for attempt in backend["tried"]]
    lines += [f"         note: {note}" for note in backend["notes"]]
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; the exit code is 1 when there is a problem, as the report tells."""
    parser = argparse.ArgumentParser(prog="python -m usm", description="List platforms, devices and problems.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    print(json.dumps(report(), indent=2) if options.json else as_text(), flush=True)
    return 1 if usm.doctor()["problems"] else 0


if __name__ == "__main__":
    # A reader that has seen enough, as in `python -m usm | head`, ends this program in silence as it ends `ls` and
    # `cat`: by the signal, which Python ignores by default.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
