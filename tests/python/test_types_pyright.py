"""The type stubs with pyright (as basedpyright, which has node in its wheels): complete, strict, right where used."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import usm

from support import requirements

pytestmark = pytest.mark.indifferent

PACKAGE = pathlib.Path(usm.__file__).parent
USE = pathlib.Path(__file__).parent / "typed_use.py"


@pytest.fixture(autouse=True)
def pyright():
    return requirements.module("basedpyright", required=False)


def run(*arguments, cwd):
    # The tool asks this Python where packages are.
    folder = pathlib.Path(sys.executable).parent
    environment = {**os.environ, "VIRTUAL_ENV": str(folder.parent), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_every_public_name_has_a_complete_type(tmp_path):
    code, output = run("--ignoreexternal", "--verifytypes", "usm", cwd=tmp_path)
    assert code == 0 and "Type completeness score: 100%" in output, output


def test_the_package_and_its_use_are_strictly_typed(tmp_path):
    """Two wrong lines at the end of a program are found, and nothing else is, there and in the package."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text(USE.read_text() + 'assert_type(a.shape, list[int])\nut.zeros(3, usm_type="gpu")\n')
    # Names with an underscore are private to the package, whose modules are all of its own.
    rules = {"typeCheckingMode": "strict", "reportPrivateUsage": False}
    places = {"include": [str(PACKAGE), str(wrong)], "exclude": []}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(rules | places))
    code, output = run("--outputjson", cwd=tmp_path)
    told = json.loads(output)
    found = {(told["file"], told["range"]["start"]["line"] + 1) for told in told["generalDiagnostics"]}
    last = len(USE.read_text().splitlines())
    assert code == 1 and found == {(str(wrong), last + 1), (str(wrong), last + 2)}, output
    assert told["summary"]["filesAnalyzed"] > 10, output


def test_the_program_is_true():
    done = subprocess.run([sys.executable, str(USE)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
