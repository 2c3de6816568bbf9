"""``python -m usm``: the backends and devices of this machine, and why one is missing."""

import argparse
import json
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import usm

_INSTALL_HINT = 'pip install "usm[sycl-cpu]"'


def report() -> dict[str, Any]:
    """Everything this command prints, as values JSON can hold."""
    devices = usm.get_devices()
    default = usm.select_default_device() if devices else None
    return {
        "version": usm.__version__,
        "python": sys.version.split()[0],
        "backends": [{**backend, "devices": [str(d) for d in backend["devices"]]} for backend in usm.backends()],
        "devices": [_describe(device, default) for device in devices],
    }


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


def as_text(found: dict[str, Any]) -> str:
    """The report for a reader at a terminal."""
    lines = [f"usm {found['version']} on Python {found['python']}", "", "Backends"]
    missing = False
    for backend in found["backends"]:
        missing |= not backend["available"]
        lines += _backend_lines(backend)
    lines += ["", "Devices (* is the default)"]
    for device in found["devices"]:
        lines += _device_lines(device)
    if missing:
        lines += ["", f"To add a SYCL runtime with a CPU device: {_INSTALL_HINT}"]
    return "\n".join(lines)


def _backend_lines(backend: dict[str, Any]) -> list[str]:
    state = "available" if backend["available"] else "missing"
    lines = [f"  {backend['name']:<6} {state:<10} {backend['library'] or ''}".rstrip()]
    if backend["reason"]:
        lines += textwrap.indent(f"why: {backend['reason']}", " " * 9).splitlines()
    if not backend["available"]:
        lines += [f"         tried: {attempt}" for attempt in backend["tried"]]
    lines += [f"         note: {note}" for note in backend["notes"]]
    return lines


def _device_lines(device: dict[str, Any]) -> list[str]:
    mark = "*" if device["default"] else " "
    gib = device["global_mem_size"] / 2**30
    precisions = [name for name in ("fp16", "fp64") if device[name]]
    facts = [
        f"driver {device['driver_version']}",
        f"{device['max_compute_units']} compute units",
        f"{gib:.1f} GiB",
        f"USM {'/'.join(device['usm_kinds'])}",
        " ".join(precisions) or "no fp16 or fp64",
    ]
    return [f"{mark} {device['filter_string']:<15} {device['name'].strip()}", f"    {', '.join(facts)}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; the exit code is 1 when no device at all can be used."""
    parser = argparse.ArgumentParser(prog="python -m usm", description="List USM backends and devices.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    found = report()
    print(json.dumps(found, indent=2) if options.json else as_text(found))
    return 0 if found["devices"] else 1


if __name__ == "__main__":
    sys.exit(main())
