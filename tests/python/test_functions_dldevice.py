"""Devices as the pairs of numbers of DLPack."""

import pytest

import usm
import usm.tensor as ut

from support import requirements


def test_every_root_device_has_a_number(sycl_queue):
    roots = [device for device in usm.get_devices() if device.backend != "host"]
    of_cuda = [device for device in roots if usm.SyclQueue(device).native_stream is not None]
    kinds = {ut.DLDeviceType.kDLOneAPI: [d for d in roots if d not in of_cuda], ut.DLDeviceType.kDLCUDA: of_cuda}
    for kind, number, device in [(kind, *found) for kind, devices in kinds.items() for found in enumerate(devices)]:
        pair = ut.sycl_device_to_dldevice(device)
        assert pair == (kind, number)
        assert isinstance(pair[0], ut.DLDeviceType)
        assert ut.dldevice_to_sycl_device(pair) == device
        assert ut.dldevice_to_sycl_device((int(kind), number)) == device
    part = requirements.parts_of(sycl_queue.sycl_device)[0]
    assert ut.sycl_device_to_dldevice(part) == ut.sycl_device_to_dldevice(sycl_queue.sycl_device)


def test_the_numbers_are_dpnps(dpctl, dpt, sycl_queue):
    theirs = dpctl.SyclDevice(sycl_queue.sycl_device.filter_string)
    expected = dpt.sycl_device_to_dldevice(theirs)
    assert ut.sycl_device_to_dldevice(theirs) == expected
    assert ut.sycl_device_to_dldevice(sycl_queue.sycl_device) == expected
    assert ut.dldevice_to_sycl_device(expected).filter_string == theirs.filter_string


@pytest.mark.parametrize(
    ("pair", "error"),
    [
        ([14, 0], TypeError),
        (3, TypeError),
        ((14,), ValueError),
        ((14, 0, 0), ValueError),
        ((1, 0), ValueError),
        ((14, 1000), usm.SyclDeviceCreationError),
        ((2, 99), usm.SyclDeviceCreationError),
        ((14, -1), usm.SyclDeviceCreationError),
        ((12, 1), usm.SyclDeviceCreationError),
        ((14, "0"), TypeError),
    ],
)
def test_pairs_that_are_refused(pair, error):
    with pytest.raises(error, match="dl_dev"):
        ut.dldevice_to_sycl_device(pair)


def test_devices_that_are_refused():
    for other in (3, "host", None):
        with pytest.raises(TypeError, match="dev: found"):
            ut.sycl_device_to_dldevice(other)


def test_the_host_backend_is_an_added_device():
    host = usm.SyclDevice("host")
    assert ut.sycl_device_to_dldevice(host) == (ut.DLDeviceType.kDLExtDev, 0)
    assert ut.dldevice_to_sycl_device((12, 0)) == host
