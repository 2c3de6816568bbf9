//! The platforms that wheels are built for.

use anyhow::{Context, Result, bail};

use crate::project::{Project, quietly};
use crate::report::say;

/// A kind of machine that one wheel serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    /// Linux x86-64 with glibc 2.28 or newer.
    X86_64,
    /// Linux aarch64 with glibc 2.28 or newer.
    Aarch64,
    /// Windows on x86-64. Its wheel is not published.
    Windows,
}

impl Platform {
    /// The ones whose wheels are published, the one of most users first.
    pub(crate) const PUBLISHED: [Self; 2] = [Self::X86_64, Self::Aarch64];
    pub(super) const ALL: [Self; 3] = [Self::X86_64, Self::Aarch64, Self::Windows];

    /// The target of the compiler.
    pub(crate) fn target(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
            Self::Windows => "x86_64-pc-windows-gnu",
        }
    }

    /// The end of the name of its wheel.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::X86_64 => "manylinux_2_28_x86_64",
            Self::Aarch64 => "manylinux_2_28_aarch64",
            Self::Windows => "win_amd64",
        }
    }

    /// The oldest C library of Linux, as the builder wants to have it.
    pub(crate) fn compatibility(self) -> Option<&'static str> {
        (self != Self::Windows).then_some("manylinux_2_28")
    }

    /// The native module in its wheel.
    pub(crate) fn module(self) -> &'static str {
        match self {
            Self::X86_64 | Self::Aarch64 => "usm/_usm.abi3.so",
            Self::Windows => "usm/_usm.pyd",
        }
    }

    /// The platform with a tag in the name of its wheel.
    pub(crate) fn of_wheel(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|platform| name.ends_with(&format!("-{}.whl", platform.tag())))
    }

    /// The one whose wheel this machine runs.
    pub(crate) fn of_this_machine() -> Result<Self> {
        let native = Self::PUBLISHED.into_iter().find(|platform| platform.is_native());
        native.context("no wheel is published for this machine")
    }

    /// Whether this machine runs its wheel.
    pub(crate) fn is_native(self) -> bool {
        self.target() == format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
    }

    /// Installs the standard library of the target where the toolchain lacks it.
    pub(crate) fn require_std(self, project: &Project) -> Result<()> {
        let target = self.target();
        let folder =
            quietly(project.command("rustc").args(["--print", "target-libdir", "--target", target]))?;
        if project.shell.path_exists(folder.trim()) {
            return Ok(());
        }
        say(&format!("installing Rust's standard library for {target} (once)"));
        match quietly(project.command("rustup").args(["target", "add", target])) {
            Ok(_) => Ok(()),
            Err(failure) => bail!("Rust's standard library for {target} is missing: {failure}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_tells_its_platform() {
        for platform in Platform::ALL {
            let name = format!("usm-0.1.0-cp311-abi3-{}.whl", platform.tag());
            assert_eq!(Platform::of_wheel(&name), Some(platform));
            assert!(platform.compatibility().is_none_or(|library| platform.tag().starts_with(library)));
        }
        assert_eq!(Platform::of_wheel("usm-0.1.0-cp311-abi3-manylinux_2_34_x86_64.whl"), None);
        assert_eq!(Platform::of_wheel("usm-0.1.0-cp311-abi3-linux_x86_64.whl"), None);
    }
}
