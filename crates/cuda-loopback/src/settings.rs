//! What a user chooses, from environment variables or through the control functions.

use std::time::Duration;

/// The numbers that a user may set.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) devices: usize,
    /// Memory of each device; also the most managed and the most pinned memory of the process.
    pub(crate) memory_bytes: usize,
    /// The longest delay of an operation.
    pub(crate) delay: Duration,
    pub(crate) seed: u64,
    /// How long a module takes to load.
    pub(crate) load: Duration,
}

/// A reservation of address space has twice this many bytes, so that eight devices fit.
const MAX_MEMORY_BYTES: u64 = 1 << 40;
const MAX_DEVICES: u64 = 8;

impl Settings {
    /// The defaults, changed by the variables `CUDA_LOOPBACK_…`; and the variables that have no valid value.
    pub(crate) fn from_environment() -> (Self, Vec<String>) {
        let (delay, load) = (Duration::from_micros(50), Duration::ZERO);
        let mut settings = Self { devices: 1, memory_bytes: 4 << 30, delay, seed: 1, load };
        let mut wrong = Vec::new();
        for name in ["DEVICES", "MEMORY_BYTES", "DELAY_US", "SEED", "LOAD_MS"] {
            let variable = format!("CUDA_LOOPBACK_{name}");
            let Ok(text) = std::env::var(&variable) else { continue };
            if !text.parse().is_ok_and(|value| settings.set(name, value)) {
                wrong.push(format!("{variable}={text} is not valid"));
            }
        }
        (settings, wrong)
    }

    /// Sets a number by the name of its variable without the prefix; false if there is none, or the value is not valid.
    pub(crate) fn set(&mut self, name: &str, value: u64) -> bool {
        match (name, usize::try_from(value)) {
            ("DEVICES", Ok(devices)) if value <= MAX_DEVICES => self.devices = devices,
            ("MEMORY_BYTES", Ok(bytes)) if (1..=MAX_MEMORY_BYTES).contains(&value) => {
                self.memory_bytes = bytes
            }
            ("DELAY_US", Ok(_)) => self.delay = Duration::from_micros(value),
            ("SEED", Ok(_)) => self.seed = value,
            ("LOAD_MS", Ok(_)) => self.load = Duration::from_millis(value),
            _ => return false,
        }
        true
    }
}

/// Whether a setting is read by `cuInit` alone.
pub(crate) fn is_fixed_by_init(name: &str) -> bool {
    matches!(name, "DEVICES" | "MEMORY_BYTES")
}
