//! Models of the holders of a block: what any of them did comes before its end, and nobody gets hold of it after that

use loom::thread::spawn;

use self::block::{Block, Shared};
use self::block_ref::BlockRef;
use crate::check;
use crate::stand_ins::Memory;

#[path = "../../usm-memory/src/buffer/block_ref.rs"]
mod block_ref;

mod block {
    use std::ptr::NonNull;
    use std::sync::Arc;

    use loom::sync::Mutex;

    use super::block_ref::BlockRef;
    use crate::atomic::{AtomicBool, AtomicU32, Ordering};
    use crate::stand_ins::Memory;

    /// As in `src/buffer/block.rs`.
    #[derive(Debug)]
    pub(crate) struct Block {
        pub(super) holders: AtomicU32,
        is_shared: AtomicBool,
        is_slot: bool,
        memory: Shared,
    }

    /// What outlives the block.
    #[derive(Clone)]
    pub(crate) struct Shared {
        pub(super) memory: Arc<Memory>,
        /// As the table in `src/buffer/returns.rs`.
        known: Arc<Mutex<Option<NonNull<Block>>>>,
    }

    unsafe impl Send for Shared {}
    unsafe impl Sync for Shared {}

    impl std::fmt::Debug for Shared {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Shared")
        }
    }

    impl Shared {
        pub(super) fn new() -> Self {
            Self { memory: Memory::new(), known: Arc::new(Mutex::new(None)) }
        }

        /// The block, where it has a holder.
        pub(super) fn find(&self) -> Option<BlockRef> {
            let known = self.known.lock().unwrap();
            // It is there until it is taken out, which its last holder does before anything else.
            known.and_then(|block| unsafe { BlockRef::of_live(block) })
        }
    }

    pub(crate) struct State<'a>(&'a Block);

    impl State<'_> {
        pub(crate) fn is_shared(&self) -> bool {
            self.0.is_shared.load(Ordering::Acquire)
        }
    }

    impl Block {
        pub(super) fn new(shared: &Shared, is_slot: bool) -> Self {
            let (holders, is_shared) = (AtomicU32::new(1), AtomicBool::new(false));
            Self { holders, is_shared, is_slot, memory: shared.clone() }
        }

        /// Others may get hold of it by the table from now on.
        pub(super) fn share(&self) {
            *self.memory.known.lock().unwrap() = Some(NonNull::from(self));
            self.is_shared.store(true, Ordering::Release);
        }

        pub(super) fn forget(&self) {
            *self.memory.known.lock().unwrap() = None;
        }

        pub(super) fn read(&self) {
            self.memory.memory.read();
        }

        pub(crate) fn state(&self) -> State<'_> {
            State(self)
        }

        pub(crate) fn is_slot(&self) -> bool {
            self.is_slot
        }

        pub(crate) fn below(&self) -> Option<&Self> {
            None
        }
    }

    impl Drop for Block {
        fn drop(&mut self) {
            self.memory.memory.free();
        }
    }
}

mod returns {
    pub(super) fn forget(block: &super::Block) {
        block.forget();
    }
}

mod slot {
    use std::ptr::NonNull;

    use super::Block;

    /// Goes back to its pool, which is to free it here.
    pub(super) struct FreeSlot(NonNull<Block>);

    impl FreeSlot {
        pub(super) unsafe fn new(block: NonNull<Block>) -> Self {
            Self(block)
        }

        pub(super) fn free(self) {
            // The model made it as a box.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

/// A block of its own, or a slot, with its first holder.
fn new(shared: &Shared, is_slot: bool) -> BlockRef {
    BlockRef::new(Block::new(shared, is_slot))
}

fn each(model: impl Fn(bool) + Send + Sync + Copy + 'static) {
    for is_slot in [false, true] {
        check(move || model(is_slot));
    }
}

pub fn the_last_of_three_holders_frees_what_all_have_left() {
    each(|is_slot| {
        let shared = Shared::new();
        let first = new(&shared, is_slot);
        let others = [first.clone(), first.read_only()].map(|holder| {
            spawn(move || {
                holder.read();
                drop(holder);
            })
        });
        first.read();
        drop(first);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(shared.memory.is_free());
    });
}

pub fn holders_are_made_while_others_go() {
    each(|is_slot| {
        let shared = Shared::new();
        let first = new(&shared, is_slot);
        let second = first.clone();
        let other = spawn(move || {
            let third = second.clone();
            drop(second);
            third.read();
        });
        let fourth = first.clone();
        drop(first);
        fourth.read();
        drop(fourth);
        other.join().unwrap();
        assert!(shared.memory.is_free());
    });
}

pub fn memory_that_comes_back_finds_a_block_or_none() {
    each(|is_slot| {
        let shared = Shared::new();
        let first = new(&shared, is_slot);
        first.share();
        let finders: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                spawn(move || {
                    if let Some(found) = shared.find() {
                        found.read();
                    }
                })
            })
            .collect();
        first.read();
        drop(first);
        finders.into_iter().for_each(|finder| finder.join().unwrap());
        assert!(shared.find().is_none() && shared.memory.is_free());
    });
}

pub fn a_block_that_is_alone_stays_so() {
    each(|is_slot| {
        let shared = Shared::new();
        let first = new(&shared, is_slot);
        let second = first.clone();
        let other = spawn(move || {
            second.read();
            drop(second);
        });
        if first.check_alone().is_ok() {
            // Nobody else reads it from here on.
            shared.memory.write();
        }
        drop(first);
        other.join().unwrap();
        assert!(shared.memory.is_free());
    });
}
