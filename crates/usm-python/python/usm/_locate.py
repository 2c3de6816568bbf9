"""Where the SYCL runtime of this Python installation is, found without environment variables.

Two parts, by cost:

* :func:`announce_cpu_driver` runs when ``usm`` is imported and looks at a file
  or two. ``intel-opencl-rt`` installs its OpenCL CPU driver to
  ``<prefix>/lib/libintelocl.so`` but registers it under a path that does not
  exist, so by itself no SYCL program sees the CPU. The driver's real path is
  **appended** to ``OCL_ICD_FILENAMES`` (never replacing what is there), which
  the OpenCL loader reads at the first device query of the process. It happens at
  import because that is the earliest moment, so that a dpctl imported afterwards
  sees the device too, and so that the environment does not change later, when
  other threads may be reading it.
* :func:`roots` runs when the SYCL runtime is needed for the first time. It reads
  the file lists of the installed distributions, which costs milliseconds.

``USM_SYCL_AUTOCONFIG=0`` in the environment turns the first part off.
"""

from __future__ import annotations

import _thread
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["announce_cpu_driver", "announced", "nvrtc_folders", "prefixes", "roots"]

#: The driver that :func:`announce_cpu_driver` has appended, for reports. None where there was nothing to do.
announced: str | None = None

_CPU_DRIVER = "libintelocl.so"
_ICD_VARIABLE = "OCL_ICD_FILENAMES"

# Distribution on the registry -> the library that tells its folder.
_LIBRARY_OF = {
    "dpctl": "libDPCTLSyclInterface.so",
    "intel-sycl-rt": "libsycl.so",
    "intel-opencl-rt": _CPU_DRIVER,
}


def prefixes() -> list[tuple[str, str]]:
    """Installation prefixes of this interpreter as (origin, prefix) pairs, most specific first, each prefix once."""
    found = [("sys.prefix", sys.prefix), ("sys.base_prefix", sys.base_prefix)]
    site = sys.modules.get("site")
    if site is not None and getattr(site, "ENABLE_USER_SITE", False) and site.USER_BASE:
        found.append(("site.USER_BASE", site.USER_BASE))
    first_origin: dict[str, str] = {}
    for origin, prefix in found:
        first_origin.setdefault(prefix, origin)
    return [(origin, prefix) for prefix, origin in first_origin.items()]


def announce_cpu_driver() -> str | None:
    """Append the OpenCL CPU driver of this installation to ``OCL_ICD_FILENAMES``.

    Returns the path that was appended, or ``None`` when there was nothing to do:
    no driver is installed, it is listed already, or ``USM_SYCL_AUTOCONFIG=0``.
    """
    global announced
    if os.environ.get("USM_SYCL_AUTOCONFIG") == "0":
        return None
    for _, prefix in prefixes():
        driver = os.path.abspath(os.path.join(prefix, "lib", _CPU_DRIVER))
        if not os.path.isfile(driver):
            continue
        listed = [entry for entry in os.environ.get(_ICD_VARIABLE, "").split(os.pathsep) if entry]
        real = os.path.realpath(driver)
        # The same driver under two names would show each of its devices twice.
        if any(os.path.realpath(entry) == real for entry in listed):
            return None
        os.environ[_ICD_VARIABLE] = os.pathsep.join([*listed, driver])
        announced = driver
        return driver
    return None


# Held over each import at the first use. A fork waits for it: in a child, the lock of a module that another thread was
# importing stays locked for ever.
importing = _thread.RLock()
#: The same, with the methods that stubs do not know.
_lock: Any = importing

#: The longest wait of a fork for an import. The import may wait for a lock that the fork has taken before, as that of
#: `logging`.
_FORK_WAITS_S = 10


def _before_fork() -> None:
    _lock.acquire(timeout=_FORK_WAITS_S)


def _after_fork() -> None:
    # Not after a long wait, and not where a signal handler raised in the wait, which Python ignores there.
    if _lock._is_owned():
        _lock.release()


def _after_fork_in_child() -> None:
    if _lock._is_owned():
        _lock.release()
    else:
        _lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


def roots() -> list[tuple[str, str]]:
    """Folders that may hold the SYCL runtime's libraries, as (origin, folder) pairs in the order to try them.

    First the folders where installed distributions say they put their
    libraries, then ``lib`` of each prefix. A folder is listed even when the
    library is not in it, so that whoever searches can report what is wrong; the
    origin then says so.
    """
    found: list[tuple[str, str]] = []
    for distribution, library in _LIBRARY_OF.items():
        found += _folders_of(distribution, library)
    found += [(f"{origin}/lib", os.path.join(prefix, "lib")) for origin, prefix in prefixes()]
    first_origin: dict[str, str] = {}
    for origin, folder in found:
        first_origin.setdefault(folder, origin)
    return [(origin, folder) for folder, origin in first_origin.items()]


def nvrtc_folders() -> list[str]:
    """Folders of this installation that may hold NVRTC, NVIDIA's compiler for CUDA C, in the order to try them.

    Its packages put it below ``nvidia`` in site-packages, Conda into ``lib`` of the prefix.
    """
    parents = [os.path.join(path, "nvidia") for path in dict.fromkeys(sys.path)]
    below = [
        os.path.join(parent, name, "lib") for parent in parents if os.path.isdir(parent) for name in os.listdir(parent)
    ]
    packages = sorted(folder for folder in below if os.path.basename(os.path.dirname(folder)).startswith("cu"))
    return [*packages, *(os.path.join(prefix, "lib") for _, prefix in prefixes())]


def _folders_of(distribution: str, library: str) -> list[tuple[str, str]]:
    # Imported here: it pulls in email, zipfile and more, which `import usm` must not pay for.
    with importing:
        from importlib import metadata

    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return []
    # Not `files`: from Python 3.12 on it leaves out what is missing, which is what to tell of.
    record = (found.read_text("RECORD") or "").splitlines()
    installed = [line.split(",", 1)[0] for line in record]
    folders: list[tuple[str, str]] = []
    for file in installed:
        if file.rsplit("/", 1)[-1] != library:
            continue
        path = os.path.abspath(str(found.locate_file(file)))
        origin = f"distribution {distribution}"
        if not os.path.exists(path):
            # `pip install --target` keeps the record and drops everything outside site-packages.
            origin += f" (its {library} is missing; was it installed with `pip install --target`?)"
        folders.append((origin, os.path.dirname(path)))
    return folders
