//! Numbers that kernels divide by; only arithmetic

use usm_memory::usm_core::KernelArgument;

/// A number that kernels divide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divisor {
    // D1. For each x < 2^31, `x * factor >> shift` is `x / number`.
    pub(super) number: u32,
    factor: u32,
    shift: u32,
}

impl Divisor {
    /// For a number from 1 to 2^31.
    pub(super) fn new(number: usize) -> Self {
        // With 2^k >= number the factor is too large by less than number / 2^shift <= 2^-31, so the quotient by less than 1 / number.
        let number = number as u64;
        let shift = 31 + number.next_power_of_two().trailing_zeros();
        // A division takes as long as many of the steps around it.
        let factor = if number.is_power_of_two() { 1 << 31 } else { (1_u64 << shift).div_ceil(number) };
        Self { number: number as u32, factor: factor as u32, shift }
    }

    /// The three arguments that kernels take for it.
    pub(super) fn arguments(self) -> [KernelArgument; 3] {
        [self.number, self.factor, self.shift].map(KernelArgument::from)
    }

    #[cfg(test)]
    pub(super) fn quotient(self, x: u32) -> u32 {
        ((u64::from(x) * u64::from(self.factor)) >> self.shift) as u32
    }
}
