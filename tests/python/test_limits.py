"""The limits of programs that tests run, which end before the limit of the test ends their parent."""

import configparser
import re
from pathlib import Path

from support import process

FOLDER = Path(__file__).parent


def test_programs_end_before_their_tests():
    settings = configparser.ConfigParser()
    settings.read(FOLDER / "pytest.ini")
    assert process.LIMIT_S <= int(settings["pytest"]["faulthandler_timeout"]) - 15


def test_no_program_has_longer():
    for file in (*FOLDER.glob("*.py"), *FOLDER.glob("support/*.py")):
        limits = re.findall(r"(?:seconds|timeout)=(?:max\()?(\d+)", file.read_text(encoding="utf-8"))
        assert all(int(limit) <= process.LIMIT_S for limit in limits), (file, limits)
