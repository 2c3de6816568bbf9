//! Words with brackets, in lines

use super::PrintOptions;
use super::shown::is_cut;
use crate::array::UsmArray;

/// The words of the shown elements of an array in the nested brackets of its axes, from column `indent` on.
pub(super) fn arrange(
    array: &UsmArray,
    options: &PrintOptions,
    words: &[String],
    separator: &str,
    indent: usize,
    width: usize,
) -> String {
    let mut writer = Writer { array, options, words: words.iter(), separator, text: String::new() };
    // A bracket is in front of everything.
    writer.axis(0, indent + 1, isize::try_from(width).unwrap_or(isize::MAX));
    writer.text
}

struct Writer<'a> {
    array: &'a UsmArray,
    options: &'a PrintOptions,
    /// In the order in which they are written
    words: std::slice::Iter<'a, String>,
    separator: &'a str,
    text: String,
}

impl Writer<'_> {
    /// Writes the axes from `axis` on, whose lines begin at column `indent` and end `width` columns from the left edge.
    fn axis(&mut self, axis: usize, indent: usize, width: isize) {
        let Some(&n) = self.array.shape().get(axis) else {
            let word = self.words.next().map_or("", String::as_str);
            self.text.push_str(word);
            return;
        };
        self.text.push('[');
        let is_cut = is_cut(self.array, self.options, n);
        let (leading, trailing) = match is_cut {
            // NumPy shows the last element even without edges.
            true => (self.options.edgeitems, self.options.edgeitems.max(1)),
            false => (0, n),
        };
        let inner_axes = self.array.ndim() - axis - 1;
        if inner_axes == 0 {
            self.row(leading, is_cut, trailing, indent, width);
        } else {
            let entries = leading + usize::from(is_cut) + trailing;
            for entry in 0..entries {
                if is_cut && entry == leading {
                    self.text.push_str("...");
                } else {
                    self.axis(axis + 1, indent + 1, width - 1);
                }
                if entry + 1 < entries {
                    self.text.push_str(self.separator.trim_end());
                    self.text.extend(std::iter::repeat_n('\n', inner_axes));
                    self.text.extend(std::iter::repeat_n(' ', indent));
                }
            }
        }
        self.text.push(']');
    }

    /// Writes the last axis, with breaks where a word would not fit.
    fn row(&mut self, leading: usize, is_cut: bool, trailing: usize, indent: usize, width: isize) {
        // Columns for the text after a word: the separator or a bracket.
        let last_column = width - self.separator.trim_end().len().max(1).cast_signed();
        let mut column = indent;
        let entries = leading + usize::from(is_cut) + trailing;
        for entry in 0..entries {
            let word = match is_cut && entry == leading {
                true => "...",
                false => self.words.next().map_or("", String::as_str),
            };
            let len = word.chars().count();
            // A break does not help a word that begins the line.
            if (column + len).cast_signed() > last_column && column > indent {
                self.text.truncate(self.text.trim_end().len());
                self.text.push('\n');
                self.text.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            }
            self.text.push_str(word);
            column += len;
            if entry + 1 < entries {
                self.text.push_str(self.separator);
                column += self.separator.len();
            }
        }
    }
}
