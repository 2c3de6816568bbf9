//! Sequences of numbers, arrays and sequences in another language or format, to any depth

use usm_memory::usm_core::{Queue, UsmKind};

use super::{append, name_of};
use crate::array::{UsmArray, coerced_kind};
use crate::create::CreateOptions;
use crate::dtype::{Casting, Dtype, PromotionOperand, default_dtypes};
use crate::error::{CreateError, Error, ManipulateError};
use crate::layout::{Layout, MAX_NDIM, Order};
use crate::scalar::Scalar;

/// What an item of a sequence is.
#[derive(Debug)]
pub enum NestedItem<E> {
    /// A sequence of items.
    Sequence,
    /// One number.
    Number(Scalar),
    /// The elements of an array in USM.
    Array(Box<UsmArray>),
    /// Elements in memory of the host.
    Host(E),
}

/// Elements in memory of the host that one item of a sequence stands for, such as an array of another library.
pub trait HostElements {
    /// Their type
    fn dtype(&self) -> Dtype;

    /// Their shape
    fn shape(&self) -> &[usize];

    /// Copies them to an array of their shape, cast to its dtype.
    ///
    /// # Errors
    /// Whatever keeps the copy from being made.
    fn copy_to(&self, target: &UsmArray) -> Result<(), Error>;
}

/// Sequences of items of any types, as another language or a format such as JSON has them: `I` is an item or a sequence of items.
///
/// ```
/// use usm_array::usm_core::{Runtime, UsmKind};
/// use usm_array::{CreateOptions, Error, NestedItem, NoHostElements, ReadNested, Result, Scalar, UsmArray};
///
/// enum Value {
///     Number(f64),
///     List(Vec<Value>),
/// }
///
/// struct Values;
///
/// impl<'a> ReadNested<&'a Value> for Values {
///     type Elements = NoHostElements;
///     type Error = Error;
///
///     fn read(&self, item: &&'a Value, _: &[usize]) -> Result<NestedItem<NoHostElements>> {
///         Ok(match item {
///             Value::Number(number) => NestedItem::Number(Scalar::Float(*number)),
///             Value::List(_) => NestedItem::Sequence,
///         })
///     }
///
///     fn items(&self, item: &&'a Value) -> Result<Vec<&'a Value>> {
///         Ok(match item {
///             Value::Number(_) => Vec::new(),
///             Value::List(items) => items.iter().collect(),
///         })
///     }
/// }
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let row = |a, b| Value::List(vec![Value::Number(a), Value::Number(b)]);
/// let list = Value::List(vec![row(1.0, 2.0), row(3.0, 4.0)]);
/// let array = CreateOptions::new(&queue, UsmKind::Device).nested(&Values, &&list)?;
/// assert_eq!(array.shape(), [2, 2]);
/// assert_eq!(array.to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
///
/// let ragged = Value::List(vec![row(1.0, 2.0), Value::Number(3.0)]);
/// let error = CreateOptions::new(&queue, UsmKind::Device).nested(&Values, &&ragged).unwrap_err();
/// assert_eq!(error.to_string(), "nested[1]: found shape [], allowed is [2] as of the first item");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ReadNested<I> {
    /// Elements in memory of the host; [`NoHostElements`] where there are none
    type Elements: HostElements;
    /// What a refused or interrupted read gives
    type Error: From<Error>;

    /// What an item is. `index` is where it is in the outermost sequence, an integer for each depth.
    ///
    /// # Errors
    /// A refusal of the item.
    fn read(&self, item: &I, index: &[usize]) -> Result<NestedItem<Self::Elements>, Self::Error>;

    /// All items of a [`NestedItem::Sequence`].
    ///
    /// # Errors
    /// Whatever keeps the items from being read.
    fn items(&self, sequence: &I) -> Result<Vec<I>, Self::Error>;

    /// Called for each item with the count of elements before it, so that a long read can be broken off.
    ///
    /// # Errors
    /// Whatever ends the read.
    fn check(&self, item: &I, count: usize) -> Result<(), Self::Error> {
        let _ = (item, count);
        Ok(())
    }

    /// The outermost sequence in errors.
    fn name(&self) -> &str {
        "nested"
    }
}

/// The elements of sequences that have none in memory of the host but numbers: there is no value of this type.
#[derive(Clone, Copy, Debug)]
pub enum NoHostElements {}

impl HostElements for NoHostElements {
    fn dtype(&self) -> Dtype {
        match *self {}
    }

    fn shape(&self) -> &[usize] {
        match *self {}
    }

    fn copy_to(&self, _: &UsmArray) -> Result<(), Error> {
        match *self {}
    }
}

/// All elements of nested sequences in row-major order, each with its place, counted in elements.
#[derive(Debug)]
pub struct NestedElements<E> {
    shape: Vec<usize>,
    len: usize,
    numbers: Vec<Scalar>,
    number_places: Vec<usize>,
    host: Vec<(usize, E)>,
    arrays: Vec<(usize, Box<UsmArray>)>,
    /// Name of the first array
    first_array: String,
    /// What is wrong with the first array whose queue does not compute with that of the first one
    misplaced: Option<ManipulateError>,
}

impl<E: HostElements> NestedElements<E> {
    /// Reads a sequence. The items of each sequence must have one shape.
    ///
    /// # Errors
    /// - [`CreateError::ItemShape`]: an item of another shape than the first one
    /// - [`CreateError::TooDeep`]: more than [`MAX_NDIM`] sequences in each other
    /// - [`CreateError::TooManyItems`]: no memory of the host for the elements
    /// - the errors of the reader
    pub fn read<I, R>(reader: &R, sequence: &I) -> Result<Self, R::Error>
    where
        R: ReadNested<I, Elements = E>,
    {
        let mut elements = Self {
            shape: Vec::new(),
            len: 0,
            numbers: Vec::new(),
            number_places: Vec::new(),
            host: Vec::new(),
            arrays: Vec::new(),
            first_array: String::new(),
            misplaced: None,
        };
        elements.shape = elements.collect(reader, sequence, &mut Vec::new())?;
        Ok(elements)
    }

    /// Adds the items of a sequence, and tells its shape. `index` is where it is in the outermost one.
    fn collect<I, R>(
        &mut self,
        reader: &R,
        sequence: &I,
        index: &mut Vec<usize>,
    ) -> Result<Vec<usize>, R::Error>
    where
        R: ReadNested<I, Elements = E>,
    {
        if index.len() >= MAX_NDIM {
            return Err(Error::from(CreateError::TooDeep { name: reader.name().to_owned() }).into());
        }
        let items = reader.items(sequence)?;
        let mut first: Option<Vec<usize>> = None;
        for (i, item) in items.iter().enumerate() {
            reader.check(item, self.len)?;
            index.push(i);
            let found = match reader.read(item, index)? {
                NestedItem::Sequence => self.collect(reader, item, index)?,
                item => self.add(reader.name(), item, index)?,
            };
            match &first {
                None => first = Some(found),
                Some(expected) if *expected != found => {
                    let (name, expected) = (name_of(reader.name(), index), expected.clone());
                    return Err(Error::from(CreateError::ItemShape { name, found, expected }).into());
                }
                Some(_) => {}
            }
            index.pop();
        }
        let mut shape = vec![items.len()];
        shape.extend(first.into_iter().flatten());
        Ok(shape)
    }

    /// Adds what is no sequence, and tells its shape.
    fn add(&mut self, name: &str, item: NestedItem<E>, index: &[usize]) -> Result<Vec<usize>, Error> {
        let shape = match item {
            NestedItem::Number(number) => {
                append(name, &mut self.numbers, number)?;
                append(name, &mut self.number_places, self.len)?;
                Vec::new()
            }
            NestedItem::Host(elements) => {
                let shape = elements.shape().to_vec();
                append(name, &mut self.host, (self.len, elements))?;
                shape
            }
            NestedItem::Array(array) => {
                let shape = array.shape().to_vec();
                self.check_queue(name, &array, index);
                append(name, &mut self.arrays, (self.len, array))?;
                shape
            }
            NestedItem::Sequence => Vec::new(), // `collect` adds its items
        };
        self.len += shape.iter().product::<usize>();
        Ok(shape)
    }

    fn check_queue(&mut self, name: &str, array: &UsmArray, index: &[usize]) {
        match self.arrays.first() {
            None => self.first_array = name_of(name, index),
            Some((_, first)) if self.misplaced.is_none() && !array.queue().computes_with(first.queue()) => {
                let first = (&*self.first_array, first.queue());
                let found = name_of(name, index);
                self.misplaced = Some(ManipulateError::queues_differ((&found, array.queue()), first));
            }
            Some(_) => {}
        }
    }

    /// Number of indices along each axis, one for each depth.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The queue of the arrays among the items; `None` without arrays.
    ///
    /// # Errors
    /// - [`ManipulateError::QueuesDiffer`]: their queues do not compute together
    pub fn queue(&self) -> Result<Option<&Queue>, Error> {
        match &self.misplaced {
            Some(error) => Err(error.clone().into()),
            None => Ok(self.arrays.first().map(|(_, array)| array.queue())),
        }
    }

    /// The kind of memory that follows from the arrays among the items; `None` without arrays.
    #[must_use]
    pub fn kind(&self) -> Option<UsmKind> {
        coerced_kind(self.arrays.iter().map(|(_, array)| array.kind()))
    }

    /// The dtype that holds all elements, on the device of a queue.
    #[must_use]
    pub fn dtype(&self, queue: &Queue) -> Dtype {
        let of_numbers = CreateOptions::new(queue, UsmKind::Host).dtype_of(&self.numbers);
        let mut dtypes: Vec<Dtype> = self.host.iter().map(|(_, elements)| elements.dtype()).collect();
        dtypes.extend(self.arrays.iter().map(|(_, array)| array.dtype()));
        if !self.numbers.is_empty() || dtypes.is_empty() {
            dtypes.push(of_numbers);
        }
        match dtypes.iter().all(|dtype| *dtype == dtypes[0]) {
            true => dtypes[0],
            false => {
                let operands: Vec<PromotionOperand> = dtypes.iter().map(|&dtype| dtype.into()).collect();
                default_dtypes(queue.device()).result_type(&operands).unwrap_or(of_numbers)
            }
        }
    }

    /// The numbers, if there is nothing else.
    #[must_use]
    pub fn numbers(&self) -> Option<&[Scalar]> {
        (self.host.is_empty() && self.arrays.is_empty()).then_some(&self.numbers[..])
    }

    /// A new row-major array of all elements. Many small pieces go to their places in host memory first, arrays by the queue where they are:
    /// with arrays among the items the result is where `new` says, with others than numbers in host memory on the queue `host`.
    ///
    /// # Errors
    /// - [`Error::Number`] with the place of a number that the dtype does not hold, and the reason
    /// - the errors of [`CreateOptions::numbers`], [`UsmArray::assign_cast`] and [`HostElements::copy_to`]
    pub fn to_array(&self, new: &CreateOptions<'_>, host: &Queue) -> Result<UsmArray, Error> {
        let dtype = new.dtype.unwrap_or_else(|| self.dtype(new.queue()));
        let new = match (self.numbers(), self.arrays.is_empty()) {
            (Some(numbers), _) => return new.dtype(dtype).numbers(&self.shape, numbers),
            (None, true) => CreateOptions::new(host, UsmKind::Host),
            (None, false) => *new,
        }
        .dtype(dtype);
        let array = new.empty(&self.shape)?;
        let part = |place: usize, shape: &[usize]| {
            let layout = Layout::new(shape, None, place.cast_signed(), Order::C)?;
            UsmArray::from_parts(array.buffer().clone(), dtype, layout, 0)
        };
        for (place, elements) in &self.host {
            elements.copy_to(&part(*place, elements.shape())?)?;
        }
        for (place, source) in &self.arrays {
            part(*place, source.shape())?.assign_cast(source, Casting::Unsafe)?;
        }
        for (&place, &number) in self.number_places.iter().zip(&self.numbers) {
            let number = new.numbers(&[], &[number]).map_err(|error| match error {
                Error::Number { source, .. } => Error::Number { index: place, source },
                error => error,
            })?;
            part(place, &[])?.assign(&number)?;
        }
        Ok(array)
    }
}

impl CreateOptions<'_> {
    /// An array of the elements of nested sequences, by default of the dtype that holds all of them: see [`ReadNested`].
    ///
    /// # Errors
    /// The errors of [`NestedElements::read`], [`NestedElements::to_array`] and [`UsmArray::copy_to`].
    pub fn nested<I, R: ReadNested<I>>(&self, reader: &R, sequence: &I) -> Result<UsmArray, R::Error> {
        let elements = NestedElements::read(reader, sequence)?;
        let array = elements.to_array(self, self.queue())?;
        if array.kind() == self.kind() {
            return Ok(array);
        }
        Ok(array.copy_to(self.queue(), self.kind())?)
    }
}
