"""Write the table of crates/usm-array/tests/it/printing.rs: the texts of NumPy.

    python print_table.py [RANDOM_CASES] > crates/usm-array/tests/data/print_table.txt

A line is a case, its fields separated by tabs: dtype, shape, elements (hexadecimal bytes, or ``start:step``),
options that differ from the defaults, str, repr. Line breaks are written ``\\n``.
"""

import random
import sys

import numpy as np

# fmt: off
NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
REALS = [
    [0.0], [-0.0], [1.0], [-1.0], [0.1, 0.2, 0.3], [1.5, 2.25, -3.125], [1e-4, 1.0], [0.0001, 0.00009], [1e-5, 1.0],
    [1.0, 1000.0], [1.0, 1001.0], [99999999.0, 1.0], [1e8, 1e7], [1e16, 1e15], [1e-300, 1e300], [123456.789, 0.001],
    [np.nan], [np.inf], [-np.inf], [np.nan, np.inf, -np.inf], [1.0, np.nan], [1.0, -np.inf], [1e10, np.nan],
    [0.0, -0.0, np.nan], [1 / 3, 2 / 3], [np.pi, -np.e, 1e-3], [5e-324, 1.0], [2.0**-1074], [1.7976931348623157e308],
    [6e-9], [4e-9, 6e-9, 1.0], [5e-9, -5e-9], [0.5, 1.5, 2.5], [0.125, 0.375], [65504.0, 6e-8], [1e3, 999.5],
    [1e6, 1.0], [1e5, 99999.9], [16777216.0], [1.1e10, 1.2345678e-5], [1234567.1, 0.1234567], [9.999999e9],
    [0.1, 100.0, -10.25],
    [-0.0001], [1e22, 1e23], [4.35, 4.349999999999999], [9007199254740993.0], [2.5e-5, -1e-10], [1e100], [3.0, 1e-7],
]
INTS = [[0], [1, -1], [127, -128], [5, 10, 100], [-1], [-9, 99], [2**31 - 1, -(2**31)], [2**63 - 1, -(2**63)],
        [2**64 - 1, 0], [7] * 40, list(range(-9, 31))]
OPTIONS = [
    {}, {"precision": 3}, {"precision": 0}, {"precision": 17}, {"suppress": True}, {"sign": "+"}, {"sign": " "},
    {"floatmode": "fixed"}, {"floatmode": "unique"}, {"floatmode": "maxprec_equal"}, {"linewidth": 20},
    {"nanstr": "NAN!!", "infstr": "∞"}, {"floatmode": "fixed", "precision": 2, "sign": " "},
    {"floatmode": "unique", "suppress": True}, {"floatmode": "maxprec_equal", "precision": 4, "sign": "+"},
    {"suppress": True, "precision": 2}, {"floatmode": "fixed", "precision": 0}, {"nanstr": "", "sign": "+"},
    {"linewidth": 1}, {"precision": 5, "suppress": True, "floatmode": "fixed"},
]
SHAPES = [(), (0,), (0, 3), (2, 0), (1,), (1, 1, 1), (3, 4), (2, 3, 2), (30,), (2, 2, 2, 2), (5, 40), (1, 2, 1, 3)]
LARGE = [((1001,), {}), ((1000,), {}), ((40, 40), {}), ((2, 2000), {}), ((600, 2), {}), ((12, 12, 12), {}),
         ((7, 7, 7, 7), {}), ((20,), {"threshold": 5}), ((20, 20), {"threshold": 5, "edgeitems": 1}),
         ((6, 7), {"threshold": 0}), ((3, 50), {"threshold": 9, "edgeitems": 10, "linewidth": 40}),
         ((2,), {"threshold": 1}), ((4, 3, 9), {"threshold": 50, "edgeitems": 2}), ((1, 1), {"threshold": 0}),
         ((11,), {"threshold": 10, "edgeitems": 5}), ((10,), {"threshold": 9, "edgeitems": 0}),
         ((9, 9), {"threshold": 9, "edgeitems": 0})]


def emit(array, options, data=None):
    with np.printoptions(**options):
        texts = [str(array), repr(array)]
    fields = [array.dtype.name, ",".join(map(str, array.shape)), data or array.tobytes().hex(),
              ";".join(f"{key}={value}" for key, value in options.items())]
    print("\t".join(fields + [text.replace("\n", "\\n") for text in texts]))


def cast(values, dtype):
    with np.errstate(all="ignore"):
        if dtype.kind in "biu":
            return np.array([int(v) % 2 ** (8 * dtype.itemsize) for v in values], np.uint64).astype(dtype)
        if dtype.kind == "c":
            part = np.dtype(f"f{dtype.itemsize // 2}")
            return np.array(values + values[::-1], np.float64).astype(part).view(dtype)
        return np.array(values, np.float64).astype(dtype)


def main(random_cases):
    rng = random.Random(1)
    sys.stdout.reconfigure(encoding="utf-8")
    for name in NAMES:
        dtype = np.dtype(name)
        lists = INTS if dtype.kind in "biu" else REALS
        for index, values in enumerate(lists):
            array = cast(values, dtype)
            emit(array, {})
            emit(np.array(array[0]), OPTIONS[index % len(OPTIONS)])
            chosen = OPTIONS[1 + index % 6 :: 6] if dtype.kind in "fc" else OPTIONS[5:14:4] if index % 2 else []
            for options in chosen:
                emit(array, options)
        for shape in SHAPES if name in ("bool", "int16", "float64", "complex128") else SHAPES[:3]:
            emit((np.arange(np.prod(shape, dtype=int)) % 100 - 7).astype(dtype).reshape(shape), {})
        for shape, options in LARGE if name in ("bool", "int64", "float32", "complex64") else []:
            count = int(np.prod(shape))
            # With no edge items NumPy measures elements that it does not show.
            if options.get("edgeitems") != 0 or dtype.kind == "b":
                emit((np.arange(count) * 1.0).astype(dtype).reshape(shape), options, "0:1")
    for _ in range(random_cases):
        name = rng.choice(NAMES)
        dtype = np.dtype(name)
        count = rng.randrange(1, 7)
        if rng.random() < 0.5:  # any bits
            array = np.frombuffer(rng.randbytes(dtype.itemsize * count), dtype)
            array = array.astype(bool) if name == "bool" else array
        elif dtype.kind in "fc":
            scale = rng.choice([0, 2, 5, 12])
            array = cast([round(rng.uniform(-10, 10), rng.randrange(9)) * 10.0 ** rng.randint(-scale, scale)
                          for _ in range(count)], dtype)
        else:
            array = cast([rng.randint(-300, 300) for _ in range(count)], dtype)
        if rng.random() < 0.2:
            array = np.array(array[0])
        options = dict(rng.choice(OPTIONS))
        if rng.random() < 0.3:
            options["precision"] = rng.randrange(12)
        emit(array, options)


main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
