"""Environments of Python with links to parts of this one: the package alone, or with a runtime."""

import importlib.metadata
import json
import pathlib
import shutil
import subprocess
import sys

import usm

from . import process


class Environment:
    """A venv with the tested package."""

    def __init__(self, folder):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=process.LIMIT_S)
        self.prefix = folder
        self.python = folder / "bin" / "python"
        self.lib = folder / "lib"
        (self.site,) = self.lib.glob("python*/site-packages")
        # No driver that the system has registered.
        (folder / "vendors").mkdir()
        self.link(pathlib.Path(usm.__file__).parent, self.site)
        self.link_metadata("usm", self.site)

    def link(self, source, folder):
        (folder / source.name).symlink_to(source)

    def link_metadata(self, distribution, folder):
        self.link(pathlib.Path(str(importlib.metadata.distribution(distribution)._path)), folder)

    def add_dpctl(self, folder):
        """What `pip install --target` leaves of dpctl: its modules without the runtime."""
        found = pathlib.Path(importlib.metadata.distribution("dpctl").locate_file("dpctl"))
        (folder / "dpctl").mkdir(parents=True)
        for file in found.iterdir():
            self.link(file, folder / "dpctl")
        # The loader searches beside the file, which a link is not.
        library = folder / "dpctl" / "libDPCTLSyclInterface.so"
        library.unlink()
        shutil.copy(found / library.name, library)
        self.link_metadata("dpctl", folder)

    def add_runtime(self):
        for file in pathlib.Path(sys.prefix, "lib").iterdir():
            if not file.name.startswith("python"):
                self.link(file, self.lib)

    def add_numpy(self):
        for name in ("numpy", "numpy.libs"):
            folder = pathlib.Path(importlib.metadata.distribution("numpy").locate_file(name))
            if folder.is_dir():
                self.link(folder, self.site)
        self.link_metadata("numpy", self.site)

    def replace(self, file, other):
        """`other` is a text, or the path of a file to copy."""
        file.unlink()
        if isinstance(other, str):
            file.write_text(other)
        else:
            shutil.copy(other, file)

    def run(self, *arguments, code=None, **environment):
        """The text and the exit status of the doctor, or of a program."""
        command = ["-c", code] if code else ["-m", "usm", "doctor", *arguments]
        # Without uv, which the machine may have.
        path = str(self.prefix / "bin")
        variables = {"PATH": path, "USM_CUDA": "0", "OCL_ICD_VENDORS": str(self.prefix / "vendors")}
        done = subprocess.run(
            [self.python, *command],
            env=variables | environment,
            capture_output=True,
            text=True,
            timeout=process.LIMIT_S,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout, done.returncode

    def examine(self, *arguments, **environment):
        """The report as JSON, of a text that names each problem once, with its remedy in the line below."""
        text, status = self.run(*arguments, **environment)
        report, status_of_json = self.run("--json", *arguments, **environment)
        found = json.loads(report)
        assert status == status_of_json == (0 if found["works"] else 1), text
        lines = text.splitlines()
        assert lines[0] == found["summary"] and lines[0].endswith("." if found["works"] else "fails.")
        for problem in found["problems"]:
            label = "Problem" if problem["is_failure"] else "Note"
            (line,) = [n for n, line in enumerate(lines) if line.startswith(f"{label}: {problem['what']}")]
            remedy = problem["command"] or problem["remedy"]
            assert lines[line + 1].startswith("  To ") and lines[line + 1].endswith(f": {remedy}"), text
            # The folder of the test is longer than those of users.
            assert len(lines[line].replace(str(self.prefix), "")) < 400, "the problem is readable"
            if problem["command"]:
                assert text.count(remedy) == 1, text
        # The searched places are details.
        assert "has no libDPCTL" not in text
        found["text"] = text
        return found
