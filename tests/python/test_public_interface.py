"""The public interface of the wheel is the one of the committed baseline: a change of it shows in the review."""

import difflib

from support import public_interface


def test_the_interface_is_the_one_of_the_baseline():
    old, new = public_interface.BASELINE.read_text(), public_interface.text()
    lines = [line for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[0] in "+-"]
    assert not lines, "where this is intended: python tests/python/support/public_interface.py\n" + "\n".join(lines)


def test_the_list_has_each_kind_of_item():
    lines = set(public_interface.text().splitlines())
    assert "module usm.tensor.linalg" in lines
    assert "usm.tensor.usm_ndarray.T: property" in lines
    assert "usm.tensor.usm_ndarray.__dlpack_device__(self, /)" in lines
    assert any(line.startswith("usm.tensor.reshape(") and "shape" in line for line in lines)
    assert not any("._" in line.split("(")[0] and "__" not in line for line in lines)
