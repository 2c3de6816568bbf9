//! What a program prints before it dies of touching device memory: the address, that it is device USM, and the way out.
//!
//! The first reservation of device memory installs a handler of `SIGSEGV`, unless `USM_FAULT_MESSAGE=0`. It writes the message for
//! faults in protected ranges, and passes each signal on to the action that it found: of Rust's standard library, which reports
//! stack overflows, of Python's `faulthandler`, or the default, by which the process dies of the same signal.
//!
//! The handler does only what is async-signal-safe: it reads atomics, calls `write`, `sigaction` and `raise`, and allocates nothing.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{env, mem};

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

/// The action that was there before.
///
/// Invariant S3: what the system reported as the action of `SIGSEGV`, which others keep valid as long as it could be called.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once in a process and its forked children.
///
/// Invariant FH1: an action has integers and pointers alone, and is the default action where all of them are zero.
fn install() {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if IS_DONE.swap(true, Ordering::Relaxed) || env::var_os(SWITCH).is_some_and(|value| value == "0") {
        return;
    }
    // SAFETY: FH1: a struct of integers and pointers, for which zeros are values.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: FH1: reads the action into a valid place.
    if unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), &raw mut action) } != 0 {
        return;
    }
    // Before the handler, which reads it.
    PREVIOUS.get_or_init(|| action);
    // The mask and the flags of the action found hold for its call from ours, too. Its thread may have overflowed its stack.
    action.sa_flags |= libc::SA_SIGINFO | libc::SA_ONSTACK;
    action.sa_sigaction = on_fault as *const () as libc::sighandler_t;
    // SAFETY: FH2: a function with the signature that `SA_SIGINFO` demands, which does what is async-signal-safe only.
    unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, ptr::null_mut()) };
}

type WithInfo = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
type Plain = extern "C" fn(c_int);

/// The handler.
///
/// Invariant FH2: the system alone calls it, with what `SA_SIGINFO` promises, and all that it does is async-signal-safe.
extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: FH2: the system passes a pointer to what it knows of the signal (`SA_SIGINFO`).
    let known = unsafe { &*info };
    // Others are sent by `kill`, and have no address.
    let is_fault = known.si_code > 0;
    if is_fault {
        // SAFETY: FH2: the system has set the address of a fault.
        let address = unsafe { known.si_addr() }.addr();
        if SLOTS_OF_RANGES.iter().any(|slot| slot.contains(address)) {
            Message::of(address).write();
        }
    }
    match PREVIOUS.get().map(|previous| (previous.sa_sigaction, previous.sa_flags)) {
        None | Some((libc::SIG_DFL, _)) => end_by(signal, is_fault),
        // A fault cannot be ignored.
        Some((libc::SIG_IGN, _)) if is_fault => end_by(signal, is_fault),
        Some((libc::SIG_IGN, _)) => {}
        Some((handler, flags)) if flags & libc::SA_SIGINFO != 0 => {
            let handler = ptr::with_exposed_provenance::<()>(handler);
            // SAFETY: S3: a handler with the signature that the flag demands.
            let handler = unsafe { mem::transmute::<*const (), WithInfo>(handler) };
            handler(signal, info, context);
        }
        Some((handler, _)) => {
            let handler = ptr::with_exposed_provenance::<()>(handler);
            // SAFETY: S3: a handler with the signature of actions without the flag.
            let handler = unsafe { mem::transmute::<*const (), Plain>(handler) };
            handler(signal);
        }
    }
}

/// Lets the signal end the process: a fault comes again when the handler returns, a signal that was sent is sent again.
fn end_by(signal: c_int, is_fault: bool) {
    // SAFETY: FH1: a struct of integers and pointers, for which zeros are values: `SIG_DFL` and no flags.
    let default: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: FH1: the default action is always allowed.
    unsafe { libc::sigaction(signal, &raw const default, ptr::null_mut()) };
    if !is_fault {
        // SAFETY: LC1: has no conditions.
        unsafe { libc::raise(signal) };
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

    fn write(&self) {
        // SAFETY: FH2: the bytes live through the call, which is async-signal-safe. If it fails, there is nobody to tell.
        unsafe { libc::write(libc::STDERR_FILENO, self.0.as_ptr().cast(), self.0.len()) };
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
