"""Runs the packed comparison on a GPU: needs Python with NumPy, CuPy and PyTorch, and no compiler, checkout or network.

`cargo xtask bench --device cuda` makes the folder and starts this program in it. With `--pack` it leaves an archive of
the folder instead, for a machine with a GPU: unpack it there and run `python3 run.py`. A missing device is a failure.
It takes the options of the comparison: `--case PATTERN`, `--quick`, `--check`, `--smoke`, `--folder` for the reports.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
COMPARISON = FOLDER / "crates/usm-bench/python/compare"


def main() -> int:
    options = sys.argv[1:]
    if "--folder" not in options:
        options += ["--folder", str(FOLDER / "report")]
    wheels = FOLDER.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder) / "site"
        install = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", site, *wheels]
        subprocess.run([sys.executable, *install], check=True)
        environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-u", COMPARISON, "--device", "cuda", "--python", sys.executable]
        return subprocess.run([*command, *options], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
