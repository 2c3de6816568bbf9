//! The magazines of this thread, and what becomes of them when it ends.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use usm_core::Runtime;

use super::magazine::Magazine;
use super::stock::Stock;
use crate::buffer::Block;

thread_local! {
    /// The one that was used last. Without a destructor, so that it can be asked as long as the thread lives.
    static CURRENT: Cell<Option<&'static Magazine>> = const { Cell::new(None) };
    static MINE: Mine = const { Mine(RefCell::new(Vec::new())) };
}

/// Those that no thread has.
static SPARE: Mutex<Vec<&'static Magazine>> = Mutex::new(Vec::new());

/// The spare ones. In a forked child, where their lock may be closed for ever, there are none.
fn spare() -> Option<MutexGuard<'static, Vec<&'static Magazine>>> {
    static GENERATION: OnceLock<u64> = OnceLock::new();
    let now = Runtime::fork_generation();
    (*GENERATION.get_or_init(|| now) == now).then(|| SPARE.lock().unwrap_or_else(PoisonError::into_inner))
}

struct Mine(RefCell<Vec<(&'static Magazine, Weak<Stock>)>>);

/// The magazine of this thread for a pool, where it has one.
#[inline(always)]
pub(super) fn magazine(stock: u64) -> Option<&'static Magazine> {
    CURRENT.get().filter(|magazine| magazine.is_of(stock)).or_else(|| find(stock))
}

#[cold]
fn find(stock: u64) -> Option<&'static Magazine> {
    // After the end of the thread's values there is none, and none is made.
    let find = |mine: &Mine| {
        let found = mine.0.try_borrow().ok()?.iter().find(|(magazine, _)| magazine.is_of(stock))?.0;
        CURRENT.set(Some(found));
        Some(found)
    };
    MINE.try_with(find).ok().flatten()
}

/// The magazine of this thread for a pool, which the pool may not know yet.
pub(super) fn magazine_or_new(stock: &Arc<Stock>) -> Option<&'static Magazine> {
    magazine(stock.id).or_else(|| add(stock))
}

#[cold]
fn add(stock: &Arc<Stock>) -> Option<&'static Magazine> {
    let add = |mine: &Mine| {
        let mut mine = mine.0.try_borrow_mut().ok()?;
        // Those of pools that are gone.
        let gone = mine.extract_if(.., |(magazine, _)| magazine.is_of(0));
        let gone: Vec<_> = gone.map(|(magazine, _)| magazine).collect();
        let new = spare().and_then(|mut spare| {
            spare.extend(gone);
            spare.pop()
        });
        let new = new.unwrap_or_else(|| Box::leak(Box::new(Magazine::new())));
        new.stock.store(stock.id, Ordering::Relaxed);
        mine.push((new, Arc::downgrade(stock)));
        CURRENT.set(Some(new));
        Some(new)
    };
    MINE.try_with(add).ok().flatten()
}

/// Keeps a block, whose last holder has gone, for the next allocation of this thread; `false` where it cannot. Nobody else lends it.
///
/// # Safety
/// 1. It is a place of the pool, in its class, lent, and without holder, hook and pending work.
#[inline(always)]
pub(crate) unsafe fn keep(place: NonNull<Block>, stock: u64, class: u32) -> bool {
    let Some(magazine) = magazine(stock) else { return false };
    let Some(mut kept) = magazine.kept.try_hold() else { return false };
    // SAFETY: it is lent (1), so that it stays while the magazine is held, and no longer.
    kept.put(unsafe { place.as_ref() }, class as usize)
}

impl Drop for Mine {
    fn drop(&mut self) {
        CURRENT.set(None);
        for (magazine, stock) in self.0.take() {
            if let Some(stock) = stock.upgrade() {
                stock.retire(magazine);
            }
            magazine.stock.store(0, Ordering::Relaxed);
            spare().into_iter().for_each(|mut spare| spare.push(magazine));
        }
    }
}
