//! What the files of the owner of access find around them in the model.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::Mutex;

use crate::atomic::{AtomicBool, Ordering};
pub(crate) use crate::buffer::{Block, BlockRef};
use crate::operation::OperationList;
use crate::state::{INHERITED, PUBLISHED, RELEASED, SUBMITTED, State};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug)]
pub enum Error {
    BorrowConflict { address: usize, len_bytes: usize, held: &'static str },
    NotHostAccessible { kind: UsmKind },
    HostTaskWaits,
    Interrupted,
    ReadOnly,
}

impl Error {
    pub(crate) fn is_forked(&self) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsmKind;

impl UsmKind {
    pub fn is_host_accessible(self) -> bool {
        true
    }
}

/// A value that operations and host code read and write. Loom reports accesses that nothing orders.
pub struct Memory(UnsafeCell<(u64, bool)>);

unsafe impl Send for Memory {}
unsafe impl Sync for Memory {}

impl Memory {
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new((0, false))))
    }

    pub fn write(&self, value: u64) {
        self.0.with_mut(|place| unsafe {
            assert!(!(*place).1, "written after it was freed");
            (*place).0 = value;
        });
    }

    pub fn read(&self) -> u64 {
        self.0.with(|place| unsafe {
            assert!(!(*place).1, "read after it was freed");
            (*place).0
        })
    }

    fn free(&self) {
        self.0.with_mut(|place| unsafe { (*place).1 = true });
    }
}

type Body = Box<dyn FnOnce() + Send>;

/// The event of an operation, which runs when somebody waits for it.
#[derive(Clone)]
pub struct Event(Arc<Inner>);

struct Inner {
    after: Vec<Event>,
    body: Mutex<Option<Body>>,
    is_complete: AtomicBool,
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Event")
    }
}

impl Event {
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn wait(&self) -> Result<()> {
        self.0.after.iter().try_for_each(Self::wait)?;
        let mut body = self.0.body.lock().unwrap();
        if let Some(body) = body.take() {
            body();
        }
        self.0.is_complete.store(true, Ordering::Release);
        Ok(())
    }

    pub fn is_complete(&self) -> bool {
        self.0.is_complete.load(Ordering::Acquire)
    }

    pub fn capture(&self) -> Option<u64> {
        None
    }

    pub fn is_told_forked(&self) -> bool {
        false
    }

    pub fn as_dependency(&self, _: Error) -> Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
pub struct Context;

#[derive(Debug)]
struct QueueInner {
    context: Context,
    in_order: bool,
    submitted: Mutex<Vec<Event>>,
}

/// A queue, whose operations run when somebody waits for them.
#[derive(Clone, Debug)]
pub struct Queue(Arc<QueueInner>);

impl PartialEq for Queue {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

pub struct QueueProperties {
    pub in_order: bool,
}

impl Queue {
    pub fn new(in_order: bool) -> Self {
        Self(Arc::new(QueueInner { context: Context, in_order, submitted: Mutex::new(Vec::new()) }))
    }

    /// Submits an operation; an early one runs at once, after what it depends on.
    pub fn run(&self, after: &[Event], is_early: bool, body: Body) -> Event {
        let mut submitted = self.0.submitted.lock().unwrap();
        let mut after = after.to_vec();
        after.extend(submitted.last().filter(|_| self.0.in_order).cloned());
        let (body, is_complete) = (Mutex::new(Some(body)), AtomicBool::new(false));
        let event = Event(Arc::new(Inner { after, body, is_complete }));
        submitted.push(event.clone());
        drop(submitted);
        if is_early {
            event.wait().unwrap();
        }
        event
    }

    pub fn wait(&self) -> Result<()> {
        let submitted = self.0.submitted.lock().unwrap().clone();
        submitted.iter().try_for_each(Event::wait)
    }

    /// Comes after all that was submitted, and all that is submitted later comes after it, as if it were in order.
    pub fn barrier(&self, events: &[Event]) -> Result<Event> {
        self.wait()?;
        events.iter().try_for_each(Event::wait)?;
        Ok(self.run(&[], true, Box::new(|| ())))
    }

    pub fn properties(&self) -> QueueProperties {
        QueueProperties { in_order: self.0.in_order }
    }

    pub fn context(&self) -> &Context {
        &self.0.context
    }

    pub fn is_external_stream(&self) -> bool {
        false
    }

    pub fn is_surely_idle(&self) -> bool {
        self.0.submitted.lock().unwrap().iter().all(Event::is_complete)
    }

    pub fn takes(&self, _: &Event) -> bool {
        true
    }

    pub fn capture(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    pub fn check_mapped(&self, _: UsmKind) -> Result<()> {
        Ok(())
    }
}

pub struct HostTask;

impl HostTask {
    pub fn is_running() -> bool {
        false
    }
}

pub struct Runtime;

impl Runtime {
    pub fn fork_generation() -> u64 {
        0
    }

    pub fn is_fork_generation(_: u64) -> bool {
        true
    }
}

pub mod fork {
    pub fn is_forked_child() -> bool {
        false
    }
}

pub mod drops {
    use super::Event;

    pub fn wait<T>(job: impl Fn() -> T) -> T {
        job()
    }

    pub fn settle<'a>(events: impl IntoIterator<Item = &'a Event>) -> bool {
        events.into_iter().all(|event| event.wait().is_ok())
    }
}

pub(crate) mod sync {
    pub(crate) use std::sync::PoisonError;
    pub(crate) use std::time::Duration;

    /// No time passes in a model.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Instant;

    impl Instant {
        pub(crate) fn now() -> Self {
            Self
        }

        pub(crate) fn elapsed(self) -> Duration {
            Duration::ZERO
        }
    }

    pub(crate) use crate::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

    #[derive(Debug, Default)]
    pub(crate) struct ForkMutex<T>(Mutex<T>);

    impl<T> ForkMutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }
}

pub(crate) mod process {
    use super::sync::{AtomicUsize, Condvar, ForkMutex, Mutex};
    use crate::by_address::ByAddress;
    use crate::table::{BorrowTable, Entries};

    loom::lazy_static! {
        pub(crate) static ref BORROWS: BorrowTable = BorrowTable::over(Mutex::new(Entries::new()), Condvar::new(), || None);
        static ref BY_ADDRESS: ByAddress = ByAddress::over(ForkMutex::new(Vec::new()), AtomicUsize::new(0));
    }

    pub(crate) fn borrows() -> &'static BorrowTable {
        &BORROWS
    }

    pub(crate) fn by_address() -> &'static ByAddress {
        &BY_ADDRESS
    }
}

pub(crate) mod numbers {
    use super::sync::{AtomicU64, Ordering};

    loom::lazy_static! {
        static ref NEXT: AtomicU64 = AtomicU64::new(1);
    }

    pub(crate) fn next_number() -> u64 {
        NEXT.load(Ordering::Acquire)
    }

    pub(crate) fn take_number() -> u64 {
        NEXT.fetch_add(1, Ordering::AcqRel)
    }
}

pub(crate) mod across_copies {
    pub(crate) fn has_other_copies() -> bool {
        false
    }
}

pub(crate) mod waits {
    use super::sync::Duration;
    use super::{Event, Queue, Result};

    pub(crate) fn for_operation(wait: &(dyn Fn(Duration) -> bool + Sync)) -> Result<()> {
        while !wait(Duration::from_secs(1)) {}
        Ok(())
    }

    pub(crate) fn for_event(event: &Event) -> Result<()> {
        event.wait()
    }

    pub(crate) fn for_others(queue: &Queue) -> Result<()> {
        queue.wait()
    }

    pub(crate) fn before_submit(_: &Queue) -> Result<()> {
        Ok(())
    }

    pub(crate) fn across_contexts(_: &Queue, _: &mut Vec<Event>) -> Result<()> {
        Ok(())
    }
}

pub(crate) mod capture {
    use super::{BlockRef, Error, Event, Queue, Result};

    pub(crate) fn barrier(queue: &Queue, events: &[Event]) -> Result<Event> {
        queue.barrier(events)
    }

    pub(crate) fn come_after(queue: &Queue, events: &mut Vec<Event>) -> Result<()> {
        queue.barrier(events).map(drop)
    }

    pub(crate) fn record(_: &Queue, _: u64, _: Vec<BlockRef>, _: &mut Vec<Event>) -> Result<()> {
        Ok(())
    }

    pub(crate) fn not_recorded() -> Error {
        Error::Interrupted
    }
}

pub(crate) mod buffer {
    use super::*;
    use crate::sync::ForkMutex;

    pub(crate) type BlockRef = Arc<Block>;

    pub(crate) struct Lease;

    impl Lease {
        pub(crate) fn below(&self) -> Option<&Block> {
            None
        }
    }

    pub(crate) enum Ownership {
        Owned,
        Borrowed,
        Leased(Lease),
    }

    /// The record of a memory range, as in `src/buffer/block.rs`.
    pub(crate) struct Block {
        start: usize,
        state: State,
        operations: ForkMutex<OperationList>,
        queue: Queue,
        ownership: Ownership,
        pub(crate) memory: Arc<Memory>,
    }

    impl fmt::Debug for Block {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Block")
        }
    }

    impl Block {
        pub(crate) fn is_host_reachable(&self) -> bool {
            true
        }

        pub(crate) fn new(
            start: usize,
            queue: &Queue,
            ownership: Ownership,
            memory: Arc<Memory>,
            flags: u8,
        ) -> Self {
            let state = State::default();
            state.reset(flags);
            let operations = ForkMutex::new(OperationList::default());
            Self { start, state, operations, queue: queue.clone(), ownership, memory }
        }

        pub(crate) fn start(&self) -> NonNull<u8> {
            self.pointer_at(0)
        }

        pub(crate) fn pointer_at(&self, offset_bytes: usize) -> NonNull<u8> {
            NonNull::new(std::ptr::without_provenance_mut(self.start + offset_bytes)).unwrap()
        }

        pub(crate) fn len_bytes(&self) -> usize {
            1
        }

        pub(crate) fn kind(&self) -> UsmKind {
            UsmKind
        }

        pub(crate) fn queue(&self) -> &Queue {
            &self.queue
        }

        pub(crate) fn ownership(&self) -> &Ownership {
            &self.ownership
        }

        pub(crate) fn state(&self) -> &State {
            &self.state
        }

        pub(crate) fn with_operations<T>(&self, job: impl FnOnce(&mut OperationList) -> T) -> T {
            let mut operations = self.operations.lock();
            self.state.add(SUBMITTED);
            let result = job(&mut operations);
            if operations.is_empty() {
                self.state.remove(SUBMITTED);
            }
            result
        }

        /// As the end of a slot: the queue that its next owner comes after.
        pub(crate) fn end_slot(&self) -> Option<Queue> {
            let undone = self.state.pending();
            let external = (undone & !SUBMITTED != 0).then(|| self.queue.clone());
            let operations = self.with_operations(std::mem::take);
            operations.into_order_of(external.as_ref()).unwrap()
        }
    }

    impl Drop for Block {
        fn drop(&mut self) {
            if matches!(self.ownership, Ownership::Leased(_)) {
                return;
            }
            if self.state.pending() & SUBMITTED != 0 {
                assert!(self.operations.lock().wait_for_all());
            }
            if self.state.pending() & PUBLISHED != 0 {
                self.forget_shared(false);
            }
            if matches!(self.ownership, Ownership::Owned) {
                self.memory.free();
            }
        }
    }
}

/// One byte of memory.
#[derive(Clone, Debug)]
pub struct UsmBuffer(BlockRef);

impl UsmBuffer {
    pub fn new(start: usize, queue: &Queue) -> Self {
        Self(Arc::new(Block::new(start, queue, buffer::Ownership::Owned, Memory::new(), 0)))
    }

    /// A slot of a pool.
    pub fn slot(start: usize, queue: &Queue) -> Self {
        Self::over_slot(start, queue, Memory::new(), false)
    }

    pub fn over_slot(start: usize, queue: &Queue, memory: Arc<Memory>, inherits_work: bool) -> Self {
        let flags = if inherits_work { INHERITED } else { 0 };
        Self(Arc::new(Block::new(start, queue, buffer::Ownership::Leased(buffer::Lease), memory, flags)))
    }

    pub fn end_slot(self) -> Option<Queue> {
        self.0.end_slot()
    }

    /// The same memory, as another library gives it back.
    pub fn import(&self) -> Self {
        let memory = Arc::clone(&self.0.memory);
        let (start, queue) = (self.address(), self.0.queue());
        Self(Arc::new(Block::new(start, queue, buffer::Ownership::Borrowed, memory, PUBLISHED)))
    }

    pub(crate) fn block(&self) -> &BlockRef {
        &self.0
    }

    pub fn address(&self) -> usize {
        self.0.start().addr().get()
    }

    pub fn is_host_reachable(&self) -> bool {
        true
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        Ok(())
    }

    pub(crate) fn in_block(&self, range: Range<usize>) -> Result<Range<usize>> {
        Ok(range)
    }
}
