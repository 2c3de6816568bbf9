//! Lists of nothing but numbers in another language or format, to any depth

use super::append;
use crate::create::Numbers;
use crate::error::Error;
use crate::layout::MAX_NDIM;
use crate::scalar::Scalar;

/// Lists of numbers, as another language or a format such as JSON has them: `I` is a list, a number, or anything else.
///
/// [`NumberList::read`] asks for the numbers of all items as the type of the first one, so an implementation answers fast, and only for
/// plain items. [`ReadNested`](super::ReadNested) reads everything else.
pub trait ReadNumbers<I> {
    /// What an interrupted read gives, or one without memory
    type Error: From<Error>;

    /// The length of a list and its first item. `None` for an empty list and for anything that is no list.
    fn first(&self, item: &I) -> Option<(usize, I)>;

    /// Whether this is a list of `len` items, and `holds` for each of them; the items behind one for which it does not are not asked.
    ///
    /// # Errors
    /// Those of `holds`.
    fn every(
        &self,
        item: &I,
        len: usize,
        holds: impl FnMut(&I) -> Result<bool, Self::Error>,
    ) -> Result<bool, Self::Error>;

    /// The value of a boolean; `None` for anything else.
    fn boolean(&self, item: &I) -> Option<bool>;

    /// The value of an integer of 64 bits; `None` for anything else.
    fn integer(&self, item: &I) -> Option<i64>;

    /// The value of a real number; `None` for anything else, an integer, too.
    fn real(&self, item: &I) -> Option<f64>;

    /// Called for each number with the count of those before it, so that a long read can be broken off.
    ///
    /// # Errors
    /// Whatever ends the read.
    fn check(&self, item: &I, count: usize) -> Result<(), Self::Error> {
        let _ = (item, count);
        Ok(())
    }

    /// The outermost list in errors.
    fn name(&self) -> &str {
        "nested"
    }
}

/// Numbers of any types, or all of one type as nearly always: then they need a quarter of the memory.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberList {
    /// Numbers of any types.
    Any(Vec<Scalar>),
    /// Booleans.
    Bools(Vec<bool>),
    /// Integers.
    Ints(Vec<i64>),
    /// Real numbers.
    Floats(Vec<f64>),
}

impl<'a> From<&'a NumberList> for Numbers<'a> {
    fn from(list: &'a NumberList) -> Self {
        match list {
            NumberList::Any(numbers) => numbers.into(),
            NumberList::Bools(numbers) => numbers.into(),
            NumberList::Ints(numbers) => numbers.into(),
            NumberList::Floats(numbers) => numbers.into(),
        }
    }
}

impl NumberList {
    /// The shape and the numbers of nested lists that have nothing else. `None` for others: ragged ones, lists of 0 items and more than
    /// [`MAX_NDIM`] lists in each other among them.
    ///
    /// # Errors
    /// - [`CreateError::TooManyItems`](crate::CreateError::TooManyItems): no memory of the host for the numbers
    /// - the errors of [`ReadNumbers::check`]
    pub fn read<I, R: ReadNumbers<I>>(reader: &R, list: &I) -> Result<Option<(Vec<usize>, Self)>, R::Error> {
        let Some((len, mut first)) = reader.first(list) else { return Ok(None) };
        let mut shape = vec![len];
        while let Some((len, item)) = reader.first(&first) {
            shape.push(len);
            first = item;
            if shape.len() > MAX_NDIM {
                return Ok(None);
            }
        }
        let numbers = if reader.real(&first).is_some() {
            all(reader, list, &shape, |item| reader.real(item))?.map(Self::Floats)
        } else if reader.integer(&first).is_some() {
            all(reader, list, &shape, |item| reader.integer(item))?.map(Self::Ints)
        } else if reader.boolean(&first).is_some() {
            all(reader, list, &shape, |item| reader.boolean(item))?.map(Self::Bools)
        } else {
            return Ok(None);
        };
        let numbers = match numbers {
            Some(numbers) => Some(numbers),
            None => all(reader, list, &shape, |item| number(reader, item))?.map(Self::Any),
        };
        Ok(numbers.map(|numbers| (shape, numbers)))
    }
}

/// The value of a number of any of these types.
fn number<I, R: ReadNumbers<I>>(reader: &R, item: &I) -> Option<Scalar> {
    if let Some(value) = reader.real(item) {
        return Some(Scalar::Float(value));
    }
    if let Some(value) = reader.boolean(item) {
        return Some(Scalar::Bool(value));
    }
    reader.integer(item).map(|value| Scalar::Int(value.into()))
}

/// The values of all numbers of lists of that shape; `None` if they have another shape, or an item has no value.
fn all<I, R: ReadNumbers<I>, T>(
    reader: &R,
    list: &I,
    shape: &[usize],
    value: impl Fn(&I) -> Option<T> + Copy,
) -> Result<Option<Vec<T>>, R::Error> {
    let mut values = Vec::new();
    Ok(collect(reader, list, shape, &mut values, value)?.then_some(values))
}

fn collect<I, R: ReadNumbers<I>, T>(
    reader: &R,
    list: &I,
    shape: &[usize],
    values: &mut Vec<T>,
    value: impl Fn(&I) -> Option<T> + Copy,
) -> Result<bool, R::Error> {
    match shape {
        [] => Ok(false),
        &[len] => reader.every(list, len, |item| {
            reader.check(item, values.len())?;
            let Some(value) = value(item) else { return Ok(false) };
            append(reader.name(), values, value)?;
            Ok(true)
        }),
        &[len, ref inner @ ..] => reader.every(list, len, |item| collect(reader, item, inner, values, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list or a number of text.
    #[derive(Clone, Debug)]
    enum Item {
        List(Vec<Self>),
        Bool(bool),
        Int(i64),
        Float(f64),
        Text,
    }
    use Item::{Bool, Float, Int, List, Text};

    struct Reader;

    impl ReadNumbers<Item> for Reader {
        type Error = Error;

        fn first(&self, item: &Item) -> Option<(usize, Item)> {
            match item {
                List(items) => Some((items.len(), items.first()?.clone())),
                _ => None,
            }
        }

        fn every(
            &self,
            item: &Item,
            len: usize,
            mut holds: impl FnMut(&Item) -> Result<bool, Error>,
        ) -> Result<bool, Error> {
            let List(items) = item else { return Ok(false) };
            for item in items {
                if !holds(item)? {
                    return Ok(false);
                }
            }
            Ok(items.len() == len)
        }

        fn boolean(&self, item: &Item) -> Option<bool> {
            if let Bool(value) = item { Some(*value) } else { None }
        }

        fn integer(&self, item: &Item) -> Option<i64> {
            if let Int(value) = item { Some(*value) } else { None }
        }

        fn real(&self, item: &Item) -> Option<f64> {
            if let Float(value) = item { Some(*value) } else { None }
        }
    }

    fn read(list: &Item) -> Option<(Vec<usize>, NumberList)> {
        NumberList::read(&Reader, list).expect("nothing fails here")
    }

    #[test]
    fn numbers_of_one_type_stay_of_it_and_others_are_of_any() {
        let of = |items: Vec<Item>| read(&List(items)).map(|(_, numbers)| numbers);
        assert_eq!(of(vec![Int(1), Int(-2)]), Some(NumberList::Ints(vec![1, -2])));
        assert_eq!(of(vec![Float(1.5), Float(2.0)]), Some(NumberList::Floats(vec![1.5, 2.0])));
        assert_eq!(of(vec![Bool(true), Bool(false)]), Some(NumberList::Bools(vec![true, false])));
        let mixed = NumberList::Any(vec![Scalar::Int(1), Scalar::Float(0.5), Scalar::Bool(true)]);
        assert_eq!(of(vec![Int(1), Float(0.5), Bool(true)]), Some(mixed));
    }

    #[test]
    fn the_shape_is_that_of_the_first_lists() {
        let row = |a, b| List(vec![Int(a), Int(b)]);
        let (shape, numbers) = read(&List(vec![row(1, 2), row(3, 4), row(5, 6)])).expect("numbers");
        assert_eq!(shape, [3, 2]);
        assert_eq!(numbers, NumberList::Ints(vec![1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn what_is_no_list_of_numbers_of_one_shape_is_left_to_others() {
        let deep = (0..=MAX_NDIM).fold(Int(1), |item, _| List(vec![item]));
        for list in [
            Int(1),
            List(vec![]),
            List(vec![List(vec![])]),
            List(vec![Text]),
            List(vec![Int(1), Text]),
            List(vec![List(vec![Int(1)]), Int(2)]),
            List(vec![Int(1), List(vec![Int(2)])]),
            List(vec![List(vec![Int(1), Int(2)]), List(vec![Int(3)])]),
            List(vec![List(vec![Int(1)]), List(vec![Int(2), Int(3)])]),
            deep,
        ] {
            assert_eq!(read(&list), None, "{list:?}");
        }
    }
}
