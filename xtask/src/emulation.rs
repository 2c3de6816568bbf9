//! Programs for aarch64 Linux on this machine: Debian's Python for it in a folder, and QEMU.
//!
//! Nothing is installed, and no rights are needed. The packages are unpacked under the build directory. A user namespace gets its own
//! registration of QEMU (`binfmt_misc`), with which the kernel starts programs for aarch64 as others, also when a test starts itself.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xshell::Cmd;

use crate::project::{Project, quietly};
use crate::report::say;

/// Names what is unpacked; a folder with another one is made anew.
const RECIPE: &str = "1: python3 python3-venv libgcc-s1 libstdc++6";
/// The packages of the emulated system. Rust programs need the third one, and NumPy the last one.
const PACKAGES: [&str; 4] = ["python3", "python3-venv", "libgcc-s1", "libstdc++6"];
const EMULATOR: &str = "qemu-user-static";

/// Mounts the registrations of a new user namespace, makes the one of QEMU, and starts the program. The magic number and its mask
/// are the ones of ELF files for aarch64. P keeps the name by which a program was started, and F opens QEMU at once.
///
/// A program gets 32 GiB of addresses. QEMU keeps a record of each page that was ever mapped, and maps at new addresses as long as there
/// are any: without a limit, each host backend of a test costs memory for its whole reservation until the process ends.
const ENTER: &str = r#"
set -e
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf ':aarch64:M::%s:%s:%s:PF' "$magic" "$mask" "$1" >/proc/sys/fs/binfmt_misc/register
QEMU_LD_PREFIX=$2
QEMU_RESERVED_VA=0x800000000
export QEMU_LD_PREFIX QEMU_RESERVED_VA
shift 2
exec "$@"
"#;

/// An emulated system that is ready.
pub(crate) struct Emulation<'p> {
    project: &'p Project,
    root: PathBuf,
    emulator: PathBuf,
}

impl<'p> Emulation<'p> {
    /// Unpacks the system under the build directory, unless it is there.
    ///
    /// # Errors
    /// This is no Debian or Ubuntu, or the packages cannot be had.
    pub(crate) fn prepare(project: &'p Project) -> Result<Self> {
        let folder = project.target.join("aarch64");
        let (root, tools) = (folder.join("root"), folder.join("tools"));
        let emulator = tools.join("usr/bin/qemu-aarch64-static");
        let record = folder.join("recipe.txt");
        if project.shell.read_file(&record).unwrap_or_default() != RECIPE {
            say("unpacking Debian's Python for aarch64, and QEMU (once)");
            project.shell.remove_path(&folder)?;
            let host = quietly(project.command("dpkg").arg("--print-architecture"))
                .context("the emulation needs the packages of Debian or Ubuntu")?;
            unpack(project, &folder.join("apt-host"), host.trim(), &[EMULATOR], &tools)?;
            unpack(project, &folder.join("apt"), "arm64", &PACKAGES, &root)?;
            project.shell.write_file(&record, RECIPE)?;
        }
        Ok(Self { project, root, emulator })
    }

    /// A command of this machine or of the emulated one.
    ///
    /// The kernel must have registrations per user namespace: Linux 6.7 or newer.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Cmd<'p> {
        let enter = self.project.command("unshare").args(["--user", "--map-root-user", "--mount"]);
        let enter = enter.args(["sh", "-c", ENTER, "emulation"]).arg(&self.emulator).arg(&self.root);
        enter.arg(program.as_ref())
    }

    /// Its Python, which makes venvs.
    pub(crate) fn python(&self) -> PathBuf {
        self.root.join("usr/bin/python3")
    }
}

/// Downloads packages with all that they depend on, and unpacks them. apt gets folders of its own, so that it changes nothing of this
/// system, and the registries and keys of this system.
fn unpack(project: &Project, apt: &Path, architecture: &str, packages: &[&str], root: &Path) -> Result<()> {
    let shell = &project.shell;
    for folder in [apt.join("lists/partial"), apt.join("cache/archives/partial"), root.to_owned()] {
        shell.create_dir(folder)?;
    }
    // No package counts as installed, so that the dependencies come, too.
    shell.write_file(apt.join("status"), "")?;
    let config = apt.join("apt.conf");
    let at = apt.display();
    shell.write_file(
        &config,
        format!(
            "APT::Architecture \"{architecture}\";\n#clear APT::Architectures;\n\
             APT::Architectures {{ \"{architecture}\"; }};\nAPT::Install-Recommends \"false\";\n\
             APT::Sandbox::User \"root\";\nDir::State \"{at}\";\nDir::State::status \"{at}/status\";\n\
             Dir::Cache \"{at}/cache\";\nDebug::NoLocking \"true\";\n"
        ),
    )?;
    let apt_get = || project.command("apt-get").env("APT_CONFIG", &config);
    quietly(apt_get().arg("update"))?;
    quietly(apt_get().args(["install", "--yes", "--download-only"]).args(packages))?;
    for file in shell.read_dir(apt.join("cache/archives"))? {
        if file.extension().is_some_and(|extension| extension == "deb") {
            quietly(project.command("dpkg-deb").arg("--extract").arg(&file).arg(root))?;
        }
    }
    Ok(shell.remove_path(apt)?)
}
