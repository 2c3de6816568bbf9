//! Numbers that kernels divide by; only arithmetic

use usm_memory::usm_core::KernelArgument;

/// A number that kernels divide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divisor {
    // Invariant D1: For each x < 2^31, `x * factor >> shift` is `x / number`.
    number: u32,
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact() {
        let mut random = 1_u64;
        for round in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let any = (random >> 33) as u32;
            let number = if round < 5000 { round + 1 } else { any.max(1) };
            for number in [number, 1 << (round % 31), (1 << 31) - 1] {
                let Divisor { factor, shift, .. } = Divisor::new(number as usize);
                let whole = any / number * number;
                for x in [any, whole, whole.saturating_sub(1), number, (1 << 31) - 1, 0] {
                    let quotient = (u64::from(x) * u64::from(factor)) >> shift;
                    assert_eq!(quotient, u64::from(x / number), "{x} / {number}");
                }
            }
        }
    }
}
