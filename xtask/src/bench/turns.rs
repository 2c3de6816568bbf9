//! Who comes when in a round: each contender finds the caches and the threads as the one before has left them.

/// The order of the contenders, another one in each round. None of them comes after itself, and all others come before it about equally
/// often.
pub(super) struct Turns {
    order: Vec<usize>,
    /// State of a xorshift generator; the same in each run.
    state: u64,
}

impl Turns {
    pub(super) fn new(count: usize) -> Self {
        Self { order: (0..count).collect(), state: 0x9E37_79B9_7F4A_7C15 }
    }

    /// The order of the next round.
    pub(super) fn next(&mut self) -> &[usize] {
        let last = self.order.last().copied();
        for place in (1..self.order.len()).rev() {
            let other = self.below(place + 1);
            self.order.swap(place, other);
        }
        if self.order.len() > 1 && self.order.first().copied() == last {
            let other = 1 + self.below(self.order.len() - 1);
            self.order.swap(0, other);
        }
        &self.order
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).unwrap_or(0) % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_one_turn_in_each_round_and_comes_after_all_others() {
        for count in 0..6 {
            let mut turns = Turns::new(count);
            let mut after = vec![vec![0; count]; count];
            let mut last: Option<usize> = None;
            for _ in 0..1000 {
                let order = turns.next().to_vec();
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..count).collect::<Vec<_>>());
                for who in order {
                    if let Some(before) = last.replace(who) {
                        after[who][before] += 1;
                    }
                }
            }
            for (who, counts) in after.iter().enumerate() {
                for (before, &times) in counts.iter().enumerate() {
                    let fair = 1000 / count.saturating_sub(1).max(1);
                    let expected =
                        if who == before && count > 1 { 0..=0 } else { fair * 3 / 4..=fair * 5 / 4 };
                    assert!(expected.contains(&times), "{who} after {before} of {count}: {times}");
                }
            }
        }
    }
}
