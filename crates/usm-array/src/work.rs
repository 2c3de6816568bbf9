//! How long an operation keeps the thread that calls it: an estimate, made before the operation begins
//!
//! A program that holds something while it calls this library, such as a lock or the interpreter of another language, asks for the
//! [`Cost`] first. Who does the work decides it: the calling thread, a queue that it waits for, or a queue that nobody waits for.

use usm_memory::UsmBuffer;
use usm_memory::usm_core::{Queue, UsmKind};

use crate::array::{ArrayOrScalar, UsmArray};
use crate::copy::{Conversion, CopyMode};
use crate::create::{CreateOptions, HostElements, LikeOptions, NestedElements, Numbers};
use crate::dlpack::{Consumer, DlpackExport};
use crate::dtype::Dtype;
use crate::index::IndexItem;
use crate::layout::SliceItem;
use crate::manipulate::Repeats;
use crate::scalar::Scalar;

/// How long an operation keeps the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cost {
    /// Less than a microsecond, unless the memory is in use: less than it takes to give up a contended lock and to take it again.
    Negligible,
    /// Some milliseconds at most, or unknown: the thread may wait for a lock, for memory or for a queue.
    Short,
    /// Long enough that a user wants to break it off.
    Long,
}

/// The work of one operation: how many elements and bytes, and who goes through them.
///
/// ```
/// use usm_array::usm_core::{Runtime, UsmKind};
/// use usm_array::{Conversion, Cost, CopyMode, Dtype, UsmArray, Work};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::zeros(&queue, UsmKind::Shared, &[16], Dtype::F32)?;
/// let copy = Conversion { copy: CopyMode::Always, ..Conversion::default() };
/// assert_eq!(Work::of_conversion(&array, &copy).cost(), Cost::Negligible);
/// assert_eq!(Work::through(1 << 30).cost(), Cost::Long);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Elements of one pass; 0 where they are all side by side
    len: usize,
    len_bytes: usize,
    /// Whether the work is one pass of the calling thread, which reaches all memory.
    is_one_pass: bool,
}

/// Bytes of one pass up to which giving up a lock takes longer than the pass.
const NEGLIGIBLE_BYTES: usize = 4 << 10;

/// Elements and bytes up to which one pass is short. The worst order of elements of one byte takes 4 ns for each.
const SHORT_PASS_LEN: usize = 16 << 20;
const SHORT_PASS_BYTES: usize = 64 << 20;

/// Bytes of text that an element of a printed array stands for: to write one takes as long as to copy so many.
const TEXT_BYTES: usize = 256;

impl Work {
    /// Bytes from which on work is long, unless it is one pass of the calling thread: some milliseconds, and of the slowest kinds some
    /// dozens. To start a thread takes as long as to copy 4 MiB.
    pub const LONG_BYTES: usize = 16 << 20;

    /// How long the work keeps the calling thread.
    #[must_use]
    pub const fn cost(self) -> Cost {
        if self.is_one_pass && self.len <= SHORT_PASS_LEN && self.len_bytes <= SHORT_PASS_BYTES {
            return if self.len_bytes <= NEGLIGIBLE_BYTES { Cost::Negligible } else { Cost::Short };
        }
        if self.len_bytes >= Self::LONG_BYTES { Cost::Long } else { Cost::Short }
    }

    /// Work through so many bytes, once or several times, by this thread or by a queue that it waits for. Never negligible.
    #[must_use]
    pub const fn through(len_bytes: usize) -> Self {
        Self { len: 0, len_bytes, is_one_pass: false }
    }

    /// Work that a queue does while nobody waits.
    const SUBMITTED: Self = Self::through(0);

    /// One pass over elements: by this thread if it reaches all memory.
    const fn pass(len: usize, len_bytes: usize, is_host_reachable: bool) -> Self {
        Self { len, len_bytes, is_one_pass: is_host_reachable }
    }

    /// The work, done so many times.
    #[must_use]
    const fn times(self, times: usize) -> Self {
        Self {
            len: self.len.saturating_mul(times),
            len_bytes: self.len_bytes.saturating_mul(times),
            is_one_pass: self.is_one_pass,
        }
    }

    /// A copy or fill of so many bytes side by side, in these buffers and in memory of the host.
    #[must_use]
    pub fn of_bytes(len_bytes: usize, buffers: &[&UsmBuffer]) -> Self {
        Self::pass(0, len_bytes, buffers.iter().all(|buffer| buffer.is_host_reachable()))
    }

    /// A copy of all elements from or to memory of the host.
    #[must_use]
    pub fn of_elements(array: &UsmArray) -> Self {
        Self::pass(array.size(), array.size_bytes(), array.is_host_reachable())
    }

    /// A look at one element.
    #[must_use]
    pub fn of_element(array: &UsmArray) -> Self {
        Self::pass(1, array.itemsize_bytes(), array.is_host_reachable())
    }

    /// An allocation. Where only devices reach the memory, a pool may have to wait for them.
    #[must_use]
    pub fn of_allocation(queue: &Queue, kind: UsmKind) -> Self {
        Self::pass(0, 0, queue.device().host_reachable(kind))
    }

    /// [`UsmArray::converted`].
    #[must_use]
    pub fn of_conversion(array: &UsmArray, wanted: &Conversion<'_>) -> Self {
        if array.is_as(wanted) {
            return Self::pass(0, 0, true);
        }
        let queue = wanted.queue_for(array);
        let device = queue.unwrap_or(array.queue()).device();
        let (from_host, kind) = (array.is_host_reachable(), wanted.kind);
        let to_host = match (kind, queue) {
            (None, None) => from_host,
            _ => device.host_reachable(kind.unwrap_or(array.kind())),
        };
        let is_in_context = queue.is_none_or(|queue| queue.context() == array.context());
        if wanted.copy == CopyMode::Never {
            return Self::pass(0, 0, from_host && to_host);
        }
        if !from_host && !to_host && is_in_context {
            return Self::SUBMITTED;
        }
        Self::pass(array.size(), array.size_bytes(), from_host && to_host)
    }

    /// [`UsmArray::copy`], in any order of the axes.
    #[must_use]
    pub fn of_copy(array: &UsmArray) -> Self {
        Self::of_conversion(array, &Conversion { copy: CopyMode::Always, ..Conversion::default() })
    }

    /// [`UsmArray::imag_or_zeros`]: a view of complex numbers, or zeros.
    #[must_use]
    pub fn of_imag(array: &UsmArray) -> Self {
        if array.dtype().kind() == 'c' { Self::pass(0, 0, true) } else { Self::of_copy(array) }
    }

    /// [`UsmArray::conj`], which no kernel computes.
    #[must_use]
    pub fn of_conj(array: &UsmArray) -> Self {
        if array.dtype().kind() == 'c' { Self::through(array.size_bytes()) } else { Self::of_copy(array) }
    }

    /// [`UsmArray::to_queue`].
    #[must_use]
    pub fn of_move(array: &UsmArray, queue: &Queue) -> Self {
        match queue.context() == array.context() {
            true => Self::pass(0, 0, true),
            false => Self::through(array.size_bytes()),
        }
    }

    /// [`UsmArray::to_dlpack`]. Only a copy takes long.
    #[must_use]
    pub fn of_dlpack(array: &UsmArray, options: &DlpackExport<'_>) -> Self {
        let is_copied =
            options.copy == CopyMode::Always || options.device.is_some() && !array.is_host_accessible();
        match options.consumer {
            _ if is_copied => Self::of_elements(array),
            Consumer::Anywhere => Self::pass(0, 0, array.is_host_reachable()),
            Consumer::Stream(_) | Consumer::Unordered => Self::SUBMITTED,
        }
    }

    /// [`UsmArray::assign_cast`] or [`UsmArray::fill_scalar`].
    #[must_use]
    pub fn of_assignment<'a>(target: &UsmArray, source: impl Into<ArrayOrScalar<'a>>) -> Self {
        let to_host = target.is_host_reachable();
        let from_host = match source.into() {
            ArrayOrScalar::Array(source) => source.is_host_reachable(),
            ArrayOrScalar::Scalar(_) => to_host,
        };
        if !from_host && !to_host {
            return Self::SUBMITTED;
        }
        Self::pass(target.size(), target.size_bytes(), from_host && to_host)
    }

    /// A function of arrays that computes for each element: as much as the largest array. Kernels keep nobody waiting: what they answer
    /// is waited for under guards.
    #[must_use]
    pub fn of_operands<'a>(arrays: impl IntoIterator<Item = &'a UsmArray>) -> Self {
        Self::through(arrays.into_iter().map(bytes_here).max().unwrap_or(0))
    }

    /// Copies of all elements of some arrays, such as [`UsmArray::concat`]. Queues do it unseen where host code reaches none.
    #[must_use]
    pub fn of_copies<'a>(arrays: impl IntoIterator<Item = &'a UsmArray>) -> Self {
        let (mut is_submitted, mut len_bytes) = (true, 0_usize);
        for array in arrays {
            is_submitted &= !array.is_host_reachable();
            len_bytes = len_bytes.saturating_add(bytes_here(array));
        }
        if is_submitted { Self::SUBMITTED } else { Self::through(len_bytes) }
    }

    /// [`UsmArray::get_index`] or [`UsmArray::set_index`].
    #[must_use]
    pub fn of_index<'a>(array: &UsmArray, indices: impl Iterator<Item = IndexItem<'a>> + Clone) -> Self {
        let of_indices = indices.clone().map(|index| match index {
            IndexItem::Array(array) => bytes_here(array),
            _ => 0,
        });
        let most = Self::through(of_indices.fold(bytes_here(array), usize::max));
        if most.cost() != Cost::Long {
            return most; // not worth a closer look
        }
        let basic: Option<Vec<SliceItem>> = indices
            .map(|index| match index {
                IndexItem::Basic(item) => Some(item),
                _ => None,
            })
            .collect();
        let view = basic.and_then(|basic| array.slice(&basic).ok());
        view.map_or(most, |view| Self::through(view.size_bytes()))
    }

    /// [`UsmArray::repeat`].
    #[must_use]
    pub fn of_repeat(array: &UsmArray, repeats: Repeats<'_>) -> Self {
        Self::through(array.size_bytes()).times(match repeats {
            Repeats::Each(times) => times,
            Repeats::Counts(counts) => counts.iter().copied().max().unwrap_or(0),
            Repeats::Array(_) => 1, // nobody looks at counts on a device beforehand
        })
    }

    /// [`UsmArray::tile`].
    #[must_use]
    pub fn of_tile(array: &UsmArray, repetitions: &[usize]) -> Self {
        Self::of_copies([array]).times(Self::len_of(repetitions))
    }

    /// [`UsmArray::meshgrid`].
    #[must_use]
    pub fn of_meshgrid(arrays: &[UsmArray]) -> Self {
        let points = arrays.iter().fold(1, |points: usize, array| points.saturating_mul(array.size()));
        Self::through(points.saturating_mul(arrays.len() * size_of::<f64>()))
    }

    /// An array as text with all of its elements.
    #[must_use]
    pub fn of_text(array: &UsmArray) -> Self {
        Self::through(array.size()).times(TEXT_BYTES)
    }

    /// A new array of so many elements of one value. A queue fills what only devices reach.
    #[must_use]
    pub fn of_fill(new: &CreateOptions<'_>, len: usize) -> Self {
        if new.is_host_reachable() { Self::of_new(new, len) } else { Self::SUBMITTED }
    }

    /// [`CreateOptions::full`] with so many elements.
    #[must_use]
    pub fn of_full<'v>(new: &CreateOptions<'_>, len: usize, value: impl Into<ArrayOrScalar<'v>>) -> Self {
        let Some(values) = value.into().array() else { return Self::of_fill(new, len) };
        match (new.is_host_reachable(), values.is_host_reachable()) {
            (false, false) => Self::SUBMITTED,
            (to_host, from_host) => {
                let itemsize_bytes = new.dtype.unwrap_or(values.dtype()).itemsize_bytes();
                Self::pass(len, len.saturating_mul(itemsize_bytes), to_host && from_host)
            }
        }
    }

    /// A new array of so many elements, which the function computes.
    #[must_use]
    pub fn of_new(new: &CreateOptions<'_>, len: usize) -> Self {
        let itemsize_bytes = new.dtype.map_or(size_of::<f64>(), Dtype::itemsize_bytes);
        Self::pass(len, len.saturating_mul(itemsize_bytes), new.is_host_reachable())
    }

    /// [`CreateOptions::arange`]. Numbers that give no array, which the function refuses, count as none.
    #[must_use]
    pub fn of_arange(new: &CreateOptions<'_>, start: Scalar, stop: Scalar, step: Scalar) -> Self {
        let [start, stop, step] = [start, stop, step].map(|number| number.to_complex().re);
        let len = (stop - start) / step; // NaN and less than 0 become 0
        Self::of_new(new, len as usize)
    }

    /// [`CreateOptions::numbers`].
    #[must_use]
    pub fn of_numbers<'n>(new: &CreateOptions<'_>, numbers: impl Into<Numbers<'n>>) -> Self {
        let (len, len_bytes) = match numbers.into() {
            Numbers::Any(numbers) => (numbers.len(), size_of_val(numbers)),
            Numbers::Bools(numbers) => (numbers.len(), size_of_val(numbers)),
            Numbers::Ints(numbers) => (numbers.len(), size_of_val(numbers)),
            Numbers::Floats(numbers) => (numbers.len(), size_of_val(numbers)),
        };
        Self::pass(len, len_bytes, new.is_host_reachable())
    }

    /// [`NestedElements::to_array`].
    #[must_use]
    pub fn of_nested<E: HostElements>(new: &CreateOptions<'_>, elements: &NestedElements<E>) -> Self {
        match elements.numbers() {
            Some(numbers) => Self::of_numbers(new, numbers),
            None => Self::of_shape(elements.shape(), new.dtype),
        }
    }

    /// A new array after a model, such as [`UsmArray::zeros_like`].
    #[must_use]
    pub fn of_like(model: &UsmArray, options: &LikeOptions<'_>) -> Self {
        let shape = options.shape.unwrap_or(model.shape());
        Self::of_shape(shape, Some(options.dtype.unwrap_or(model.dtype())))
    }

    fn of_shape(shape: &[usize], dtype: Option<Dtype>) -> Self {
        let itemsize_bytes = dtype.map_or(size_of::<f64>(), Dtype::itemsize_bytes);
        Self::through(Self::len_of(shape).saturating_mul(itemsize_bytes))
    }

    /// How many elements an array of a shape has, for an estimate: a shape that fits no memory is refused later.
    #[must_use]
    pub fn len_of(shape: &[usize]) -> usize {
        shape.iter().fold(1, |len, &size| len.saturating_mul(size))
    }
}

/// The bytes of the elements that the calling thread goes through, itself or by staging: none where kernels do.
fn bytes_here(array: &UsmArray) -> usize {
    if array.is_for_kernels() { 0 } else { array.size_bytes() }
}

#[cfg(test)]
mod tests {
    use usm_memory::usm_core::Runtime;

    use super::*;

    /// The queue of the host backend: host code reaches its host and shared memory, and not its device memory.
    fn queue() -> Queue {
        let runtime = Runtime::global();
        runtime.default_queue(runtime.host_device()).expect("a queue of the host backend")
    }

    fn bytes(kind: UsmKind, len: usize) -> UsmArray {
        UsmArray::empty(&queue(), kind, &[len], Dtype::U8).expect("memory")
    }

    fn always() -> Conversion<'static> {
        Conversion { copy: CopyMode::Always, ..Conversion::default() }
    }

    #[test]
    fn one_pass_of_this_thread_is_negligible_short_and_long_by_its_bytes_and_elements() {
        let cost = |len, len_bytes| Work::pass(len, len_bytes, true).cost();
        assert_eq!(cost(4096, 4096), Cost::Negligible);
        assert_eq!(cost(4097, 4097), Cost::Short);
        assert_eq!(cost(16 << 20, 64 << 20), Cost::Short);
        assert_eq!(cost((16 << 20) + 1, 64 << 20), Cost::Long);
        assert_eq!(cost(0, (64 << 20) + 1), Cost::Long);
    }

    #[test]
    fn work_that_may_wait_is_never_negligible() {
        assert_eq!(Work::through(0).cost(), Cost::Short);
        assert_eq!(Work::through(Work::LONG_BYTES - 1).cost(), Cost::Short);
        assert_eq!(Work::through(Work::LONG_BYTES).cost(), Cost::Long);
        assert_eq!(Work::pass(1, 1, false).cost(), Cost::Short);
    }

    #[test]
    fn an_export_is_long_for_its_copy_only() {
        let export = |array, copy, consumer| {
            Work::of_dlpack(array, &DlpackExport { copy, consumer, ..DlpackExport::default() }).cost()
        };
        let (near, far) = (bytes(UsmKind::Shared, 16 << 20), bytes(UsmKind::Device, 16 << 20));
        assert_eq!(export(&near, CopyMode::IfNeeded, Consumer::Anywhere), Cost::Negligible);
        assert_eq!(
            export(&far, CopyMode::IfNeeded, Consumer::Anywhere),
            Cost::Short,
            "work may be under way"
        );
        assert_eq!(export(&near, CopyMode::IfNeeded, Consumer::Unordered), Cost::Short);
        assert_eq!(export(&far, CopyMode::Always, Consumer::Anywhere), Cost::Long);
    }

    #[test]
    fn nobody_waits_for_copies_between_memory_that_only_devices_reach() {
        let (near, far) = (bytes(UsmKind::Shared, 16 << 20), bytes(UsmKind::Device, 16 << 20));
        let conversion = |array, kind| Work::of_conversion(array, &Conversion { kind, ..always() }).cost();
        assert_eq!(conversion(&far, None), Cost::Short);
        assert_eq!(conversion(&far, Some(UsmKind::Shared)), Cost::Long);
        assert_eq!(conversion(&near, Some(UsmKind::Device)), Cost::Long);
        assert_eq!(conversion(&near, Some(UsmKind::Host)), Cost::Short);
        assert_eq!(Work::of_assignment(&far, &far).cost(), Cost::Short);
        assert_eq!(Work::of_assignment(&far, Scalar::Int(1)).cost(), Cost::Short);
        assert_eq!(Work::of_assignment(&far, &near).cost(), Cost::Long);
        assert_eq!(Work::of_assignment(&near, &far).cost(), Cost::Long);
        assert_eq!(Work::of_copies([&far, &far]).cost(), Cost::Short);
        assert_eq!(Work::of_copies([&far, &near]).cost(), Cost::Long);
    }

    #[test]
    fn another_context_is_no_queue_that_orders_the_work() {
        let far = bytes(UsmKind::Device, 16 << 20);
        let context = usm_memory::usm_core::Context::new(&[far.device().clone()]).expect("a context");
        let other = Runtime::global().queue_in(&context, far.device()).expect("a queue");
        let there = Conversion { queue: Some(&other), ..always() };
        assert_eq!(Work::of_conversion(&far, &there).cost(), Cost::Long);
        assert_eq!(Work::of_move(&far, &other).cost(), Cost::Long);
        assert_eq!(Work::of_move(&far, far.queue()).cost(), Cost::Negligible);
    }

    #[test]
    fn small_work_in_memory_that_this_thread_reaches_is_negligible() {
        let (near, far) = (bytes(UsmKind::Host, 4096), bytes(UsmKind::Device, 4096));
        for (array, expected) in [(&near, Cost::Negligible), (&far, Cost::Short)] {
            assert_eq!(Work::of_conversion(array, &always()).cost(), expected);
            assert_eq!(Work::of_assignment(array, Scalar::Int(1)).cost(), expected);
            assert_eq!(Work::of_elements(array).cost(), expected);
            assert_eq!(Work::of_element(array).cost(), expected);
            assert_eq!(Work::of_bytes(4096, &[near.buffer(), array.buffer()]).cost(), expected);
            assert_eq!(Work::of_allocation(array.queue(), array.kind()).cost(), expected);
            let new = CreateOptions::new(array.queue(), array.kind());
            assert_eq!(Work::of_fill(&new, 512).cost(), expected);
            assert_eq!(Work::of_new(&new, 512).cost(), expected);
            assert_eq!(Work::of_numbers(&new, &[1.0, 2.0]).cost(), expected);
        }
        assert_eq!(Work::of_operands([&near]).cost(), Cost::Short, "a function may allocate");
    }

    #[test]
    fn an_index_costs_its_view_only_where_nothing_else_is_large() {
        let array = bytes(UsmKind::Shared, 16 << 20);
        let first = [IndexItem::Basic(SliceItem::between(0, 16))];
        assert_eq!(Work::of_index(&array, first.into_iter()).cost(), Cost::Short);
        assert_eq!(Work::of_index(&array, [IndexItem::from(&array)].into_iter()).cost(), Cost::Long);
        assert_eq!(Work::of_index(&array, [IndexItem::FULL].into_iter()).cost(), Cost::Long);
    }

    #[test]
    fn a_range_costs_its_length() {
        let queue = queue();
        let new = CreateOptions::new(&queue, UsmKind::Shared);
        let arange = |stop, step| Work::of_arange(&new, Scalar::Int(0), stop, step).cost();
        assert_eq!(arange(Scalar::Int(10), Scalar::Int(1)), Cost::Negligible);
        assert_eq!(arange(Scalar::Int(-10), Scalar::Int(1)), Cost::Negligible);
        assert_eq!(arange(Scalar::Float(1e9), Scalar::Bool(true)), Cost::Long);
        assert_eq!(arange(Scalar::Int(1), Scalar::Int(0)), Cost::Long);
        assert_eq!(arange(Scalar::Float(f64::NAN), Scalar::Int(1)), Cost::Negligible);
    }

    #[test]
    fn results_that_are_larger_than_their_operands_count() {
        let array = bytes(UsmKind::Shared, 1 << 20);
        assert_eq!(Work::of_repeat(&array, Repeats::Each(15)).cost(), Cost::Short);
        assert_eq!(Work::of_repeat(&array, Repeats::Each(16)).cost(), Cost::Long);
        assert_eq!(Work::of_repeat(&array, Repeats::Counts(&[1, 16])).cost(), Cost::Long);
        assert_eq!(Work::of_tile(&array, &[4, 4]).cost(), Cost::Long);
        assert_eq!(Work::of_meshgrid(&[array.clone(), array.clone()]).cost(), Cost::Long);
        assert_eq!(Work::of_text(&array).cost(), Cost::Long);
        let wide = LikeOptions { dtype: Some(Dtype::C128), ..LikeOptions::default() };
        assert_eq!(Work::of_like(&array, &LikeOptions::default()).cost(), Cost::Short);
        assert_eq!(Work::of_like(&array, &wide).cost(), Cost::Long);
        assert_eq!(Work::len_of(&[usize::MAX, 2]), usize::MAX);
    }
}
