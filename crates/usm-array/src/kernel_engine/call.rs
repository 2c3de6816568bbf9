//! One kernel over arrays: its arguments one after the other, then its launch

use usm_memory::usm_core::{Aspects, Event, Kernel, KernelArgument, Queue, UsmKind};
use usm_memory::{Operand, submit, submit_async};

use super::cache::{Kernels, kernel_if_any};
use super::launch::Launch;
use super::loops::Loops;
use super::modules::Module;
use crate::array::UsmArray;
use crate::dtype::{Class, Dtype};
use crate::error::Result;
use crate::layout::Axes;

/// Work-items of a group.
const GROUP_ITEMS: usize = 256;

/// Elements of each work-item.
const ITEM_ELEMENTS: usize = 4;

/// Arguments for which a call has memory from the beginning: two nests of loops, and some more.
const ARGUMENTS: usize = 64;

/// A kernel and the arguments that it has so far. In a box, since each argument moves it on.
#[derive(Debug)]
pub(crate) struct KernelCall<'a> {
    queue: &'a Queue,
    kernel: Kernel,
    operands: Vec<Operand<'a>>,
    /// Of each operand its argument, and how many bytes behind the first one of the operand that points to.
    places: Axes<(usize, isize)>,
    /// Whether host code reaches one of the operands that are no answers.
    is_reached: bool,
    arguments: Vec<KernelArgument>,
    groups: usize,
    /// A power of two.
    group_items: usize,
}

impl<'a> KernelCall<'a> {
    /// A kernel of a module without arguments; `None` where it cannot be built.
    ///
    /// # Errors
    /// Those of [`usm_memory::run_job`].
    pub(crate) fn new(
        queue: &'a Queue,
        module: &'static Module,
        name: &'static str,
    ) -> Result<Option<Box<Self>>> {
        let kernel = Kernels::global().kernel(queue, module, name);
        let Some(kernel) = kernel_if_any(kernel)? else { return Ok(None) };
        let call = Box::new(Self {
            queue,
            kernel,
            operands: Vec::with_capacity(4),
            places: Axes::new(),
            is_reached: false,
            arguments: Vec::with_capacity(ARGUMENTS),
            groups: 1,
            group_items: 1,
        });
        Ok(Some(call.up_to_items(GROUP_ITEMS)))
    }

    /// Lets groups have as many work-items as the kernel can have, up to so many.
    pub(crate) fn up_to_items(mut self: Box<Self>, most: usize) -> Box<Self> {
        self.group_items = 1 << self.kernel.info().work_group_size.clamp(1, most).ilog2();
        self
    }

    /// Work-items of a group.
    pub(crate) const fn group_items(&self) -> usize {
        self.group_items
    }

    /// A pointer to the element of an array with index zero; the kernel reads elements of it.
    pub(crate) fn read(mut self: Box<Self>, array: &'a UsmArray) -> Box<Self> {
        self.operand(array, 0, false);
        self
    }

    /// As [`read`](Self::read), with a pointer to the element that lies so many behind that one.
    pub(crate) fn read_at(mut self: Box<Self>, array: &'a UsmArray, displacement: isize) -> Box<Self> {
        self.operand(array, displacement, false);
        self
    }

    /// A pointer to the element of an array with index zero; the kernel writes, and may read, elements of it.
    pub(crate) fn write(mut self: Box<Self>, array: &'a UsmArray) -> Box<Self> {
        self.operand(array, 0, true);
        self
    }

    /// As [`write`](Self::write), with a pointer to the element that lies so many behind that one.
    pub(crate) fn write_at(mut self: Box<Self>, array: &'a UsmArray, displacement: isize) -> Box<Self> {
        self.operand(array, displacement, true);
        self
    }

    /// A pointer to the first number of an answer, which the kernel writes, and which is waited for by [`Answer::wait`] alone.
    pub(crate) fn tell(mut self: Box<Self>, answer: &'a Answer) -> Box<Self> {
        let is_reached = self.is_reached;
        self.operand(&answer.0, 0, true);
        self.is_reached = is_reached;
        self
    }

    /// As [`read`](Self::read), or a pointer that the kernel does not follow.
    pub(crate) fn read_if(self: Box<Self>, array: Option<&'a UsmArray>) -> Box<Self> {
        match array {
            Some(array) => self.read(array),
            None => self.nothing(),
        }
    }

    /// As [`tell`](Self::tell), or a pointer that the kernel does not follow.
    pub(crate) fn tell_if(self: Box<Self>, answer: Option<&'a Answer>) -> Box<Self> {
        match answer {
            Some(answer) => self.tell(answer),
            None => self.nothing(),
        }
    }

    /// A pointer that the kernel does not follow.
    pub(crate) fn nothing(self: Box<Self>) -> Box<Self> {
        self.number(KernelArgument::pointer(0))
    }

    fn operand(&mut self, array: &'a UsmArray, displacement: isize, writes: bool) {
        self.is_reached |= array.is_host_reachable();
        let range = array.byte_range();
        let first = (array.first_byte() - range.start).cast_signed();
        let skipped = first + displacement * array.itemsize_bytes().cast_signed();
        self.places.push((self.arguments.len(), skipped));
        self.arguments.push(KernelArgument::pointer(0)); // `run` sets it
        self.operands.push(Operand::new(array.buffer(), range, writes));
    }

    pub(crate) fn number(mut self: Box<Self>, number: impl Into<KernelArgument>) -> Box<Self> {
        self.arguments.push(number.into());
        self
    }

    /// How many elements there are, and how many of them are for each group.
    pub(crate) fn count(mut self: Box<Self>, elements: usize) -> Box<Self> {
        let per_group = (self.group_items * ITEM_ELEMENTS).max(elements.div_ceil(i32::MAX as usize));
        self.groups = elements.div_ceil(per_group).max(1);
        self.number(elements as u64).number(per_group as u64)
    }

    /// So many groups.
    pub(crate) fn groups(mut self: Box<Self>, groups: usize) -> Box<Self> {
        self.groups = groups;
        self
    }

    /// How many loops there are, and their numbers.
    pub(crate) fn loops(mut self: Box<Self>, loops: &Loops) -> Box<Self> {
        self = self.number(loops.rank() as u32);
        self.arguments.extend(loops.numbers());
        self
    }

    /// Submits the kernel to the queue after all other work on the arrays.
    ///
    /// # Safety
    /// 1. The arguments are those that the source of the kernel declares, in number and kind.
    /// 2. Of the arrays' memory the kernel uses with them elements alone, and writes only those of arrays that are for writing. No two
    ///    work-items use the same element unless both read it, or the kernel says how.
    /// 3. The queue reaches the arrays.
    ///
    /// # Errors
    /// Those of [`usm_memory::submit`].
    pub(crate) unsafe fn run(self) -> Result<Event> {
        let Self { queue, kernel, operands, places, is_reached, mut arguments, groups, group_items } = self;
        let launched = |pointers: &[*mut u8], dependencies: &[Event]| {
            for (pointer, (place, skipped)) in pointers.iter().zip(&places[..]) {
                arguments[*place] = pointer.wrapping_offset(*skipped).into();
            }
            let launch = Launch { kernel: &kernel, arguments: &arguments, groups, group_items };
            // SAFETY: promises 1 and 2; the operands are borrowed until the event is complete.
            unsafe { launch.submit(queue, dependencies) }
        };
        if is_reached {
            // SAFETY: 1. By promise 2 the kernel uses what the operands say. 2. Promise 3.
            return Ok(unsafe { submit(queue, &operands, launched) }?);
        }
        // SAFETY: 1. and 2. as above. 3. Of what host code reaches there are answers alone, which are new memory and read under a guard (AN1).
        Ok(unsafe { submit_async(queue, &operands, &[], launched) }?)
    }
}

impl UsmArray {
    /// Whether operations on the elements are for kernels of the array's queue: no host code goes through the elements then, and only
    /// what kernels answer is waited for.
    #[must_use]
    pub fn is_for_kernels(&self) -> bool {
        is_for_kernels(self)
    }
}

/// Whether operations on an array are for kernels of its queue: host code does not reach the memory, the queue does, elements are where
/// kernels may touch them, and the device has what all kernels need. Host tasks of a queue need no kernels.
pub(crate) fn is_for_kernels(array: &UsmArray) -> bool {
    let queue = array.queue();
    !array.is_host_reachable() && is_operand(array, queue) && queue.device().info().has(Aspects::FP64)
}

/// Whether kernels of a queue may use the elements of an array.
pub(crate) fn is_operand(array: &UsmArray, queue: &Queue) -> bool {
    let alignment = array.itemsize_bytes().min(8);
    !queue.runs_host_tasks()
        && array.buffer().is_reachable_by(queue)
        && array.address().is_multiple_of(alignment)
}

/// A dtype as kernels take it: the bytes of a part, its kind, and the number of parts. Narrow floating-point numbers are bits here:
/// operations that compute with them cast them to `float32` first.
pub(crate) fn code(dtype: Dtype) -> u32 {
    let (kind, parts) = match dtype.class() {
        Class::Signed => (0, 1),
        Class::Bool | Class::Unsigned | Class::Narrow => (1, 1),
        Class::Real => (2, 1),
        Class::Complex => (2, 2),
    };
    (dtype.itemsize_bytes() as u32 / parts) | (kind << 8) | (parts << 16)
}

/// Numbers that kernels tell the host: in memory that both reach, if the device has such memory.
///
/// Invariant AN1: nobody else has the memory; host code reads it under a guard.
#[derive(Debug)]
pub(crate) struct Answer(UsmArray);

impl Answer {
    /// So many numbers, all of them 0.
    pub(crate) fn new(queue: &Queue, len: usize) -> Result<Self> {
        let kinds = [UsmKind::Host, UsmKind::Device];
        let kind = kinds.into_iter().find(|&kind| queue.device().info().supports(kind));
        Ok(Self(UsmArray::zeros(queue, kind.unwrap_or(UsmKind::Device), &[len], Dtype::U64)?))
    }

    pub(crate) const fn array(&self) -> &UsmArray {
        &self.0
    }

    /// The numbers, when all work on them is complete.
    pub(crate) fn wait(&self) -> Result<Vec<u64>> {
        self.0.to_vec()
    }
}
