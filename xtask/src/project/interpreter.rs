//! The choice of a Python: the first one on PATH that fits, or exactly the requested one.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail, ensure};

use super::Project;

/// Names tried on PATH, in this order.
const NAMES: [&str; 6] = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11"];

/// Prints four lines about a Python: its version, the reason why the wheel does not run in its venvs or nothing, its installation
/// and its file. This program runs on every Python, 2.7 included. Python 3.11 is the oldest one whose stable interface has the
/// buffer protocol.
const QUESTION: &str = "\
import platform, sys, sysconfig
try:
    import ensurepip, venv
except ImportError:
    venv = None
objections = [
    'is %s; the wheel is for CPython' % platform.python_implementation()
        if platform.python_implementation() != 'CPython' else '',
    'older than 3.11' if sys.version_info < (3, 11) else '',
    'a free-threaded build, which loads no abi3 modules' if sysconfig.get_config_var('Py_GIL_DISABLED') else '',
    '' if venv else 'lacks the module `venv` or `ensurepip` (Debian, Ubuntu: apt install python3-venv)',
]
print('\\n'.join(['usm-probe', '%d.%d.%d' % sys.version_info[:3], ([o for o in objections if o] + [''])[0],
    getattr(sys, 'base_prefix', sys.prefix), sys.executable]))
";

/// A Python that fits: new enough, CPython, able to make venvs.
#[derive(Debug)]
pub(crate) struct Interpreter {
    /// `3.12.1`
    pub(crate) version: String,
    /// The folder of its installation; venvs of it have the same one.
    base_prefix: String,
    /// The file to run.
    pub(crate) executable: PathBuf,
}

impl Interpreter {
    /// The requested Python, or else the first fitting one on PATH.
    ///
    /// # Errors
    /// None fits. The text lists each candidate with the reason, and a remedy.
    pub(super) fn find(project: &Project, wanted: Option<&Path>) -> Result<Self> {
        let candidates =
            wanted.map_or_else(|| NAMES.map(PathBuf::from).to_vec(), |path| vec![path.to_owned()]);
        first_fitting(project, &candidates).map_err(|misfits| {
            anyhow!(
                "no fitting Python found; CPython 3.11 or newer is needed, with its module venv.\n\
                 What was tried:{misfits}\n\
                 Install a newer Python (Debian, Ubuntu: apt install python3 python3-venv; Fedora: dnf \
                 install python3),\nor name one: cargo xtask --python /path/to/python3 <command>"
            )
        })
    }

    /// The first fitting interpreter of a series such as `3.12`, on PATH or among pyenv's versions, the newest first.
    ///
    /// # Errors
    /// None fits. The text lists each candidate with the reason.
    pub(crate) fn of_series(project: &Project, series: &str) -> Result<Self> {
        let pyenv = env::var_os("PYENV_ROOT").map(PathBuf::from);
        let pyenv = pyenv.unwrap_or_else(|| env::home_dir().unwrap_or_default().join(".pyenv"));
        let mut candidates = project.shell.read_dir(pyenv.join("versions")).unwrap_or_default();
        candidates.retain(|path| path.to_string_lossy().contains(&format!("/versions/{series}.")));
        candidates.iter_mut().for_each(|path| path.push("bin/python3"));
        candidates.push(format!("python{series}").into());
        candidates.reverse();
        first_fitting(project, &candidates)
    }

    /// `3.12` of Python 3.12.1: all releases of it have the same interface.
    pub(crate) fn series(&self) -> &str {
        self.version.rsplit_once('.').map_or("", |(series, _)| series)
    }

    /// A text that changes when another Python is used: a venv made from it must then be remade.
    pub(crate) fn identity(&self) -> String {
        format!("{} {}", self.version, self.base_prefix)
    }

    /// Reads the answer to [`QUESTION`]. Earlier output, of a wrapper, is skipped.
    fn parse(output: &str) -> Result<Self> {
        let lines: Vec<_> = output.lines().skip_while(|line| *line != "usm-probe").collect();
        let [_, version, objection, base_prefix, executable, ..] = lines[..] else {
            bail!("it gives no answer")
        };
        ensure!(objection.is_empty(), "{version}, {objection}");
        let (version, base_prefix) = (version.to_owned(), base_prefix.to_owned());
        Ok(Self { version, base_prefix, executable: executable.into() })
    }
}

/// Asks the candidates in turn. Without a fitting one, the error has a line for each with the reason.
fn first_fitting(project: &Project, candidates: &[PathBuf]) -> Result<Interpreter> {
    let mut misfits = String::new();
    for candidate in candidates {
        match ask(project, candidate, QUESTION) {
            Ok(python) => return Ok(python),
            Err(reason) => misfits += &format!("\n  {:<12} {reason}", candidate.display().to_string()),
        }
    }
    bail!(misfits)
}

fn ask(project: &Project, candidate: &Path, question: &str) -> Result<Interpreter> {
    // A failure to start is "not there" for a name on PATH; a wrapper that has no Python behind it
    // (a version manager's) starts and fails.
    match project.command(candidate).args(["-c", question]).quiet().ignore_status().output() {
        Err(_) if candidate.exists() => bail!("is not a program"),
        Err(_) => bail!("not found"),
        Ok(output) if !output.status.success() => bail!("does not run ({})", output.status),
        Ok(output) => Interpreter::parse(&String::from_utf8_lossy(&output.stdout)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_misfit_is_named() {
        let project = Project::open(None).unwrap();
        let python = &project.interpreter().unwrap().executable;
        let good = ask(&project, python, QUESTION).unwrap();
        assert!(good.version.starts_with(good.series()) && good.series().starts_with("3."), "{good:?}");
        for (change, objection) in [
            ("import sys; sys.version_info = (3, 10, 99)", "3.10.99, older than 3.11"),
            ("import platform; platform.python_implementation = lambda: 'PyPy'", "is PyPy"),
            ("import sysconfig; sysconfig.get_config_var = lambda name: 1", "free-threaded"),
            ("import sys; sys.modules['ensurepip'] = None", "python3-venv"),
            ("import sys; sys.exit(3)", "does not run (exit status: 3)"),
            ("print('welcome'); exit()", "no answer"),
        ] {
            let error = ask(&project, python, &format!("{change}\n{QUESTION}")).unwrap_err().to_string();
            assert!(error.contains(objection), "{error}");
        }
        ask(&project, python, &format!("print('welcome')\n{QUESTION}")).unwrap();
    }

    #[test]
    fn the_advice_names_every_candidate_and_the_way_out() {
        let project = Project::open(None).unwrap();
        let text = Interpreter::find(&project, Some(Path::new("/no/python"))).unwrap_err().to_string();
        for part in ["\n  /no/python   not found", "3.11 or newer", "--python /path/to/python3"] {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }
}
