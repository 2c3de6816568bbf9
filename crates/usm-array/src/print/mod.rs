//! Arrays as text, letter for letter as NumPy writes them
//!
//! | file | job |
//! |---|---|
//! | `options.rs` | NumPy's print options |
//! | `shown.rs` | the shown elements, copied to the host |
//! | `digits.rs` | decimal digits of floating-point numbers: the shortest ones, or as many as wanted |
//! | `real.rs` | real numbers of one width each |
//! | `words.rs` | the elements of every dtype as words of one width |
//! | `single.rs` | the element of an array without axes |
//! | `lines.rs` | words with brackets, in lines |

mod digits;
mod lines;
mod options;
mod real;
mod shown;
mod single;
mod words;

use std::fmt;

pub use options::{FloatMode, PrintOptions, Sign};

use self::shown::shown_elements;
use self::words::Printed;
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::dtype::{Dtype, Element, dispatch_computed};
use crate::error::Result;

impl UsmArray {
    /// The text of NumPy's `array_str`, and of `Display`. Only the shown elements are copied to the host. Elements of narrow dtypes
    /// are written as `float32`.
    ///
    /// ```
    /// use usm_array::{PrintOptions, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[1.0, -0.25, 1e-3, f64::NAN])?;
    /// assert_eq!(array.to_string(), "[[ 1.    -0.25 ]\n [ 0.001    nan]]");
    /// let options = PrintOptions { precision: 2, suppress: true, ..PrintOptions::default() };
    /// assert_eq!(array.display(&options)?, "[[ 1.   -0.25]\n [ 0.     nan]]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Memory`](crate::Error::Memory): the memory is borrowed for writing, or the runtime failed
    /// - [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory): no host memory for the elements or the text
    pub fn display(&self, options: &PrintOptions) -> Result<String> {
        if self.ndim() == 0 {
            return dispatch_computed!(self.dtype(), T => single_text::<T>(self));
        }
        self.body(options, " ", 0, options.linewidth)
    }

    /// The text of NumPy's `array_repr` with `name` for `array`: with the dtype, unless it is int64, float64, complex128 or bool,
    /// and with the shape where the elements do not tell it. `Debug` is this with the name `UsmArray`.
    ///
    /// # Errors
    /// The errors of [`display`](Self::display).
    pub fn repr(&self, name: &str, options: &PrintOptions) -> Result<String> {
        let indent = name.chars().count() + 1;
        let width = options.linewidth.saturating_sub(1); // the closing parenthesis
        let mut text = format!("{name}({}", self.body(options, ", ", indent, width)?);
        let mut extras = Vec::new();
        if (self.is_empty() && self.shape() != [0]) || self.size() > options.threshold {
            extras.push(format!("shape={}", tuple(self.shape())));
        }
        let is_implied = matches!(self.dtype(), Dtype::I64 | Dtype::F64 | Dtype::C128 | Dtype::Bool);
        if !is_implied || self.is_empty() {
            extras.push(format!("dtype={}", self.dtype()));
        }
        if !extras.is_empty() {
            let extras = extras.join(", ");
            text.push(',');
            let last_line = text.rsplit('\n').next().unwrap_or_default().chars().count();
            // With the space between and the parenthesis.
            if last_line + extras.chars().count() + 2 > options.linewidth {
                text.push('\n');
                text.extend(std::iter::repeat_n(' ', indent));
            } else {
                text.push(' ');
            }
            text.push_str(&extras);
        }
        text.push(')');
        Ok(text)
    }

    /// The text of NumPy's `array2string`: as [`display`](Self::display), with another text between the elements, from column
    /// `prefix_columns` on and with `suffix_columns` left free at the end of each line.
    ///
    /// ```
    /// use usm_array::{PrintOptions, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[1_u8, 2, 3, 40])?;
    /// let text = array.array2string(&PrintOptions::default(), ";", 2, 0)?;
    /// assert_eq!(text, "[[ 1; 2];\n   [ 3;40]]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`display`](Self::display).
    pub fn array2string(
        &self,
        options: &PrintOptions,
        separator: &str,
        prefix_columns: usize,
        suffix_columns: usize,
    ) -> Result<String> {
        self.body(options, separator, prefix_columns, options.linewidth.saturating_sub(suffix_columns))
    }

    /// The elements with brackets, from column `indent` on.
    fn body(&self, options: &PrintOptions, separator: &str, indent: usize, width: usize) -> Result<String> {
        if self.is_empty() {
            return Ok("[]".to_owned());
        }
        let words = dispatch_computed!(self.dtype(), T => all_words::<T>(self, options))?;
        Ok(lines::arrange(self, options, &words, separator, indent, width))
    }
}

fn all_words<T: Printed + Element>(array: &UsmArray, options: &PrintOptions) -> Result<Vec<String>> {
    T::words(&shown_elements::<T>(array, options)?, array.ndim() == 0, options)
}

fn single_text<T: Printed + Element>(array: &UsmArray) -> Result<String> {
    Ok(array.astype(T::DTYPE, CopyMode::IfNeeded)?.to_vec::<T>()?.into_iter().map(T::single).collect())
}

/// Numbers as a tuple of Python.
pub(crate) fn tuple(numbers: &[impl ToString]) -> String {
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("({}{})", words.join(", "), if words.len() == 1 { "," } else { "" })
}

/// NumPy's `str`. If the elements cannot be read, the text is the reason in angle brackets. For an error instead, use
/// [`UsmArray::display`].
impl fmt::Display for UsmArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.display(&PrintOptions::default()) {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

/// NumPy's `repr`, with `UsmArray` for `array`. Where the elements cannot be read, the reason in angle brackets.
impl fmt::Debug for UsmArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.repr("UsmArray", &PrintOptions::default()) {
            Ok(text) => f.write_str(&text),
            Err(error) => {
                write!(f, "UsmArray(<{error}>, shape={}, dtype={})", tuple(self.shape()), self.dtype())
            }
        }
    }
}
