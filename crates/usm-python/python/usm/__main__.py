"""``python -m usm``: the doctor, which says whether ``usm`` works here, and what to do where something is missing."""

import argparse
import json
import signal
import sys
from collections.abc import Sequence

import usm

from . import _doctor

_EXIT_STATUS = """\
exit status:
  0  usm works here as its README says, if only on the host device
  1  something that is installed or requested fails: a broken driver, a selection without a device,
     --device, USM_DEFAULT_DEVICE, USM_REQUIRE_SYCL=1 or USM_REQUIRE_CUDA=1
  2  unknown arguments

keys of --json:
"""


def _parser() -> argparse.ArgumentParser:
    keys = "\n".join(f"  {key}: {text}" for key, text in _doctor.KEYS.items())
    parser = argparse.ArgumentParser(
        prog="python -m usm",
        description="Say whether usm works on this machine, list its devices, and name a command for each problem.",
        epilog=_EXIT_STATUS + keys,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", choices=["doctor"], default="doctor", help="doctor, the default")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--verbose", action="store_true", help="also print details for a report of a problem")
    form.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument("--device", metavar="SELECTOR", help="require a device, such as gpu or opencl:cpu")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; the exit status is 1 where something that is installed or requested fails."""
    options = _parser().parse_args(arguments)
    found = _doctor.report(options.device)
    if options.json:
        text = json.dumps(found, indent=2)
    else:
        text = _doctor.as_text(found)
        if options.verbose:
            text = f"{text.rpartition(chr(10))[0]}\n{_doctor.details(found, usm.doctor()['tree'])}"
    print(text, flush=True)
    return 0 if found["works"] else 1


if __name__ == "__main__":
    # A reader that has seen enough, as in `python -m usm | head`, ends this program in silence as it ends `ls` and
    # `cat`: by the signal, which Python ignores by default.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
