"""No environment variable is needed, and `import usm` changes one in one documented way."""

import ast
import os
import sys

import pytest

import usm
from usm import _locate

from support import process


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """A prefix with a driver in it, as the only prefix of this Python."""
    driver = tmp_path / "lib" / "libintelocl.so"
    driver.parent.mkdir()
    driver.touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    monkeypatch.setattr("site.ENABLE_USER_SITE", False)
    # Set first, so that monkeypatch restores what the function under test writes.
    monkeypatch.setenv("OCL_ICD_FILENAMES", "")
    monkeypatch.delenv("USM_SYCL_AUTOCONFIG", raising=False)
    return tmp_path


def icd():
    return os.environ["OCL_ICD_FILENAMES"]


def test_the_driver_is_announced(prefix):
    driver = str(prefix / "lib" / "libintelocl.so")
    assert _locate.announce_cpu_driver() == driver
    assert icd() == driver
    assert _locate.announce_cpu_driver() is None
    assert icd() == driver


def test_what_is_listed_stays(prefix, monkeypatch):
    monkeypatch.setenv("OCL_ICD_FILENAMES", "/one.so:two.so")
    _locate.announce_cpu_driver()
    assert icd() == f"/one.so:two.so:{prefix}/lib/libintelocl.so"


def test_the_same_driver_under_another_name_is_not_added(prefix, monkeypatch):
    (prefix / "alias.so").symlink_to(prefix / "lib" / "libintelocl.so")
    monkeypatch.setenv("OCL_ICD_FILENAMES", str(prefix / "alias.so"))
    assert _locate.announce_cpu_driver() is None
    assert icd() == str(prefix / "alias.so")


def test_opting_out(prefix, monkeypatch):
    monkeypatch.setenv("USM_SYCL_AUTOCONFIG", "0")
    assert _locate.announce_cpu_driver() is None
    assert icd() == ""


def test_a_prefix_without_a_driver(prefix):
    (prefix / "lib" / "libintelocl.so").unlink()
    assert _locate.announce_cpu_driver() is None
    assert icd() == ""


def test_roots_are_origins_and_folders():
    roots = _locate.roots()
    folders = [folder for _, folder in roots]
    assert len(set(folders)) == len(folders)
    assert all(os.path.isabs(folder) and origin for origin, folder in roots)
    assert os.path.join(sys.prefix, "lib") in folders
    # Distributions before prefixes.
    origins = [origin.startswith("distribution ") for origin, _ in roots]
    assert origins == sorted(origins, reverse=True)


def test_roots_name_the_folder_of_dpctl(dpctl):
    folder = os.path.dirname(dpctl.__file__)
    assert ("distribution dpctl", folder) in _locate.roots()


def test_roots_tell_of_a_lost_library(monkeypatch, tmp_path):
    """`pip install --target` records files that it then does not install."""
    site = tmp_path / "site"
    info = site / "intel_opencl_rt-2026.2.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: intel-opencl-rt\nVersion: 2026.2.0\n")
    (info / "RECORD").write_text("../../libintelocl.so,,\n")
    monkeypatch.syspath_prepend(str(site))
    told = [origin for origin, _ in _locate.roots() if origin.startswith("distribution intel-opencl-rt")]
    assert any("missing" in origin and "--target" in origin for origin in told)


def test_devices_with_an_empty_environment():
    out = process.check("""
        import usm
        print([d.filter_string for d in usm.get_devices()])
        assert usm.select_default_device() in usm.get_devices()
    """)
    assert "host:cpu:0" in out


def test_sycl_devices_with_an_empty_environment(sycl_queue):
    out = process.check("import usm; print([d.filter_string for d in usm.get_devices()])")
    assert sycl_queue.sycl_device.filter_string in out


@pytest.mark.parametrize(
    "code",
    [
        "import usm; import dpctl; found = dpctl.get_devices(), usm.get_devices()",
        "import usm; ours = usm.get_devices(); import dpctl; found = dpctl.get_devices(), ours",
        "import dpctl; import usm; found = dpctl.get_devices(), usm.get_devices()",
        "import dpctl; import usm; ours = usm.get_devices(); found = dpctl.get_devices(), ours",
    ],
)
def test_dpctl_sees_the_device_too(dpctl, code):
    """Whichever is imported first, as long as nobody asked for devices before `import usm`."""
    out = process.check(
        code + "\nprint([d.filter_string for d in found[0]])\nprint([d.filter_string for d in found[1]])"
    )
    theirs, ours = map(ast.literal_eval, out.splitlines())
    assert theirs
    assert set(theirs) < set(ours)


def test_one_sycl_runtime_per_process(dpctl):
    out = process.check("""
        import usm; usm.get_devices()
        import dpctl; dpctl.get_devices()
        print(sorted({line.split()[-1] for line in open("/proc/self/maps") if "libsycl.so" in line}))
        print(sorted({line.split()[-1] for line in open("/proc/self/maps") if "libDPCTLSyclInterface" in line}))
    """)
    assert [len(ast.literal_eval(line)) for line in out.splitlines()] == [1, 1]


#: What comes before may start the SYCL runtime. What comes after runs without a working directory.
WITHOUT_DIRECTORY = """
import os, tempfile
folder = tempfile.mkdtemp()
os.chdir(folder)
{before}
os.rmdir(folder)
import usm
print([d.filter_string for d in usm.get_devices()])
print([b["reason"] for b in usm.backends() if b["name"] == "sycl"])
"""


@pytest.mark.parametrize("before", ["", "import usm", "import dpctl"])
def test_without_a_working_directory_the_runtime_is_not_started(dpctl, before):
    """It would wait for ever at the end of the process."""
    devices, reasons = process.check(WITHOUT_DIRECTORY.format(before=before)).splitlines()
    backends = {name.partition(":")[0] for name in ast.literal_eval(devices)}
    assert "host" in backends and backends <= {"host", "cuda"}
    assert "start the process in a directory that exists" in reasons


@pytest.mark.parametrize("before", ["import usm; usm.get_devices()", "import usm, dpctl; dpctl.get_devices()"])
def test_the_runtime_goes_on_without_its_working_directory(sycl_queue, before):
    devices, reasons = process.check(WITHOUT_DIRECTORY.format(before=before)).splitlines()
    assert sycl_queue.sycl_device.filter_string in ast.literal_eval(devices)
    assert reasons == "[None]"


def test_without_the_driver_the_reason_is_readable(dpctl):
    """Opting out leaves the packaged driver unfound: no SYCL device, and a value that says why."""
    if "opencl:cpu:0" not in [device.filter_string for device in usm.get_devices()]:
        pytest.skip("there is no OpenCL driver for the CPU here")
    out = process.check(
        """
        import usm
        print([d.filter_string for d in usm.get_devices()])
        (sycl,) = [b for b in usm.backends() if b["name"] == "sycl"]
        print(bool(sycl["available"]), bool(sycl["reason"] or sycl["notes"]))
        """,
        USM_SYCL_AUTOCONFIG="0",
    )
    devices, state = out.splitlines()
    if "opencl" in devices:
        pytest.skip("an OpenCL driver is registered with the system on this machine")
    assert state.endswith("True")
