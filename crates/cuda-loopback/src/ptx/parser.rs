//! A position in the text, and the numbers at it.

use super::lexer::Token;
use super::types::Type;

pub(super) type Parsed<T = ()> = Result<T, String>;

/// A position in the tokens.
pub(super) struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(tokens: &'a [Token]) -> Self {
        Self { tokens, at: 0 }
    }

    /// Line of the last token that was taken.
    pub(super) fn line(&self) -> u32 {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens.get(self.at.saturating_sub(1).min(last)).map_or(0, |token| token.line)
    }

    /// The next token; empty at the end.
    pub(super) fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |token| &token.text)
    }

    pub(super) fn peek_second(&self) -> &'a str {
        self.tokens.get(self.at + 1).map_or("", |token| &token.text)
    }

    pub(super) fn next(&mut self) -> Parsed<&'a str> {
        let token = self.tokens.get(self.at).ok_or_else(|| "the text ends too early".to_owned())?;
        self.at += 1;
        Ok(&token.text)
    }

    /// Takes a token if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.peek() == text;
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect(&mut self, text: &str) -> Parsed {
        let found = self.next()?;
        if found == text { Ok(()) } else { Err(format!("{found:?} instead of {text:?}")) }
    }

    pub(super) fn integer(&mut self) -> Parsed<i128> {
        let sign = if self.take("-") { -1 } else { 1 };
        let word = self.next()?;
        integer(word).map(|value| sign * value).ok_or_else(|| format!("{word:?} is no integer"))
    }

    pub(super) fn count(&mut self) -> Parsed<usize> {
        usize::try_from(self.integer()?).map_err(|_| "a number is out of range".to_owned())
    }
}

/// A whole number without a sign.
fn integer(word: &str) -> Option<i128> {
    let word = word.strip_suffix('U').unwrap_or(word);
    let hexadecimal = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let value = match hexadecimal {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse::<u64>(),
    };
    value.ok().map(i128::from)
}

/// The bits of a number as a type has them.
pub(super) fn number(word: &str, ty: Type) -> Option<u64> {
    let hexadecimal = |digits| u64::from_str_radix(digits, 16).ok();
    if let Some(digits) = word.strip_prefix("0f").or_else(|| word.strip_prefix("0F")) {
        let bits = u32::try_from(hexadecimal(digits)?).ok()?;
        return Some(if ty == Type::F64 { f64::from(f32::from_bits(bits)).to_bits() } else { bits.into() });
    }
    if let Some(digits) = word.strip_prefix("0d").or_else(|| word.strip_prefix("0D")) {
        let bits = hexadecimal(digits)?;
        return Some(if ty == Type::F32 { (f64::from_bits(bits) as f32).to_bits().into() } else { bits });
    }
    integer(word).map(|value| value as u64)
}
