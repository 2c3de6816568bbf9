//! The checkout: where things are, which Python it uses, and how a child process is started from here.

mod environment;
mod find;
mod probe;
mod run;

use std::cell::OnceCell;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use xshell::{Cmd, Shell};

pub(crate) use self::find::Interpreter;
pub(crate) use self::run::{openly, openly_for_long, quietly};

/// Paths of the checkout and the way to run commands in it.
pub(crate) struct Project {
    shell: Shell,
    root: PathBuf,
    target: PathBuf,
    cargo: PathBuf,
    wanted_python: Option<PathBuf>,
    interpreter: OnceCell<Interpreter>,
}

impl Project {
    /// Finds the checkout that this program was built from.
    pub(crate) fn open(wanted_python: Option<PathBuf>) -> Result<Self> {
        let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir
            .parent()
            .ok_or_else(|| Error::msg(format!("{} has no parent", manifest_dir.display())))?
            .to_owned();
        let shell = Shell::new()?;
        let here = shell.current_dir();
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| here.join(dir));
        // A name without a slash is looked up on PATH; anything else is a file seen from here.
        let wanted_python =
            wanted_python.map(|path| if path.components().count() > 1 { here.join(path) } else { path });
        shell.change_dir(&root);
        let cargo = env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
        Ok(Self { shell, root, target, cargo, wanted_python, interpreter: OnceCell::new() })
    }

    /// The same checkout and Python for another thread.
    pub(crate) fn again(&self) -> Result<Self> {
        Self::open(self.wanted_python.clone())
    }

    /// The root of the checkout.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The build directory, which also holds the venvs and the wheel.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// The file operations and working directory of the commands.
    pub(crate) fn shell(&self) -> &Shell {
        &self.shell
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
        let mut command = self.shell.cmd(program);
        for name in environment::unwanted(env::vars_os().map(|(name, _)| name)) {
            command = command.env_remove(name);
        }
        if let Some(paths) = env::var_os("LD_LIBRARY_PATH") {
            let toolchain = self.cargo.parent().and_then(Path::parent);
            command = match environment::library_path(&paths, &self.target, toolchain) {
                Some(rest) => command.env("LD_LIBRARY_PATH", rest),
                None => command.env_remove("LD_LIBRARY_PATH"),
            };
        }
        // Wins over a configuration file that says `user = true`, which fails inside a venv.
        command.env("PIP_USER", "0").env("PIP_NO_INPUT", "1")
    }

    /// The same for cargo itself.
    pub(crate) fn cargo(&self) -> Cmd<'_> {
        self.command(&self.cargo)
    }

    /// Cargo for builds that contain usm-python: PyO3 looks at the Python that we found.
    pub(crate) fn cargo_with_python(&self) -> Result<Cmd<'_>> {
        let python = self.interpreter()?.executable();
        Ok(self.cargo().env("PYO3_PYTHON", python))
    }
}
