"""Facts of devices and platforms, beside dpctl: every name of dpctl, or a reason why it is missing."""

import pytest

import usm

from support import requirements

# What Cython makes, and pointers: none of ours leaves but in a capsule.
CYTHON = {"__pyx_vtable__", "__setstate__"}
LEFT_OUT = {
    "SyclDevice": CYTHON | {"addressof_ref"},
    "SyclPlatform": CYTHON,
    "SyclContext": CYTHON | {"addressof_ref"},
}


@pytest.fixture
def ours(sycl_queue):
    return sycl_queue.sycl_device


@pytest.fixture
def theirs(dpctl, ours):
    return dpctl.SyclDevice(ours.filter_string)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_every_name_of_dpctl_is_there_or_left_out(dpctl, name):
    missing = set(dir(getattr(dpctl, name))) - set(dir(getattr(usm, name)))
    assert missing == LEFT_OUT[name]


def test_all_facts_are_those_of_dpctl(dpctl, ours, theirs):
    compared = 0
    for name in dir(dpctl.SyclDevice):
        if name.startswith("_") or name in LEFT_OUT["SyclDevice"] or name == "max_work_item_sizes":
            continue
        found, expected = getattr(ours, name), getattr(theirs, name)
        if callable(expected) or name in ("sycl_platform", "parent_device"):
            continue
        if type(expected).__name__ in ("backend_type", "device_type", "global_mem_cache_type"):
            expected = expected.name
        if isinstance(expected, str):
            found, expected = found.strip(), expected.strip()
        assert found == expected, name
        compared += 1
    assert compared > 60
    with pytest.warns(DeprecationWarning):
        assert ours.max_work_item_sizes == ours.max_work_item_sizes3d


def test_enumerations_have_the_members_of_dpctl(dpctl):
    for name in ("backend_type", "device_type", "event_status_type", "global_mem_cache_type"):
        ours = {member.name for member in getattr(usm, name)}
        assert ours >= {member.name for member in getattr(dpctl, name)}
        assert all(member == member.name for member in getattr(usm, name))
    assert {m.name for m in usm.backend_type} - {m.name for m in dpctl.backend_type} == {"host", "unknown"}


def test_filter_strings_with_parts_left_out(ours, theirs):
    for backend in (True, False):
        for device_type in (True, False):
            found = ours.get_filter_string(include_backend=backend, include_device_type=device_type)
            assert found == theirs.get_filter_string(include_backend=backend, include_device_type=device_type)
            assert usm.SyclDevice(found) == ours


def test_a_device_of_dpctl_is_a_device(ours, theirs):
    for made in (usm.SyclDevice(theirs), usm.SyclContext(theirs).sycl_device, usm.SyclQueue(theirs).sycl_device):
        assert made == ours
    assert usm.SyclPlatform(theirs) == ours.sycl_platform
    assert usm.SyclContext([theirs]).get_devices() == [ours]


def test_parts_of_dpctl_are_no_root_devices(ours, theirs):
    requirements.parts_of(ours)
    with pytest.raises(ValueError, match="root device"):
        usm.SyclDevice(theirs.create_sub_devices(partition=1)[0])


def test_positions(queue):
    device = queue.sycl_device
    assert usm.get_devices()[device.get_device_id()] == device
    assert device.parent_device is None and device.get_unpartitioned_parent_device() == device


def test_platforms(queue):
    device = queue.sycl_device
    platform = device.sycl_platform
    assert platform in usm.get_platforms() and device in platform.get_devices()
    assert platform == usm.SyclPlatform(device) == usm.SyclPlatform(device.filter_string) == usm.SyclPlatform(platform)
    assert hash(platform) == hash(usm.SyclPlatform(device)) and platform != 3
    assert usm.SyclPlatform() == usm.select_default_device().sycl_platform
    assert device in platform.default_context.get_devices()
    assert platform.get_devices("cpu") == [d for d in platform.get_devices() if d.is_cpu]
    assert platform.name in repr(platform) and platform.backend == device.backend
    for wrong, error in (("cuda:gpu:77", ValueError), (3, TypeError)):
        with pytest.raises(error):
            usm.SyclPlatform(wrong)


def test_platforms_beside_dpctl(dpctl, ours, theirs):
    mine, other = ours.sycl_platform, theirs.sycl_platform
    for name in ("name", "vendor", "version"):
        assert getattr(mine, name) == getattr(other, name)
    assert mine.backend == other.backend.name
    assert usm.SyclContext(other.default_context) == mine.default_context
    assert [d.filter_string for d in mine.get_devices()] == [d.filter_string for d in other.get_devices()]


@pytest.mark.parametrize("verbosity", [0, 1, 2])
def test_printing(queue, capsys, verbosity):
    device, platform = queue.sycl_device, queue.sycl_device.sycl_platform
    platform.print_platform_info(verbosity)
    text = capsys.readouterr().out
    assert platform.name in text and (device.filter_string in text) == (verbosity == 2)
    usm.lsplatform(verbosity)
    assert capsys.readouterr().out.count(text.strip("\n")) >= 1
    for printer in (device.print_device_info, queue.print_device_info):
        printer()
        assert device.filter_string in capsys.readouterr().out


def test_verbosity_out_of_range(capsys):
    for call in (usm.lsplatform, usm.SyclPlatform("host").print_platform_info):
        call()
        expected = capsys.readouterr().out
        for verbosity in (3, -1, 1.5, "a", None):
            if verbosity is not None:
                with pytest.warns(UserWarning, match="verbosity"):
                    call(verbosity)
            else:
                call(verbosity)
            assert capsys.readouterr().out == expected


def test_scores_images_and_composites_of_the_host_device():
    device = usm.SyclDevice("host:cpu:0")
    assert device.default_selector_score == 3 and not device.has_aspect_image
    assert device.max_read_image_args == device.image_2d_max_width == device.image_3d_max_depth == 0
    assert device.composite_device is None and device.component_devices() == []
    assert device.sycl_platform.get_composite_devices() == []


def test_composite_devices_are_those_of_dpctl(dpctl, ours, theirs):
    assert [d.name for d in usm.get_composite_devices()] == [d.name for d in dpctl.get_composite_devices()]
    assert len(ours.component_devices()) == len(theirs.component_devices())
    assert (ours.composite_device is None) == (theirs.composite_device is None)
    assert usm.SyclDevice().__name__ == dpctl.SyclDevice().__name__


def test_contexts_of_root_devices_are_the_default_ones(dpctl, ours, theirs):
    for make in (lambda m, d: m.SyclContext(d), lambda m, d: m.SyclContext(d.filter_string)):
        assert make(usm, ours) == ours.sycl_platform.default_context
        assert make(dpctl, theirs) == theirs.sycl_platform.default_context
    for module, device in ((usm, ours), (dpctl, theirs)):
        assert module.SyclContext([device]) != module.SyclContext(device)


def test_peers(queue):
    device = queue.sycl_device
    assert device.can_access_peer(device) is False
    assert device.can_access_peer(device, "atomics_supported") is False
    for call in (device.enable_peer_access, device.disable_peer_access):
        with pytest.raises(ValueError, match="peer access"):
            call(device)
    for wrong in (3, "cpu", None):
        with pytest.raises(TypeError, match="^peer"):
            device.can_access_peer(wrong)
    with pytest.raises(ValueError, match="^value"):
        device.can_access_peer(device, "sideways")
