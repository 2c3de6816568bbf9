//! A probe of a Python: its kind and version, and whether it makes a venv that the wheel runs in.

/// The question. It has to run on every Python there is, 2.7 included, to get its answer.
pub(super) const SCRIPT: &str = "\
import sys, sysconfig, platform
try:
    import venv, ensurepip
    tools = 'venv'
except ImportError:
    tools = ''
print('\\n'.join(['usm-probe', '%d.%d.%d' % sys.version_info[:3], platform.python_implementation(),
    tools, str(sysconfig.get_config_var('Py_GIL_DISABLED') or 0),
    getattr(sys, 'base_prefix', sys.prefix), sys.executable]))
";

/// Major, minor and micro number.
pub(super) type Version = [u32; 3];

/// The oldest Python that the wheel runs on: the buffer protocol is in its stable interface.
pub(super) const OLDEST: Version = [3, 11, 0];

/// `3.12` of `3.12.1`: all releases of it have the same interface.
pub(super) fn series([major, minor, _]: Version) -> String {
    format!("{major}.{minor}")
}

fn version(text: &str) -> Result<Version, String> {
    let numbers: Result<Vec<_>, _> = text.split('.').map(str::parse).collect();
    let version = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    version.ok_or_else(|| format!("`{text}` is not a version of three numbers"))
}

/// The answer of an interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) version: Version,
    pub(super) implementation: String,
    pub(super) makes_venvs: bool,
    pub(super) free_threaded: bool,
    pub(super) base_prefix: String,
    pub(super) executable: String,
}

impl Answer {
    /// Reads the output of the script. Earlier output, of a wrapper, is skipped.
    pub(super) fn parse(output: &str) -> Result<Self, String> {
        let mut lines = output.lines().skip_while(|line| *line != "usm-probe").skip(1);
        let mut next = || lines.next().ok_or_else(|| "it gives no answer".to_owned());
        Ok(Self {
            version: version(next()?)?,
            implementation: next()?.to_owned(),
            makes_venvs: next()? == "venv",
            free_threaded: next()? == "1",
            base_prefix: next()?.to_owned(),
            executable: next()?.to_owned(),
        })
    }

    /// `3.12.1`.
    pub(super) fn version_text(&self) -> String {
        self.version.map(|number| number.to_string()).join(".")
    }

    /// Why this interpreter cannot be used, if so.
    pub(super) fn objection(&self) -> Option<String> {
        if self.implementation != "CPython" {
            return Some(format!("is {}; the wheel is for CPython", self.implementation));
        }
        if self.version < OLDEST {
            return Some(format!("older than {}", series(OLDEST)));
        }
        if self.free_threaded {
            return Some("a free-threaded build, which loads no abi3 modules".to_owned());
        }
        if !self.makes_venvs {
            return Some(
                "lacks the module `venv` or `ensurepip` (Debian, Ubuntu: apt install python3-venv)"
                    .to_owned(),
            );
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(version: &str, implementation: &str, tools: &str, free_threaded: &str) -> Answer {
        let output =
            format!("usm-probe\n{version}\n{implementation}\n{tools}\n{free_threaded}\n/base\n/base/bin/p\n");
        Answer::parse(&output).unwrap()
    }

    #[test]
    fn a_fitting_python_raises_no_objection() {
        let good = answer("3.11.7", "CPython", "venv", "0");
        assert_eq!(good.objection(), None);
        assert_eq!(good.base_prefix, "/base");
        assert_eq!(good.executable, "/base/bin/p");
    }

    #[test]
    fn each_misfit_is_named() {
        let objection = |answer: Answer| answer.objection().unwrap();
        for old in ["3.9.18", "3.10.99", "2.7.18"] {
            assert!(objection(answer(old, "CPython", "venv", "0")).contains("older than 3.11"), "{old}");
        }
        assert!(objection(answer("3.11.7", "PyPy", "venv", "0")).contains("PyPy"));
        assert!(objection(answer("3.13.0", "CPython", "venv", "1")).contains("free-threaded"));
        assert!(objection(answer("3.11.2", "CPython", "", "0")).contains("python3-venv"));
    }

    #[test]
    fn other_output_is_no_answer() {
        assert!(Answer::parse("").is_err());
        for text in ["", "3.11", "3.11.7.1", "3.11.x", "3..1", " 3.11.7", "-3.11.7"] {
            assert!(version(text).is_err(), "{text:?} was accepted");
        }
        assert!(Answer::parse("usm-probe\n3.11.7\nCPython\n").is_err());
        assert!(Answer::parse("3.11.7\nCPython\nvenv\n0\n/base\n/base/bin/p\n").is_err());
        let wrapped = "welcome\nusm-probe\n3.11.7\nCPython\nvenv\n0\n/base\n/base/bin/p\n";
        assert!(Answer::parse(wrapped).is_ok());
    }
}
