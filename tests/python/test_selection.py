"""Lists of devices, and the choice of one, beside dpctl."""

import sys

import pytest

import usm

from support import process


def strings(devices):
    return [device.filter_string for device in devices]


def test_lists_by_backend_and_type(queue):
    every = usm.get_devices()
    assert usm.get_devices("all", "all") == every == usm.get_devices(backend=usm.backend_type.all)
    for backend in usm.backend_type:
        for device_type in usm.device_type:
            wanted = [d for d in every if backend in ("all", d.backend) and device_type in ("all", d.device_type)]
            assert usm.get_devices(backend, device_type) == wanted
            assert usm.get_devices(backend=str(backend), device_type=str(device_type)) == wanted
            assert usm.get_num_devices(backend, device_type) == len(wanted)


def test_lists_are_those_of_dpctl(dpctl):
    for backend in dpctl.backend_type:
        for device_type in dpctl.device_type:
            expected = strings(dpctl.get_devices(backend=backend, device_type=device_type))
            found = [d for d in usm.get_devices(backend=backend, device_type=device_type) if d.backend != "host"]
            assert strings(found) == expected


@pytest.mark.parametrize("name", ["backend", "device_type"])
def test_wrong_words(name):
    for function in (usm.get_devices, usm.get_num_devices):
        with pytest.raises(TypeError, match=f"^{name}"):
            function(**{name: 3})
        with pytest.raises(ValueError, match=f"^{name}: found .sideways."):
            function(**{name: "sideways"})


@pytest.mark.parametrize("device_type", ["cpu", "gpu", "accelerator"])
def test_devices_of_a_type(queue, device_type):
    has = getattr(usm, f"has_{device_type}_devices")()
    assert has == (usm.get_num_devices(device_type=device_type) > 0)
    select = getattr(usm, f"select_{device_type}_device")
    if has:
        assert select().device_type == device_type
        assert select() in usm.get_devices(device_type=device_type)
    else:
        with pytest.raises(usm.SyclDeviceCreationError):
            select()


def test_selections_are_those_of_dpctl(dpctl):
    selections = ["select_default_device"]
    # Without one dpctl raises, and our host device is selected.
    if dpctl.has_cpu_devices():
        selections.append("select_cpu_device")
    for name in selections:
        assert getattr(usm, name)().filter_string == getattr(dpctl, name)().filter_string
    for name in ("has_gpu_devices", "has_accelerator_devices"):
        assert getattr(usm, name)() == getattr(dpctl, name)()


@pytest.mark.parametrize(
    ("required", "excluded"),
    [("fp64", None), (["fp64"], "gpu"), ([], ["custom"]), (("cpu",), ()), (["fp64", "gpu"], None), ("cpu", "cpu")],
)
def test_aspects(dpctl, required, excluded):
    def outcome(module):
        try:
            return module.select_device_with_aspects(required, excluded).filter_string
        except module.SyclDeviceCreationError:
            return None

    assert outcome(usm) == outcome(dpctl)


def test_aspects_of_any_machine(queue):
    aspects = [name for name in dir(usm.SyclDevice) if name.startswith("has_aspect_")]
    assert len(aspects) == 22
    for name in aspects:
        word = name.removeprefix("has_aspect_")
        if any(getattr(device, name) for device in usm.get_devices()):
            assert getattr(usm.select_device_with_aspects(word), name)
        else:
            with pytest.raises(usm.SyclDeviceCreationError, match=word):
                usm.select_device_with_aspects([word])


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ("fp128", AttributeError),
        (["fp64", ""], AttributeError),
        ("fp64,cpu", AttributeError),
        ([3], TypeError),
        (3, TypeError),
    ],
)
def test_wrong_aspects(wrong, error):
    with pytest.raises(error, match="^required_aspects"):
        usm.select_device_with_aspects(wrong)
    with pytest.raises(error, match="^excluded_aspects"):
        usm.select_device_with_aspects([], excluded_aspects=wrong)


def test_cached_queues(queue):
    device = queue.sycl_device
    cached = usm.get_device_cached_queue(device)
    assert cached == usm.get_device_cached_queue(device) == usm.get_device_cached_queue(device.filter_string)
    # dpctl's queues, which are the default ones where it is imported, are out of order.
    assert device == cached.sycl_device and (cached.is_in_order or "dpctl" in sys.modules)
    assert usm.get_device_cached_queue((cached.sycl_context, device)) == cached
    other = usm.SyclContext([device])
    assert usm.get_device_cached_queue((other, device)).sycl_context == other
    for wrong in (3, None, queue, (queue.sycl_context,), (device, device), [queue.sycl_context, device]):
        with pytest.raises(TypeError):
            usm.get_device_cached_queue(wrong)


def test_exceptions_say_what_could_not_be_made():
    for make, error in (
        (usm.SyclDevice, usm.SyclDeviceCreationError),
        (usm.SyclContext, usm.SyclContextCreationError),
        (usm.SyclQueue, usm.SyclQueueCreationError),
    ):
        with pytest.raises(error, match="cuda:gpu:77|(sycl|cuda) backend is not available"):
            make("cuda:gpu:77")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("gppu", "is not a filter selector"),
        ("host:cpu:7", "no device matches"),
        ("host:gpu", "no device matches"),
        ("cuda:gpu:0", "cuda"),
        ("host:cpu:0:0", "is not a filter selector"),
        (",", "is not a filter selector"),
    ],
)
def test_a_misspelled_default_device_is_an_error_at_its_first_use(value, found):
    said = process.check(
        """
        import os, usm, usm.memory, usm.tensor as ut
        value = os.environ["USM_DEFAULT_DEVICE"]
        tried = [
            usm.select_default_device, usm.SyclDevice, usm.SyclQueue, usm.SyclContext, lambda: ut.zeros(3),
            lambda: ut.asarray([1]), lambda: usm.memory.MemoryUSMHost(3), lambda: ut.Device.create_device(),
            lambda: ut.__array_namespace_info__().default_device(), lambda: usm.SyclEvent().backend,
        ]
        for attempt in tried:
            try:
                attempt()
            except usm.UsmError as error:
                text = str(error)
                assert text.startswith(f'USM_DEFAULT_DEVICE: found "{value}"'), text
                assert "there are: " in text and "host:cpu:0" in text, text
            else:
                raise AssertionError(attempt)
        # What names its device works, and so does the doctor.
        assert ut.zeros(3, device="host:cpu:0").tolist() == [0, 0, 0]
        assert usm.SyclQueue("host").sycl_device.filter_string == "host:cpu:0"
        array = ut.asarray([1, 2], device="host:cpu:0", usm_type="shared")
        assert ut.from_dlpack(array).tolist() == [1, 2]
        assert ut.asarray(memoryview(array), device="host").tolist() == [1, 2]
        report = str(usm.doctor())
        assert "USM_DEFAULT_DEVICE" in report, report
        print(text)
        """,
        USM_DEFAULT_DEVICE=value,
        USM_CUDA="0",
    )
    assert found in said


def test_the_default_device_of_the_variable():
    code = "import usm; print(usm.select_default_device().filter_string, usm.SyclQueue().sycl_device.filter_string)"
    for value in ("host", "host:cpu:0", "gpu:7,host:cpu"):
        assert process.check(code, USM_DEFAULT_DEVICE=value).split() == ["host:cpu:0"] * 2
