"""``python -m usm``: the doctor, which says whether ``usm`` works here, and what to do where something is missing."""

import argparse
import contextlib
import json
import signal
import sys
from collections.abc import Sequence
from typing import Any

import usm

from . import _doctor

_EXIT_STATUS = """\
exit status:
  0  usm works here as its README says, if only on the host device
  1  something that is installed or requested fails: a broken driver, a selection without a device,
     --device, USM_DEFAULT_DEVICE, USM_REQUIRE_SYCL=1 or USM_REQUIRE_CUDA=1
  2  unknown arguments
  3  the output cannot be written

keys of --json:
"""


def _parser() -> argparse.ArgumentParser:
    keys = "\n".join(f"  {key}: {text}" for key, text in _doctor.KEYS.items())
    parser = argparse.ArgumentParser(
        prog="python -m usm",
        description="Say whether usm works on this machine, list its devices, and name a command for each problem.",
        epilog=_EXIT_STATUS + keys,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    # The parser's own help hides that it cannot be written.
    parser.add_argument("-h", "--help", action="store_true", help="show this help message and exit")
    parser.add_argument("command", nargs="?", choices=["doctor"], default="doctor", help="doctor, the default")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--verbose", action="store_true", help="also print details for a report of a problem")
    form.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument("--device", metavar="SELECTOR", help="require a device, such as gpu or opencl:cpu")
    return parser


def _write(parser: argparse.ArgumentParser, text: str) -> None:
    """Print the text, or end with a line on stderr where stdout is full or closed."""
    if sys.stdout is None:
        parser.exit(3, f"{parser.prog}: error: stdout is closed\n")
    try:
        print(text, flush=True)
    except OSError as error:
        # Python would write the rest again when it ends.
        with contextlib.suppress(OSError):
            sys.stdout.close()
        parser.exit(3, f"{parser.prog}: error: stdout: {error.strerror}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; the exit status is 1 where something that is installed or requested fails."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.help:
        _write(parser, parser.format_help().rstrip())
        return 0
    found = _doctor.report(options.device)
    if options.json:
        text = json.dumps(found, indent=2)
    else:
        text = _doctor.as_text(found)
        if options.verbose:
            text = f"{text.rpartition(chr(10))[0]}\n{_doctor.details(found, usm.doctor()['tree'])}"
    _write(parser, text)
    return 0 if found["works"] else 1


def _print_what_it_can(stream: Any) -> None:
    """A code page of Windows lacks the lines of the tree."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")


if __name__ == "__main__":
    # A reader that has seen enough, as in `python -m usm | head`, ends this program in silence as it ends `ls` and
    # `cat`: by the signal, which Python ignores by default. Windows has no such signal.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    _print_what_it_can(sys.stdout)
    sys.exit(main())
