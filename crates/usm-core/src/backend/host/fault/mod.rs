//! What a program prints before it dies of touching device memory: the address, that it is device USM, and the way out.
//!
//! The first reservation of device memory installs a handler of faults, unless `USM_FAULT_MESSAGE=0`. It writes the message for
//! faults in protected ranges, and passes each fault on to the handler that it found.
//!
//! | file | job |
//! |---|---|
//! | `linux.rs` | a handler of `SIGSEGV` |
//! | `windows.rs` | a filter of exceptions that nobody handles |

use std::env;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
use linux as system;
#[cfg(windows)]
use windows as system;

/// The message is off where this variable is 0.
const SWITCH: &str = "USM_FAULT_MESSAGE";

/// Ranges that can be named at once. Host backends beyond have no message: a program has one, only tests have many.
const SLOTS: usize = 64;
static SLOTS_OF_RANGES: [Slot; SLOTS] =
    [const { Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(FREE) } }; SLOTS];
const FREE: usize = 0;
/// The end of a range that is being written.
const TAKEN: usize = 1;

/// A protected range, which the handler reads while others come and go.
#[derive(Debug)]
struct Slot {
    start: AtomicUsize,
    /// [`FREE`], [`TAKEN`], or the end. The start is valid with an end alone.
    end: AtomicUsize,
}

impl Slot {
    fn contains(&self, address: usize) -> bool {
        let end = self.end.load(Ordering::Acquire);
        (self.start.load(Ordering::Relaxed)..end).contains(&address)
    }
}

/// A protected range that the handler knows as long as this value lives.
#[derive(Debug)]
pub(super) struct KnownRange(Option<&'static Slot>);

impl KnownRange {
    /// Tells the handler of public addresses.
    pub(super) fn new(addresses: &Range<usize>) -> Self {
        install();
        let take = |slot: &&Slot| {
            slot.end.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let slot = SLOTS_OF_RANGES.iter().find(take);
        if let Some(slot) = slot {
            slot.start.store(addresses.start, Ordering::Relaxed);
            slot.end.store(addresses.end, Ordering::Release);
        }
        Self(slot)
    }
}

impl Drop for KnownRange {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot.end.store(FREE, Ordering::Release);
        }
    }
}

/// Installs the handler, once in a process and its forked children.
fn install() {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if IS_DONE.swap(true, Ordering::Relaxed) || env::var_os(SWITCH).is_some_and(|value| value == "0") {
        return;
    }
    system::install();
}

/// Writes the message for a fault at this address, if the address is protected. Called by handlers: allocates nothing.
fn report(address: usize) {
    if SLOTS_OF_RANGES.iter().any(|slot| slot.contains(address)) {
        system::write(&Message::of(address).0);
    }
}

const BEFORE: &[u8] = b"usm: host code touched device USM at 0x";
const AFTER: &[u8] = b", which is left to the operations of queues; copy it to the host, or allocate host or shared USM instead\n";
const DIGITS: usize = 2 * size_of::<usize>();

/// The message, made without an allocation.
struct Message([u8; BEFORE.len() + DIGITS + AFTER.len()]);

impl Message {
    fn of(address: usize) -> Self {
        let mut text = [0; BEFORE.len() + DIGITS + AFTER.len()];
        let digit = |place: usize| b"0123456789abcdef"[address >> (4 * (DIGITS - 1 - place)) & 15];
        let digits = (0..DIGITS).map(digit);
        let all = BEFORE.iter().copied().chain(digits).chain(AFTER.iter().copied());
        text.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        Self(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownRange, Message, SLOTS, SLOTS_OF_RANGES};

    fn is_known(address: usize) -> bool {
        SLOTS_OF_RANGES.iter().any(|slot| slot.contains(address))
    }

    #[test]
    fn a_range_is_known_as_long_as_its_value_lives() {
        let start = 0x1234_0000_0000_usize;
        let ranges: Vec<_> = (0..4).map(|i| start + i * 0x2000..start + i * 0x2000 + 0x1000).collect();
        let mut known: Vec<_> = ranges.iter().map(KnownRange::new).collect();
        for range in &ranges {
            assert!(is_known(range.start) && is_known(range.end - 1));
            assert!(!is_known(range.start - 1) && !is_known(range.end));
        }
        drop(known.remove(2));
        assert!(!is_known(ranges[2].start) && is_known(ranges[1].start) && is_known(ranges[3].start));
        // More ranges than slots: the ones beyond are not known, and nothing else changes.
        let more: Vec<_> = (0..2 * SLOTS).map(|_| KnownRange::new(&(0x1000..0x2000))).collect();
        assert!(more.iter().any(|range| range.0.is_none()) && is_known(0x1000) && is_known(ranges[0].start));
        drop((known, more));
        assert!(!is_known(0x1000) && !is_known(ranges[0].start));
    }

    #[test]
    fn the_message_names_the_address_and_the_way_out() {
        let text = String::from_utf8(Message::of(0x7f00_12ab_c0de).0.to_vec()).unwrap();
        assert!(text.starts_with("usm: host code touched device USM at 0x00007f0012abc0de, "), "{text}");
        assert!(text.ends_with("or allocate host or shared USM instead\n"), "{text}");
    }
}
