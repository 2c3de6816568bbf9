//! Bounded linear equations: `Σ step·x = target` with every `x` from 0 to `most`
//!
//! A search in depth, the largest step first, that only follows values that the rest can complete: in range, and in the right
//! class modulo the greatest common divisor of the rest. It ends where the rest reaches every multiple of its divisor in its
//! range, which is so from the first axis on for contiguous layouts, and always for the last two terms.

use std::cmp::Reverse;

use super::Overlap;
use crate::layout::Axes;

/// One unknown with its factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) step: u128,
    pub(super) most: u128,
}

/// An equation. All sums stay below 2^128, since they come from up to 2^63 elements of less than 2^63 bytes on each of two sides.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    terms: Axes<Term>,
    target: i128,
}

/// The sums that the terms from one on can reach.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    /// The largest sum
    reach: u128,
    /// Greatest common divisor of the steps; 0 without terms
    divisor: u128,
    /// Every multiple of the divisor up to `reach` is a sum.
    is_complete: bool,
    /// Of the first term: its values that leave a multiple of the next divisor are `x ≡ target / divisor · inverse` modulo this
    modulus: u128,
    inverse: u128,
}

impl Problem {
    pub(super) fn new(target: i128) -> Self {
        Self { terms: Axes::new(), target }
    }

    /// Adds a term. Terms of one step are one unknown with a larger range.
    pub(super) fn add(&mut self, term: Term) {
        if term.most == 0 || term.step == 0 {
            return;
        }
        match self.terms.iter_mut().find(|other| other.step == term.step) {
            Some(other) => other.most += term.most,
            None => self.terms.push(term),
        }
    }

    /// Whether there is a solution. Each step of the search takes one from `work`; at 0 it gives up.
    pub(super) fn solve(mut self, work: &mut usize) -> Overlap {
        let Ok(target) = u128::try_from(self.target) else { return Overlap::No };
        self.terms.sort_unstable_by_key(|term| Reverse(term.step));
        let mut rests: Axes<Rest> = Axes::new();
        let mut rest = Rest { reach: 0, divisor: 0, is_complete: true, modulus: 1, inverse: 0 };
        rests.push(rest);
        for term in self.terms.iter().rev() {
            rest = rest.with(*term);
            rests.push(rest);
        }
        rests.reverse();
        search(&self.terms, &rests, target, work)
    }
}

impl Rest {
    /// The rest with one term more in front.
    fn with(self, term: Term) -> Self {
        let (divisor, inverse) = gcd_and_inverse(term.step, self.divisor);
        // The ranges that the rest reaches around each step of the term must leave no gap.
        let is_complete = self.is_complete
            && match self.divisor {
                0 => true,
                next => divisor == next && term.step <= self.reach + next,
            };
        Self {
            reach: self.reach + term.step * term.most,
            divisor,
            is_complete,
            modulus: (self.divisor / divisor).max(1),
            inverse,
        }
    }
}

/// Looks for a solution with the remaining terms. `rests` has the sums that are reached from each term on, and a last entry
/// without terms.
fn search(terms: &[Term], rests: &[Rest], target: u128, work: &mut usize) -> Overlap {
    let [rest, behind @ ..] = rests else { return Overlap::No };
    if target > rest.reach || (rest.divisor == 0 && target != 0) {
        return Overlap::No;
    }
    if rest.divisor != 0 && !target.is_multiple_of(rest.divisor) {
        return Overlap::No;
    }
    let ([term, terms @ ..], [next, ..]) = (terms, behind) else { return Overlap::Yes };
    if rest.is_complete {
        return Overlap::Yes;
    }
    // Values with a remainder between 0 and the highest sum of the rest.
    let lowest = target.saturating_sub(next.reach).div_ceil(term.step);
    let highest = (target / term.step).min(term.most);
    // The first of them in the right class.
    let class = multiply((target / rest.divisor) % rest.modulus, rest.inverse, rest.modulus);
    let mut x = lowest + (class + rest.modulus - lowest % rest.modulus) % rest.modulus;
    let mut answer = Overlap::No;
    while x <= highest {
        if next.is_complete {
            return Overlap::Yes; // in range and in the right class
        }
        let Some(left) = work.checked_sub(1) else { return Overlap::Maybe };
        *work = left;
        match search(terms, behind, target - x * term.step, work) {
            Overlap::Yes => return Overlap::Yes,
            Overlap::Maybe => answer = Overlap::Maybe,
            Overlap::No => {}
        }
        x += rest.modulus;
    }
    answer
}

/// The greatest common divisor of two numbers, the first one not 0, and the inverse of `a / gcd` modulo `b / gcd`.
fn gcd_and_inverse(a: u128, b: u128) -> (u128, u128) {
    // Extended Euclid; the coefficients are at most as large as the numbers.
    let (mut old, mut new) = ((a.cast_signed(), 1_i128), (b.cast_signed(), 0_i128));
    while new.0 != 0 {
        let quotient = old.0 / new.0;
        (old, new) = (new, (old.0 - quotient * new.0, old.1 - quotient * new.1));
    }
    let divisor = old.0.unsigned_abs();
    let modulus = (b / divisor).max(1);
    (divisor, old.1.rem_euclid(modulus.cast_signed()).cast_unsigned())
}

/// `a · b` modulo `modulus`; both are below it.
fn multiply(a: u128, b: u128, modulus: u128) -> u128 {
    if let Some(product) = a.checked_mul(b) {
        return product % modulus;
    }
    // Too large at once: bit by bit.
    let (mut sum, mut a, mut b) = (0, a, b);
    while b > 0 {
        if b & 1 == 1 {
            sum = (sum + a) % modulus;
        }
        a = 2 * a % modulus;
        b >>= 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn solve(terms: &[(u128, u128)], target: i128, mut work: usize) -> Overlap {
        let mut problem = Problem::new(target);
        terms.iter().for_each(|&(step, most)| problem.add(Term { step, most }));
        problem.solve(&mut work)
    }

    #[test]
    fn products_of_large_numbers_are_below_the_modulus() {
        assert_eq!(multiply(7, 8, 10), 6);
        for modulus in [(1 << 31) - 1, 1 << 63, (1 << 64) + 13, (1 << 126) - 1] {
            let (last, one_less) = (modulus - 1, modulus - 2);
            // Modulo `modulus` these are -1 and -2.
            assert_eq!([multiply(last, last, modulus), multiply(last, one_less, modulus)], [1, 2]);
            assert_eq!(multiply(one_less, one_less, modulus), 4);
        }
    }

    #[test]
    fn a_limit_gives_up_and_none_is_exact() {
        // A knapsack of nearly equal steps without a pattern, where range and divisor exclude no value.
        let steps: Vec<(u128, u128)> = (0..14).map(|k| ((1 << 30) + k * k * k * 7919 + 14 * k, 1)).collect();
        let target = 1 + steps.iter().step_by(2).map(|&(step, _)| step.cast_signed()).sum::<i128>();
        assert_eq!(solve(&steps, target, 3), Overlap::Maybe);
        let sums = (0..1_u32 << steps.len()).map(|set| {
            let chosen = steps.iter().enumerate().filter(|(k, _)| set & (1 << k) != 0);
            chosen.map(|(_, &(step, _))| step.cast_signed()).sum::<i128>()
        });
        let expected = if sums.into_iter().any(|sum| sum == target) { Overlap::Yes } else { Overlap::No };
        assert_eq!(solve(&steps, target, usize::MAX), expected);
    }

    #[test]
    fn large_numbers_do_not_overflow() {
        let (a, b) = ((1_u128 << 67) - 1, (1_u128 << 66) + 3);
        let target = (a + 2 * b).cast_signed();
        assert_eq!(solve(&[(a, 9), (b, 9)], target, usize::MAX), Overlap::Yes);
        assert_eq!(solve(&[(a, 9), (b, 9)], target + 1, usize::MAX), Overlap::No);
        assert_eq!(solve(&[(a, 9), (b, 9), (5, 1)], target + 5, usize::MAX), Overlap::Yes);
        let modulus = (1_u128 << 70) - 3;
        assert_eq!(multiply(modulus - 1, modulus - 1, modulus), 1);
        assert_eq!(multiply(modulus - 2, 1 << 69, modulus), modulus - ((1 << 70) - modulus));
    }

    proptest! {
        #[test]
        fn solutions_are_found_exactly_if_there_are_any(
            terms in prop::collection::vec((0_u128..40, 0_u128..6), 0..6), target in -3_i128..200,
        ) {
            let mut sums = vec![0_i128];
            for &(step, most) in &terms {
                sums = sums.iter().flat_map(|&sum| (0..=most).map(move |x| sum + (step * x).cast_signed())).collect();
                sums.sort();
                sums.dedup();
            }
            let expected = if sums.contains(&target) { Overlap::Yes } else { Overlap::No };
            prop_assert_eq!(solve(&terms, target, usize::MAX), expected);
            // A search may stop at its limit. Its answer is never wrong.
            let limited = solve(&terms, target, 1);
            prop_assert!(limited == expected || limited == Overlap::Maybe);
        }
    }
}
