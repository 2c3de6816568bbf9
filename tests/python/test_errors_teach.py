"""The errors of the guide are as it says: the mistake, the text, which names the way out, and the lines that work."""

import pathlib
import re
import textwrap
from typing import NamedTuple

import pytest

from support import process, requirements

GUIDE = pathlib.Path(__file__).parents[2] / "guide" / "errors.md"
#: What a text has to name, by the section of the guide: the function, command or argument that helps.
WAYS_OUT = {
    "Device memory in NumPy": ["usm.tensor.asnumpy(array)", "pip install numpy", 'usm_type="shared"'],
    "No such device": ["there are:", "host:cpu:0", "python -m usm"],
    "No library that computes": ["pip install numpy"],
    "A dtype that does not exist": ["float32, float64"],
    "Dates and times": ['x.view("int64")'],
    "A read-only array": ["`copy()`"],
    "Arrays of two queues": ["x2.to_device(x1.device)"],
    "An array that is too large": ["TiB", "split them"],
    "Out of memory": ["MiB are allowed", "usm.memory.snapshot()"],
    "Strides in bytes": ["divide them by the item size of 8"],
    "Memory that its producer has freed": ["its owner has to live as long as the memory is used"],
    "A forked process": ['"spawn" or "forkserver"'],
    "Something else in place of a queue": ['usm.SyclQueue("gpu")', '"gpu"'],
    "A pickle from another machine": ["pickle usm.tensor.asnumpy(array) there"],
    "A new shape": ["x.reshape(shape)"],
    "A number of another size for a kernel": ["numpy.float32(x)", "numpy.int32(x)"],
}
#: What makes the mistake on machines where it would be none.
BEFORE = {
    "No library that computes": 'import sys\nsys.modules["numpy"] = sys.modules["dpnp"] = None\n',
    "Strides in bytes": 'import warnings\nwarnings.simplefilter("error")\n',
}
REPORT = """
if __name__ == "__main__":
    try:
{mistake}
    except BaseException as error:
        names = ["" if (home := type(error).__module__) == "builtins" else home + ".", type(error).__qualname__]
        print("".join(names).replace("usm.compute._choice", "usm.compute") + ": " + str(error))
        print("----")
    else:
        raise AssertionError("no error")
"""


class Section(NamedTuple):
    mistake: str
    text: str
    way_out: str


def sections() -> dict[str, Section]:
    if not GUIDE.exists():
        pytest.skip("the guide is not here")
    _, *parts = GUIDE.read_text(encoding="utf-8").split("\n## ")
    found = {}
    for part in parts:
        title, text = part.split("\n", 1)
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        assert [kind for kind, _ in blocks] in (["python", "text", "python"], ["python", "text", "sh"]), title
        (_, mistake), (_, told), (kind, way_out) = blocks
        found[title] = Section(mistake, told.strip(), way_out if kind == "python" else "")
    return found


def beginning() -> str:
    """The imports of all programs."""
    return re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[0]


def test_each_section_is_tested():
    assert list(sections()) == list(WAYS_OUT)


@pytest.mark.parametrize("title", WAYS_OUT)
def test_a_mistake(title, tmp_path):
    section = sections()[title]
    if "opencl:cpu" in section.mistake and requirements.device_of("sycl").backend != "opencl":
        pytest.skip("the program is for an OpenCL device")
    requirements.module("numpy", required=requirements.NEEDS_NUMPY)
    before = BEFORE.get(title, "")
    imports = beginning().replace("import numpy as np\n", "") if "numpy" in before else beginning()
    mistake = REPORT.format(mistake=textwrap.indent(section.mistake, " " * 8))
    # A GPU that is here by chance would be found.
    environment = {"USM_CUDA": "0", "ONEAPI_DEVICE_SELECTOR": "opencl:cpu"}
    if "opencl:cpu" not in section.mistake:
        environment["USM_DEFAULT_DEVICE"] = "host:cpu:0"
    program = before + imports + mistake + section.way_out
    done = process.run_program(program, tmp_path, **environment)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    told, *_ = done.stdout.split("\n----\n")
    pattern = ".*".join(re.escape(part) for part in section.text.split("…"))
    assert re.fullmatch(pattern, told), f"{told}\nis not as the guide has it:\n{section.text}"
    for way_out in WAYS_OUT[title]:
        assert way_out in told, told
