//! The magazines of this thread, and what becomes of them when it ends.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};
use std::thread;

use usm_core::Runtime;

use super::magazine::Magazine;
use super::stock::Stock;
use super::trays::{Find, Trays};
use crate::buffer::{Block, HomeRef};
use crate::fork;

thread_local! {
    /// The one that was used last; `NOBODYS` in a forked child, for pools of the parent. Without a destructor, so that it can be asked as
    /// long as the thread lives.
    static CURRENT: Cell<&'static Magazine> = const { Cell::new(&NOBODYS) };
    static MINE: Mine = const { Mine(RefCell::new(Vec::new())) };
}

/// Of no pool, and so always empty: no home has the number 0.
static NOBODYS: Magazine = Magazine::new();

/// Those that no thread has.
static SPARE: Mutex<Vec<&'static Magazine>> = Mutex::new(Vec::new());

/// The spare ones. `None` in the child of a process that forked while another thread had their lock, which is closed for ever then.
fn spare() -> Option<MutexGuard<'static, Vec<&'static Magazine>>> {
    const TRIES: usize = 1000;
    for _ in 0..TRIES {
        match SPARE.try_lock() {
            Ok(spare) => return Some(spare),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
    None
}

/// A magazine of this thread.
struct Entry {
    magazine: &'static Magazine,
    stock: Weak<Stock>,
    /// Of the process in which the thread got it.
    generation: u64,
}

impl Entry {
    /// The magazine, for other threads. In a forked child that of a pool of the parent may be held by a thread that is not there, and
    /// have blocks of the parent: nobody uses it again.
    fn give_up(self) {
        self.magazine.stock.store(0, Ordering::Relaxed);
        if self.generation == Runtime::fork_generation() {
            spare().into_iter().for_each(|mut spare| spare.push(self.magazine));
        }
    }
}

struct Mine(RefCell<Vec<Entry>>);

/// The magazine that this thread used last, of whichever pool it is.
#[inline(always)]
pub(super) fn current() -> &'static Magazine {
    CURRENT.get()
}

/// The magazine of this thread for a pool, where it has one.
pub(super) fn magazine(stock: u32) -> Option<&'static Magazine> {
    let magazine = current();
    if magazine.is_of(stock) { Some(magazine) } else { find(stock) }
}

#[cold]
fn find(stock: u32) -> Option<&'static Magazine> {
    // After the end of the thread's values there is none, and none is made.
    let find = |mine: &Mine| {
        let mine = mine.0.try_borrow().ok()?;
        let is_it =
            |entry: &&Entry| entry.magazine.is_of(stock) && Runtime::is_fork_generation(entry.generation);
        let found = mine.iter().find(is_it)?.magazine;
        CURRENT.set(found);
        Some(found)
    };
    MINE.try_with(find).ok().flatten()
}

/// The magazine of this thread for a pool, which the pool may not know yet.
pub(super) fn magazine_or_new(stock: &Arc<Stock>) -> Option<&'static Magazine> {
    // A magazine is found by the number, and may be found by one pool only.
    if stock.id == HomeRef::NO_NUMBER {
        return None;
    }
    magazine(stock.id).or_else(|| add(stock))
}

/// In a forked child, on its only thread: its magazines are of pools of the parent.
pub(crate) fn in_forked_child() {
    CURRENT.set(&NOBODYS);
}

#[cold]
fn add(stock: &Arc<Stock>) -> Option<&'static Magazine> {
    fork::set_hooks();
    let add = |mine: &Mine| {
        let mut mine = mine.0.try_borrow_mut().ok()?;
        // Those of pools that are gone.
        mine.extract_if(.., |entry| entry.magazine.is_of(0)).for_each(Entry::give_up);
        let new = spare().and_then(|mut spare| spare.pop());
        let new = new.unwrap_or_else(|| Box::leak(Box::new(Magazine::new())));
        new.stock.store(stock.id, Ordering::Relaxed);
        let generation = Runtime::fork_generation();
        mine.push(Entry { magazine: new, stock: Arc::downgrade(stock), generation });
        CURRENT.set(new);
        Some(new)
    };
    MINE.try_with(add).ok().flatten()
}

/// As [`keep`], where the magazine that was used last is the one, and so is the tray: calls nothing.
///
/// # Safety
/// 1. As for [`keep`].
#[inline(always)]
pub(crate) unsafe fn keep_first(place: NonNull<Block>) -> bool {
    // SAFETY: it is lent (1).
    let home = unsafe { place.as_ref() }.bin().home;
    let magazine = current();
    // SAFETY: as said (1), of this thread and of that pool; the tray is that of the shelf (2).
    magazine.is_of(home) && unsafe { keep_in(magazine, place, Trays::first_to_keep) }
}

/// Keeps a block, whose last holder has gone, for the next allocation of this thread; `false` where it cannot. Nobody else lends it.
///
/// # Safety
/// 1. It is a place, lent, and without holder, hook and pending work.
pub(crate) unsafe fn keep(place: NonNull<Block>) -> bool {
    // SAFETY: it is lent (1).
    let home = unsafe { place.as_ref() }.bin().home;
    // SAFETY: as said (1); the tray is that of the shelf (2).
    magazine(home).is_some_and(|magazine| unsafe { keep_in(magazine, place, Trays::any_to_keep) })
}

/// # Safety
/// 1. As for [`keep`], and the magazine is that of this thread for the pool of the place.
/// 2. `find` gives no tray but that of the shelf it is asked for.
#[inline(always)]
unsafe fn keep_in(magazine: &Magazine, place: NonNull<Block>, find: Find) -> bool {
    // SAFETY: it is lent (1), so that it stays until the magazine has it, and is let go; no longer.
    let block = unsafe { place.as_ref() };
    let Some(mut kept) = magazine.kept.try_hold() else { return false };
    // SAFETY: both are as said (1, 2). The magazine has the number of its pool, which only this thread gives to it. Where the pool was
    // closed meanwhile, the magazine has no tray any more, and gets none.
    unsafe { kept.put(block, find) }
}

impl Drop for Mine {
    fn drop(&mut self) {
        CURRENT.set(&NOBODYS);
        for entry in self.0.take() {
            if let Some(stock) = entry.stock.upgrade() {
                stock.retire(entry.magazine);
            }
            entry.give_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use usm_core::{Runtime, UsmKind};

    use super::{HomeRef, Stock, magazine};
    use crate::UsmBuffer;
    use crate::resource::{DirectResource, PoolOptions, PoolResource};

    #[test]
    fn pools_for_which_no_number_was_left_share_nothing() {
        let runtime = Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).unwrap();
        let new = |_| {
            let options = PoolOptions::new();
            let stock = Stock::numbered(options.max_retained_bytes, HomeRef::NO_NUMBER);
            PoolResource { upstream: Arc::new(DirectResource), options, stock }
        };
        let pools = [0, 1].map(new);
        let mut addresses = pools.each_ref().map(|_| HashSet::new());
        for step in 0..200 {
            let pool = &pools[step % 2];
            let buffer = UsmBuffer::allocate_in(pool, &queue, UsmKind::Host, 64).unwrap();
            addresses[step % 2].insert(buffer.address());
            assert_eq!(pool.statistics().used_bytes, 64);
            drop(buffer);
            assert_eq!(pool.statistics().used_bytes, 0);
            assert!(magazine(HomeRef::NO_NUMBER).is_none());
        }
        assert!(addresses[0].is_disjoint(&addresses[1]));
    }
}
