//! What the files of the pool find around them in the model.

use std::fmt;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::Mutex;

pub(crate) use self::buffer::{Upstream, UsmBuffer, cache_frees};
use crate::atomic::{AtomicBool, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsmKind;

#[derive(Clone, Copy, Debug, Default)]
pub struct LiveAllocations {
    pub count: usize,
    pub bytes: usize,
}

/// A value that owners write. Loom reports accesses that nothing orders.
pub struct Memory(UnsafeCell<bool>);

unsafe impl Send for Memory {}
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(false)))
    }

    pub(crate) fn write(&self) {
        self.0.with_mut(|is_free| unsafe { assert!(!*is_free, "written after it was freed") });
    }

    pub(crate) fn read(&self) {
        self.0.with(|is_free| unsafe { assert!(!*is_free, "read after it was freed") });
    }

    pub(crate) fn free(&self) {
        self.0.with_mut(|is_free| unsafe {
            assert!(!*is_free, "freed twice");
            *is_free = true;
        });
    }

    pub(crate) fn is_free(&self) -> bool {
        self.0.with(|is_free| unsafe { *is_free })
    }
}

/// The event of an operation, which runs when somebody waits for it.
#[derive(Clone)]
pub struct Event(Arc<Operation>);

struct Operation {
    after: Vec<Event>,
    memory: Mutex<Option<Arc<Memory>>>,
    is_complete: AtomicBool,
}

impl Event {
    fn wait(&self) {
        self.0.after.iter().for_each(Self::wait);
        if let Some(memory) = self.0.memory.lock().unwrap().take() {
            memory.write();
        }
        self.0.is_complete.store(true, Ordering::Release);
    }

    pub fn is_complete(&self) -> bool {
        self.0.is_complete.load(Ordering::Acquire)
    }
}

pub struct QueueProperties {
    pub in_order: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Device;

/// Each queue has a context object of its own, and all are of one context.
#[derive(Debug, PartialEq, Eq)]
pub struct Context;

struct QueueInner {
    context: Box<(Context, u8)>,
    submitted: Mutex<Vec<Event>>,
}

/// A queue out of order.
#[derive(Clone)]
pub struct Queue(Arc<QueueInner>);

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Queue")
    }
}

impl Queue {
    pub(crate) fn new() -> Self {
        // Not of no size: two would have one address.
        Self(Arc::new(QueueInner { context: Box::new((Context, 0)), submitted: Mutex::new(Vec::new()) }))
    }

    fn submit(&self, memory: Option<Arc<Memory>>, after: Vec<Event>) -> Event {
        let (memory, is_complete) = (Mutex::new(memory), AtomicBool::new(false));
        let event = Event(Arc::new(Operation { after, memory, is_complete }));
        self.0.submitted.lock().unwrap().push(event.clone());
        event
    }

    /// An operation that writes to the memory of a buffer when somebody waits for it.
    pub(crate) fn submit_write(&self, buffer: &UsmBuffer) {
        self.submit(Some(buffer.slot_memory()), Vec::new());
    }

    pub(crate) fn wait(&self) {
        let submitted = self.0.submitted.lock().unwrap().clone();
        submitted.iter().for_each(Event::wait);
    }

    /// Complete after all that was submitted, when somebody waits for it.
    pub(crate) fn barrier(&self, _: &[Event]) -> Result<Event, ()> {
        let submitted = self.0.submitted.lock().unwrap().clone();
        Ok(self.submit(None, submitted))
    }

    pub(crate) fn properties(&self) -> QueueProperties {
        QueueProperties { in_order: false }
    }

    pub(crate) fn context(&self) -> &Context {
        &self.0.context.0
    }

    pub(crate) fn device(&self) -> &Device {
        &Device
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

pub mod drops {
    use super::Queue;

    pub(crate) fn wait_twice(queue: &Queue) -> Result<(), ()> {
        queue.wait();
        Ok(())
    }
}

pub(crate) mod tracker {
    use std::sync::Arc;

    use super::Queue;

    pub(crate) fn same_queue(a: &Queue, b: &Queue) -> bool {
        Arc::ptr_eq(&a.0, &b.0)
    }
}

pub(crate) mod resource {
    use super::{Queue, UsmKind};

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct AllocationRequest<'a> {
        pub(crate) queue: &'a Queue,
        pub(crate) kind: UsmKind,
        pub(crate) len_bytes: usize,
        pub(crate) align_bytes: usize,
    }
}

pub(crate) mod snapshot {
    use super::{Queue, UsmKind};

    #[derive(Clone, Copy)]
    pub(crate) struct Moment;

    impl Moment {
        pub(crate) fn now_coarse() -> Self {
            Self
        }

        pub(crate) fn moment(self, _: Self) -> Self {
            self
        }
    }

    pub(crate) enum Holder {
        Leased,
    }

    pub(crate) struct Facts {
        pub(crate) address: usize,
        pub(crate) len_bytes: usize,
        pub(crate) kind: UsmKind,
        pub(crate) holder: Holder,
        pub(crate) queue: Queue,
        pub(crate) born: Moment,
        pub(crate) tag: u32,
    }

    pub(crate) enum PooledAddress {
        Free,
        Allocated(usize, usize),
    }

    pub(crate) trait PooledMemory: Send + Sync {
        fn report(&self, facts: &mut Vec<Facts>);
        fn address(&self, address: usize) -> Option<PooledAddress>;
    }
}

pub(crate) mod buffer {
    use std::mem;
    use std::sync::{Arc, OnceLock};

    use super::snapshot::Moment;
    use super::{Memory, Queue};
    use crate::cache;

    /// A pool, to which slots go back.
    pub(crate) trait Owner: Send + Sync {
        fn free(&self, slot: FreeSlot, pending: Option<Queue>);
    }

    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct SlotKey {
        pub(crate) pool: u32,
        pub(crate) arena: u16,
        pub(crate) class: u8,
        pub(crate) index: u8,
    }

    type Free = fn(FreeSlot) -> Result<(), FreeSlot>;

    /// The function is one for all executions.
    pub(crate) struct FreeToCache(OnceLock<Free>);

    impl FreeToCache {
        pub(crate) fn get_or_init(&self, make: impl Fn() -> Free) -> &Free {
            self.0.get_or_init(make)
        }
    }

    pub(crate) static FREE_TO_CACHE: FreeToCache = FreeToCache(OnceLock::new());

    pub(crate) fn cache_frees() {
        FREE_TO_CACHE.get_or_init(|| cache::free);
    }

    /// A slot, which its table and its owner share.
    pub(crate) struct Slot {
        key: SlotKey,
        slab: u32,
        owner: Arc<dyn Owner>,
        memory: Arc<Memory>,
    }

    /// The right to a slot that no buffer has.
    pub(crate) struct FreeSlot(Arc<Slot>);

    impl std::fmt::Debug for FreeSlot {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.0.key.fmt(f)
        }
    }

    impl FreeSlot {
        pub(crate) fn key(&self) -> SlotKey {
            self.0.key
        }

        pub(crate) fn slab(&self) -> u32 {
            self.0.slab
        }

        pub(crate) fn len_bytes(&self) -> usize {
            1
        }

        pub(crate) fn allocate(self, _: &Queue, _: usize, _: bool) -> UsmBuffer {
            // As the fields of a block, which the new owner sets.
            self.0.memory.write();
            UsmBuffer(Inner::Slot(Some(self)))
        }

        fn free(self, pending: Option<Queue>) {
            self.0.memory.write();
            let slot = match pending {
                None => cache::free(self),
                Some(_) => Err(self),
            };
            if let Err(slot) = slot {
                let owner = Arc::clone(&slot.0.owner);
                owner.free(slot, pending);
            }
        }
    }

    /// The slots of a slab.
    pub(crate) struct BlockTable(Vec<Arc<Slot>>);

    impl BlockTable {
        pub(crate) unsafe fn new(
            owner: Arc<dyn Owner>,
            key: SlotKey,
            slab: u32,
            memory: &UsmBuffer,
            _: &Queue,
            slot_bytes: usize,
        ) -> Arc<Self> {
            let upstream = memory.memory();
            let slot = |index| {
                let memory = Arc::clone(&upstream.slots[index]);
                let key = SlotKey { index: index as u8, ..key };
                Arc::new(Slot { key, slab, owner: Arc::clone(&owner), memory })
            };
            Arc::new(Self((0..memory.len_bytes() / slot_bytes).map(slot).collect()))
        }

        pub(crate) fn num_slots(&self) -> usize {
            self.0.len()
        }

        pub(crate) unsafe fn free_slot(&self, index: u32) -> Option<FreeSlot> {
            Some(FreeSlot(Arc::clone(&self.0[index as usize])))
        }

        pub(crate) fn has(&self, slot: &FreeSlot) -> bool {
            self.0.iter().any(|known| Arc::ptr_eq(known, &slot.0))
        }

        pub(crate) fn allocation_in(&self, _: usize) -> Option<(usize, usize, u32, Moment)> {
            None
        }

        pub(crate) fn allocations(&self) -> Vec<(usize, usize, u32, Moment)> {
            Vec::new()
        }
    }

    /// Memory from upstream.
    pub(crate) struct Upstream {
        address: usize,
        len_bytes: usize,
        slots: [Arc<Memory>; 2],
    }

    impl Upstream {
        pub(crate) fn is_freed(&self) -> bool {
            self.slots.iter().all(|slot| slot.is_free())
        }
    }

    /// What frees the memory of a slab when it is dropped.
    struct Last(Arc<Upstream>);

    impl Drop for Last {
        fn drop(&mut self) {
            self.0.slots.iter().for_each(|slot| slot.free());
        }
    }

    #[derive(Clone)]
    enum Inner {
        Upstream(Arc<Last>),
        Slot(Option<FreeSlot>),
    }

    impl Clone for FreeSlot {
        fn clone(&self) -> Self {
            unreachable!("no buffer in a slot is cloned here")
        }
    }

    /// A slab, or a buffer in a slot.
    #[derive(Clone)]
    pub struct UsmBuffer(Inner);

    impl UsmBuffer {
        pub(crate) fn upstream(address: usize, len_bytes: usize) -> Self {
            let slots = [Memory::new(), Memory::new()];
            Self(Inner::Upstream(Arc::new(Last(Arc::new(Upstream { address, len_bytes, slots })))))
        }

        pub(crate) fn memory(&self) -> Arc<Upstream> {
            match &self.0 {
                Inner::Upstream(last) => Arc::clone(&last.0),
                Inner::Slot(_) => unreachable!("a slot is no slab"),
            }
        }

        pub(crate) fn slot_memory(&self) -> Arc<Memory> {
            match &self.0 {
                Inner::Slot(Some(slot)) => Arc::clone(&slot.0.memory),
                _ => unreachable!("no slot"),
            }
        }

        pub(crate) fn write(&self) {
            self.slot_memory().write();
        }

        /// The buffer goes in the order of a queue.
        pub(crate) fn free_after(mut self, queue: &Queue) {
            if let Inner::Slot(slot) = &mut self.0
                && let Some(slot) = slot.take()
            {
                let owner = Arc::clone(&slot.0.owner);
                owner.free(slot, Some(queue.clone()));
            }
        }

        pub(crate) fn address(&self) -> usize {
            self.memory().address
        }

        pub(crate) fn len_bytes(&self) -> usize {
            self.memory().len_bytes
        }

        pub(crate) fn block(&self) -> &Self {
            self
        }

        pub(crate) fn before_release(&self, hook: impl FnOnce()) {
            mem::forget(hook);
        }
    }

    impl Drop for UsmBuffer {
        fn drop(&mut self) {
            if let Inner::Slot(slot) = &mut self.0
                && let Some(slot) = slot.take()
            {
                slot.free(None);
            }
        }
    }

    /// Work that is pending on a queue comes before the memory of a slab goes.
    pub(crate) fn hand_down(_: &UsmBuffer, queue: &Queue) {
        queue.wait();
    }
}
