//! Changed inputs: what a fuzzer does, without the coverage that leads one

use usm_core::testing::Random;

/// Numbers at which arithmetic goes wrong.
const NUMBERS: [u64; 9] = [0, 1, 2, 63, 1 << 31, 1 << 32, i64::MAX as u64, i64::MIN as u64, u64::MAX];
/// The longest input, as for libFuzzer.
const MOST_BYTES: usize = 512;

/// Makes inputs from those of a corpus, and from the words of a dictionary.
pub(crate) struct Mutator {
    random: Random,
    corpus: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    pub(crate) fn new(seed: u64, corpus: Vec<Vec<u8>>, words: Vec<Vec<u8>>) -> Self {
        Self { random: Random::new(seed), corpus, words }
    }

    /// An input with up to eight changes.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        let mut input = self.known();
        for _ in 0..1 + self.random.below(8) {
            self.change(&mut input);
        }
        input.truncate(MOST_BYTES);
        input
    }

    fn known(&mut self) -> Vec<u8> {
        let place = self.random.below(self.corpus.len());
        self.corpus[place].clone()
    }

    fn byte(&mut self) -> u8 {
        self.random.below(256) as u8
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.random.below(input.len() + 1);
        let end = at + self.random.below(input.len() - at + 1);
        match self.random.below(9) {
            0 => input.insert(at, self.byte()),
            1 => drop(input.drain(at..end)),
            2 => {
                let part = input[at..end].to_vec();
                let to = self.random.below(input.len() + 1);
                input.splice(to..to, part);
            }
            3 => {
                let other = self.known();
                let from = self.random.below(other.len() + 1);
                input.splice(at.., other[from..].iter().copied());
            }
            4 => {
                let number = NUMBERS[self.random.below(NUMBERS.len())];
                let near = number.wrapping_add(self.random.below(5) as u64).wrapping_sub(2).to_le_bytes();
                let len = 1 << self.random.below(4);
                input.splice(at..end.min(at + len), near[..len].iter().copied());
            }
            5 if !self.words.is_empty() => {
                let word = self.words[self.random.below(self.words.len())].clone();
                input.splice(at..end.min(at + word.len()), word);
            }
            _ if at == input.len() => input.push(self.byte()),
            6 => input[at] ^= 1 << self.random.below(8),
            7 => input[at] = input[at].wrapping_add(self.random.below(33) as u8).wrapping_sub(16),
            _ => input[at] = self.byte(),
        }
    }
}

/// The words of a dictionary of libFuzzer: a text in quotes a line, with `\xNN` for bytes.
pub(crate) fn words(dictionary: &str) -> Vec<Vec<u8>> {
    let of_line = |line: &str| {
        let quoted = line.trim().strip_prefix('"')?.strip_suffix('"')?;
        let (mut word, mut rest) = (Vec::new(), quoted);
        while let Some(next) = rest.chars().next() {
            let escaped = rest.get(..4).and_then(|text| text.strip_prefix("\\x"));
            let (byte, len) = match escaped {
                Some(digits) => (u8::from_str_radix(digits, 16).ok()?, 4),
                None if rest.starts_with("\\\\") || rest.starts_with("\\\"") => (rest.as_bytes()[1], 2),
                None => (u8::try_from(next).ok()?, 1),
            };
            word.push(byte);
            rest = &rest[len..];
        }
        Some(word)
    };
    let lines = dictionary.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| of_line(line).unwrap_or_else(|| panic!("found the line {line}"))).collect()
}
