"""Malformed interface dicts: each refusal starts with the key's name, without leaks and crashes."""

import ctypes

import pytest

import usm.memory as um
import usm.tensor as ut

from support.interface import Producer, changed, settled, without

# Which key is at fault when the elements leave the memory is a matter of view.
SPAN = ("shape", "strides", "offset", "data")

IMPORTERS = {"asarray": ut.asarray, "as_usm_memory": um.as_usm_memory}


@pytest.fixture(params=IMPORTERS)
def refused(request):
    """`refused(producer, *keys)` checks that this import of it fails as it must."""
    importer = IMPORTERS[request.param]

    def check(producer, *keys):
        before = settled()
        with pytest.raises((ValueError, TypeError)) as info:
            importer(producer)
        assert str(info.value).startswith(keys), f"{info.value!r} does not start with {keys}"
        del info
        assert settled() == before

    return check


@pytest.fixture
def source(array):
    """A good array of 4 x 8 float64, 256 bytes, whose dict the tests spoil; the kind does not matter to most keys."""
    a = array((4, 8), dtype="f8", buffer="device")
    a[...] = 1.5
    yield a
    assert a.tolist() == [[1.5] * 8] * 4


def test_the_unspoiled_dict_is_accepted(source):
    assert ut.asarray(changed(source)).tolist() == source.tolist()
    assert um.as_usm_memory(changed(source)).nbytes == 256


@pytest.mark.parametrize("key", ["shape", "typestr", "syclobj", "version", "data"])
def test_missing_keys(source, refused, key):
    # A missing `data` means "use the buffer protocol", which the producer does not have.
    refused(without(source, key), key)


@pytest.mark.parametrize("key", ["strides", "offset"])
def test_optional_keys(source, key):
    a = ut.asarray(without(source, key))
    assert a.__sycl_usm_array_interface__ == source.__sycl_usm_array_interface__


def test_unknown_keys_do_not_matter(source):
    a = ut.asarray(changed(source, typedescr=[("", "<f8")], colour="red"))
    assert a.shape == (4, 8)


@pytest.mark.parametrize("interface", [None, 3, "text", [], (), {}, [("version", 1)], {1: 2}])
def test_dicts_that_are_none(refused, interface):
    keys = "shape", "typestr", "syclobj", "version", "data"
    refused(Producer(interface), "__sycl_usm_array_interface__", *keys)


def test_errors_of_the_producer_pass_through():
    class Broken:
        @property
        def __sycl_usm_array_interface__(self):
            raise RuntimeError("the producer is broken")

    for importer in IMPORTERS.values():
        with pytest.raises(RuntimeError, match="the producer is broken"):
            importer(Broken())


@pytest.mark.parametrize(
    "shape",
    [
        None,
        32,
        "32",
        b"32",
        32.0,
        {"x": 1},
        (4.0, 8),
        ("4", 8),
        (None,),
        ((4, 8),),
        (True, 8),
        (-1,),
        (4, -8),
        (-2, -3),
        (-4, -8),
        (2**63,),
        (2**70,),
        (-(2**70),),
        (1,) * 65,
    ],
    ids=repr,
)
def test_shape(source, refused, shape):
    refused(changed(source, shape=shape), "shape")


@pytest.mark.parametrize(
    "shape",
    [(2**32, 2**32), (2**31, 2**31, 4), (2**62,), (2**60, 1), (2**63 - 1,), (3, 2**62 + 1), (2**40,)],
    ids=repr,
)
def test_shapes_whose_product_or_size_overflows(source, refused, shape):
    refused(changed(source, shape=shape, strides=None), *SPAN)


@pytest.mark.parametrize("shape", [(2**32, 2**32), (2**31, 2**31, 4), (2**62,), (3, 2**62 + 1)], ids=repr)
def test_zero_strides_do_not_hide_an_overflow(source, refused, shape):
    """They reach one element only, but the size in bytes must stay below the largest signed number."""
    refused(changed(source, shape=shape, strides=(0,) * len(shape)), *SPAN)


@pytest.mark.parametrize(
    "strides",
    [8, "81", b"81", 8.0, (8.0, 1), ("8", 1), (8,), (8, 1, 1), (), (None, 1), (2**70, 1), (-(2**70), 1), {8: 1}],
    ids=repr,
)
def test_strides(source, refused, strides):
    refused(changed(source, strides=strides), "strides")


@pytest.mark.parametrize("strides", [(2**62, 1), (-(2**62), 1), (2**63 - 1, 2**63 - 1), (-(2**63), -(2**63))], ids=repr)
def test_strides_that_overflow(source, refused, strides):
    refused(changed(source, strides=strides), *SPAN)


@pytest.mark.parametrize("offset", ["0", b"", 0.0, 1.5, (0,), [0], 2**70, -(2**70)], ids=repr)
def test_offset(source, refused, offset):
    refused(changed(source, offset=offset), "offset")


@pytest.mark.parametrize("offset", [2**62, -(2**62), 2**63 - 1, -(2**63), 2**40, -(2**40)], ids=repr)
def test_offsets_out_of_range(source, refused, offset):
    refused(changed(source, offset=offset), *SPAN)


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((1 << 20, 8), None, 0),
        ((4, 8), (1 << 20, 1), 0),
        ((4, 8), (-(1 << 20), 1), 0),
        ((4, 8), None, 1 << 20),
        ((4, 8), None, -(1 << 20)),
        ((4, 8), (-(1 << 20), 1), 3),
    ],
)
def test_elements_far_outside_the_memory(source, refused, shape, strides, offset):
    refused(changed(source, shape=shape, strides=strides, offset=offset), *SPAN)


@pytest.mark.parametrize(("shape", "strides", "offset"), [((4097,), None, 0), ((2,), (4096,), 0), ((2,), None, 4095)])
def test_one_byte_past_the_end(allocate, usm_type, refused, shape, strides, offset):
    memory = allocate(usm_type, 4096)
    refused(changed(memory, shape=shape, strides=strides, offset=offset), *SPAN)


@pytest.mark.parametrize(("shape", "strides", "offset"), [((2,), (-1,), 0), ((2,), None, -1)])
def test_one_byte_before_the_start(allocate, usm_type, refused, shape, strides, offset):
    memory = allocate(usm_type, 4096)
    refused(changed(memory, shape=shape, strides=strides, offset=offset), *SPAN)


@pytest.fixture
def is_allocated(request, queue):
    """Whether the CUDA driver knows a byte as one of an allocation. Other runtimes are not asked."""
    if queue.native_stream is None:
        return lambda address: False
    return request.getfixturevalue("driver").is_allocated


@pytest.mark.parametrize("offset", [-1, 4096])
def test_a_byte_alone_beside_the_memory(allocate, is_allocated, usm_type, refused, offset):
    memory = allocate(usm_type, 4096)
    # The driver puts allocations side by side, and a byte of another one is accepted. Each turn frees an adjacent one.
    for _ in range(1000):
        if not is_allocated(memory._pointer + offset):
            break
        memory = allocate(usm_type, 4096)
    refused(changed(memory, shape=(1,), strides=None, offset=offset), *SPAN)


def test_the_last_byte_is_inside(allocate, usm_type):
    memory = allocate(usm_type, 4096)
    memory.memset(7)
    assert ut.asarray(changed(memory, shape=(1,), strides=None, offset=4095)).tolist() == [7]
    assert ut.asarray(changed(memory, shape=(2,), strides=(-4095,), offset=4095)).tolist() == [7, 7]


@pytest.mark.parametrize(
    "data",
    [
        None,
        0,
        "data",
        b"xx",
        "xy",
        (),
        (1,),
        [1],
        (1, False, 2),
        {1: False},
        (None, False),
        ("1", False),
        (1.0, False),
        (0, False),
        (-1, False),
        (2**64, False),
        (2**70, False),
        (-(2**70), False),
        (True, False),
    ],
    ids=repr,
)
def test_data(source, refused, data):
    refused(changed(source, data=data), "data")


@pytest.mark.parametrize("flag", ["no", None, (), 0.0], ids=repr)
def test_read_only_flags_of_wrong_type(source, refused, flag):
    refused(changed(source, data=(source._pointer, flag)), "data")


@pytest.mark.parametrize("address", [1, 8, 0xDEAD, 0xDEAD00, 2**47, 2**63, 2**64 - 8], ids=hex)
def test_addresses_of_nothing(source, refused, address):
    refused(changed(source, data=(address, False)), *SPAN)


def test_a_null_pointer_is_refused_for_size_zero_too(source, refused):
    refused(changed(source, data=(0, False), shape=(0,)), "data")


def test_ordinary_host_memory_is_not_usm(source, refused):
    block = ctypes.create_string_buffer(4096)
    aligned = (ctypes.addressof(block) + 63) & ~63
    refused(changed(source, data=(aligned, False)), *SPAN)
    # The same under a context, which makes the peer abort.
    refused(changed(source, data=(aligned, False), syclobj=source.sycl_context), *SPAN)


@pytest.mark.parametrize("shift", [1, 2, 3, 4, 7])
def test_misaligned_addresses(source, refused, shift):
    refused(changed(source, data=(source._pointer + shift, False), shape=(2,), strides=None), "data")


def test_freed_memory_is_refused(allocate, usm_type, refused):
    memory = allocate(usm_type, 1 << 22)
    interface = memory.__sycl_usm_array_interface__
    del memory
    refused(Producer(interface), *SPAN)


@pytest.mark.parametrize(
    "typestr",
    [
        None,
        8,
        b"<f8",
        ("<f8",),
        "",
        "<",
        "f",
        "<f",
        "8",
        "<8",
        "<f08",
        "<f 8",
        " <f8",
        "<f8 ",
        "<f8x",
        ">f8",
        ">i4",
        "!f8",
        "<f3",
        "<f16",
        "<i16",
        "<u3",
        "<c4",
        "<c32",
        "<b8",
        "<x8",
        "|V8",
        "|O8",
        "|S8",
        "<U2",
        "<M8[s]",
        "<m8",
        "<f18446744073709551624",
        "<f-8",
        "\u00a0f8",
        "|é8",
    ],
    ids=repr,
)
def test_typestr(source, refused, typestr):
    refused(changed(source, typestr=typestr), "typestr")


@pytest.mark.parametrize("version", [None, 0, 2, -1, True, 1.0, "1", b"1", (1,), 2**70], ids=repr)
def test_version(source, refused, version):
    refused(changed(source, version=version), "version")
