"""The small calls that the comparison times, ours only and each equally often: what `cargo xtask hot` watches."""

import sys

from sides import USM
from worker import TIMED

SMALL_BYTES = 4096


def main(count: int) -> None:
    for module in TIMED:
        for case in module.cases():
            if case.bytes > SMALL_BYTES:
                continue
            for contender in case.contenders:
                if contender.name == USM:
                    contender.set_up()(count)


if __name__ == "__main__":
    main(int(sys.argv[1]))
