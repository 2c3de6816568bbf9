//! The kernels that are known by name, and run as host code. A new one needs a function and a line in [`KERNELS`].

use crate::codes::Code;

/// The size of a launch, in x, y and z, and the arguments.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: &'static Kernel,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) arguments: Vec<u64>,
}

/// The memory as a kernel reaches it. An error is a fault, and the code that the context returns from then on.
pub(crate) trait Memory {
    /// Stores a value so many times in a row. The address is a multiple of the value's length.
    fn store(&mut self, address: u64, value: &[u8], count: u64) -> Result<(), (Code, String)>;
}

type Run = fn(&Launch, &mut dyn Memory) -> Result<(), (Code, String)>;

/// A kernel that runs.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    /// Each argument is a word of 8 bytes.
    pub(crate) argument_count: usize,
    pub(crate) run: Run,
}

static KERNELS: [Kernel; 1] = [Kernel { name: "usm_fill", argument_count: 6, run: usm_fill }];

pub(crate) fn find(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name == name)
}

/// The names behind `.entry` in a module's PTX text.
pub(crate) fn entries(ptx: &str) -> Vec<String> {
    let code = ptx.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = code.collect::<Vec<_>>().join("\n");
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_$".contains(c);
    let name =
        |rest: &str| rest.trim_start().split(|c: char| !is_part(c)).next().unwrap_or_default().to_owned();
    code.split(".entry").skip(1).map(name).filter(|name| !name.is_empty()).collect()
}

impl Launch {
    /// Threads along x, which most kernels count by.
    fn threads_x(&self) -> u64 {
        u64::from(self.grid[0]) * u64::from(self.block[0])
    }
}

/// `usm_fill(first, vectors, a, b, head, tail)`: thread `t` below `vectors` stores the 16 bytes `(a, b)` at `first + 16 t`. Thread 0
/// stores the 8 bytes of `a` at `head` and at `tail`, unless they are 0.
fn usm_fill(launch: &Launch, memory: &mut dyn Memory) -> Result<(), (Code, String)> {
    let &[first, vectors, a, b, head, tail] = &launch.arguments[..] else { return Ok(()) };
    let vector = [a.to_ne_bytes(), b.to_ne_bytes()].concat();
    memory.store(first, &vector, vectors.min(launch.threads_x()))?;
    for word in [head, tail].into_iter().filter(|word| *word != 0) {
        memory.store(word, &a.to_ne_bytes(), 1)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::entries;

    #[test]
    fn entries_are_found_in_the_text() {
        let ptx = ".version 6.0\n// .entry none\n.visible .entry usm_fill(\n.param .u64 a)\n{ ret; }\n.entry  b$2 () {}";
        assert_eq!(entries(ptx), ["usm_fill", "b$2"]);
    }
}
