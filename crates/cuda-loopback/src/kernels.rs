//! Launches of kernels: by the interpreter, or as host code for large fills.

use std::sync::{Arc, Mutex, PoisonError};

use crate::ptx::{Fault, GlobalMemory, Grid, Kernel};

/// Fills of more threads are done by host code, which is faster than the interpreter.
const MANY_THREADS: u64 = 1 << 16;

/// The size of a launch, in x, y and z, and what the kernel gets.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// Handle of the module.
    pub(crate) module: usize,
    pub(crate) kernel: Arc<Kernel>,
    /// Variables of the module.
    pub(crate) variables: Arc<Mutex<Vec<u8>>>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub(crate) shared_bytes: usize,
    pub(crate) parameters: Vec<u8>,
}

/// The memory as a kernel reaches it. An error is a fault, and the code that the context returns from then on.
pub(crate) trait Memory: GlobalMemory {
    /// Stores a value so many times in a row. The address is a multiple of the value's length.
    fn repeat(&mut self, address: u64, value: &[u8], count: u64) -> Result<(), Fault>;
}

impl Launch {
    /// Threads along x, which most kernels count by.
    fn threads_x(&self) -> u64 {
        u64::from(self.grid[0]) * u64::from(self.block[0])
    }

    pub(crate) fn run(&self, memory: &mut impl Memory) -> Result<(), Fault> {
        if self.kernel.name == "usm_fill" && self.threads_x() > MANY_THREADS {
            return self.fill(memory);
        }
        let grid = Grid {
            blocks: self.grid,
            threads: self.block,
            dynamic_bytes: self.shared_bytes,
            parameters: &self.parameters,
        };
        let mut variables = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        self.kernel.run(&grid, &mut variables, memory)
    }

    /// `usm_fill(first, vectors, a, b, head, tail)`: thread `t` below `vectors` stores the 16 bytes `(a, b)` at `first + 16 t`. Thread 0
    /// stores the 8 bytes of `a` at `head` and at `tail`, unless they are 0.
    fn fill(&self, memory: &mut impl Memory) -> Result<(), Fault> {
        let words: Vec<_> =
            self.parameters.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let [first, vectors, a, b, head, tail] = words[..] else { return Ok(()) };
        let vector = [a.to_le_bytes(), b.to_le_bytes()].concat();
        memory.repeat(first, &vector, vectors.min(self.threads_x()))?;
        for word in [head, tail].into_iter().filter(|word| *word != 0) {
            memory.repeat(word, &a.to_le_bytes(), 1)?;
        }
        Ok(())
    }
}
