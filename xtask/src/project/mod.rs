//! The checkout: where things are, which Python it uses, and how a child process is started from here.

mod interpreter;
mod run;

use std::cell::OnceCell;
use std::env;
use std::io;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, Result};
use xshell::{Cmd, Shell};

pub(crate) use self::interpreter::Interpreter;
pub(crate) use self::run::{openly, openly_for_long, quietly};

/// Beginnings of the names of variables that a child must not inherit. Variables of cargo describe this program, and a second cargo
/// would take them for its own. Variables of pip and Python make them look somewhere else than in our venvs. Our variables make
/// tests strict or choose their device: the command sets them, not its caller.
const NOT_INHERITED: [&str; 17] = [
    "CARGO_BIN_NAME",
    "CARGO_CRATE_NAME",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "PIP_PREFIX",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_ROOT",
    "PIP_TARGET",
    "PYTHONEXECUTABLE",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "USM_CUDA",
    "USM_DEFAULT_DEVICE",
    "USM_REQUIRE_",
    "USM_TEST_NO_SYCL",
    "VIRTUAL_ENV",
];

/// Paths of the checkout and the way to run commands in it.
pub(crate) struct Project {
    /// File operations, and commands in the root of the checkout.
    pub(crate) shell: Shell,
    /// The root of the checkout.
    pub(crate) root: PathBuf,
    /// The build directory, which also holds the venvs and the wheel.
    pub(crate) target: PathBuf,
    wanted_python: Option<PathBuf>,
    interpreter: OnceCell<Interpreter>,
}

/// A path of the command line is seen from where the command was started; programs run in the root. Links stay: the name of a link
/// tells which venv is meant.
pub(crate) fn absolute(path: &str) -> io::Result<PathBuf> {
    path::absolute(path)
}

impl Project {
    /// Finds the checkout that this program was built from.
    pub(crate) fn open(wanted_python: Option<PathBuf>) -> Result<Self> {
        let manifest_dir = env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest_dir).parent().context("xtask is in no folder")?.to_owned();
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| Ok(root.join("target")), path::absolute)?;
        // A name without a slash is looked up on PATH; anything else is a file seen from here.
        let is_name = |path: &PathBuf| path.components().count() == 1;
        let wanted_python = wanted_python
            .map(|path| if is_name(&path) { Ok(path) } else { path::absolute(path) })
            .transpose()?;
        let shell = Shell::new()?;
        shell.change_dir(&root);
        Ok(Self { shell, root, target, wanted_python, interpreter: OnceCell::new() })
    }

    /// The same checkout and Python for another thread.
    pub(crate) fn again(&self) -> Result<Self> {
        Self::open(self.wanted_python.clone())
    }

    /// A checkout elsewhere, with a build directory of its own and the same Python.
    pub(crate) fn at(&self, root: PathBuf) -> Result<Self> {
        let other = Self { target: root.join("target"), root, ..self.again()? };
        other.shell.change_dir(&other.root);
        other.shell.set_var("CARGO_TARGET_DIR", &other.target);
        Ok(other)
    }

    /// The Python this run uses; looked for at the first call.
    pub(crate) fn interpreter(&self) -> Result<&Interpreter> {
        if let Some(found) = self.interpreter.get() {
            return Ok(found);
        }
        let found = Interpreter::find(self, self.wanted_python.as_deref())?;
        Ok(self.interpreter.get_or_init(|| found))
    }

    /// A command in the checkout's root, untouched by the caller's venv, by Python and pip settings
    /// that change where packages are, and by what cargo sets for this program.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Cmd<'_> {
        // Wins over a configuration file that says `user = true`, which fails inside a venv.
        let mut command = self.shell.cmd(program).env("PIP_USER", "0").env("PIP_NO_INPUT", "1");
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_not_inherited)) {
            command = command.env_remove(name);
        }
        // `cargo run` puts the build directory in front, with the stand-ins of drivers.
        let libraries = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let rest = env::split_paths(&libraries).filter(|path| !path.starts_with(&self.target));
        match env::join_paths(rest).unwrap_or_default() {
            rest if rest.is_empty() => command.env_remove("LD_LIBRARY_PATH"),
            rest => command.env("LD_LIBRARY_PATH", rest),
        }
    }

    /// A command of cargo, with its arguments as words of a line.
    pub(crate) fn cargo(&self, line: &str) -> Cmd<'_> {
        self.command(env::var_os("CARGO").unwrap_or("cargo".into())).args(line.split_whitespace())
    }

    /// As [`cargo`](Self::cargo), for builds that contain usm-python: PyO3 looks at the Python that we found.
    pub(crate) fn cargo_with_python(&self, line: &str) -> Result<Cmd<'_>> {
        Ok(self.cargo(line).env("PYO3_PYTHON", &self.interpreter()?.executable))
    }
}

fn is_not_inherited(name: &str) -> bool {
    NOT_INHERITED.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_venv_and_cargos_own_variables_go() {
        let names = ["HOME", "VIRTUAL_ENV", "CARGO_PKG_NAME", "CARGO_HOME", "PIP_CERT", "USM_REQUIRE_SYCL"];
        let gone: Vec<_> = names.into_iter().filter(|name| is_not_inherited(name)).collect();
        assert_eq!(gone, ["VIRTUAL_ENV", "CARGO_PKG_NAME", "USM_REQUIRE_SYCL"]);
    }
}
