//! Operations at work: the thread that runs them, and what each does to memory.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use crate::clock::Point;
use crate::codes::{Code, Outcome};
use crate::handles::StreamRef;
use crate::host;
use crate::kernels;
use crate::memory::Access;
use crate::os;
use crate::ptx::GlobalMemory;
use crate::state::{IS_DESTROYING, Object, State, changed, lock, sleep};
use crate::streams::{Next, Operation, Source, Work};

/// Adds work to a stream, or to the graph of one that is captured.
pub(crate) fn submit(state: &mut State, stream: StreamRef, work: Work) -> Outcome<Point> {
    if let Some(status) = state.captures.of(stream.number) {
        state.record(stream, status, work)?;
        return Ok(Point { stream: 0, position: 0 });
    }
    start(state)?;
    let point = state.streams.submit(stream.number, work);
    changed();
    Ok(point)
}

/// Starts the thread that runs operations, unless it runs.
pub(crate) fn start(state: &mut State) -> Outcome {
    if !state.has_worker {
        let worker = thread::Builder::new().name("cuda-loopback".to_owned()).spawn(run_all);
        worker.map_err(|_| Code::OPERATING_SYSTEM.refusal())?;
        state.has_worker = true;
    }
    Ok(())
}

/// So long one operation after the other runs before calls get their turn. A lock that is taken again at once goes to no other thread.
const LOCKED: Duration = Duration::from_millis(1);
const TURN: Duration = Duration::from_micros(100);

/// Runs the operations of all streams until the process ends.
fn run_all() {
    os::block_signals();
    let mut state = lock();
    let mut locked_since = Instant::now();
    loop {
        if let Some(user) = state.to_destroy.pop() {
            drop(state);
            IS_DESTROYING.set(true);
            // SAFETY: the header's contract: the function takes the value, once.
            unsafe { (user.destroy)(std::ptr::with_exposed_provenance_mut(user.value)) };
            IS_DESTROYING.set(false);
            state = lock();
            continue;
        }
        let now = Instant::now();
        let longest = match state.streams.next(now) {
            Next::WaitForWork => None,
            Next::WaitUntil(due) => Some(due.saturating_duration_since(now)),
            Next::Run(operation) => {
                run(&mut state, &operation);
                state.streams.complete(operation.at);
                changed();
                if locked_since.elapsed() < LOCKED {
                    continue;
                }
                drop(state);
                thread::sleep(TURN);
                state = lock();
                locked_since = Instant::now();
                continue;
            }
        };
        state = sleep(state, longest);
        locked_since = Instant::now();
    }
}

/// Runs one operation, unless its context is lost. A fault of one makes the context lost.
fn run(state: &mut State, operation: &Operation) {
    let Some(device) = state.streams.get(operation.at.stream).map(|stream| stream.device) else { return };
    if state.usable(device).is_err() {
        return;
    }
    let mut memory = DeviceMemory { state, operation, device, peers: None, blocks: Vec::new() };
    let done = match &operation.work {
        Work::Copy { to, from, len_bytes } => memory.copy(*to, from, *len_bytes),
        Work::Set { to, value, count } => memory.set(*to, value, *count),
        Work::Launch(launch) => {
            memory.peers =
                Some(memory.state.contexts.get(&device).map(|of| of.peers.clone()).unwrap_or_default());
            launch.run(&mut memory)
        }
        Work::Prefetch { address, len_bytes } => memory.bytes(*address, *len_bytes).map(|_| ()),
        Work::Allocate { block } => {
            state.memory.soil(*block);
            Ok(())
        }
        Work::Free { block } => {
            state.memory.remove(*block);
            Ok(())
        }
        Work::Record { event } => {
            record(state, *event, operation.at);
            Ok(())
        }
        Work::Release { users } => {
            state.release_users(users);
            Ok(())
        }
        Work::Wait(_) => Ok(()),
    };
    if let Err((code, text)) = done {
        state.fault(format!("{}: {text}", name(&operation.work)));
        state.lose(device, code);
    }
}

fn name(work: &Work) -> String {
    match work {
        Work::Launch(launch) => format!("the kernel {}", launch.kernel.name),
        Work::Copy { .. } => "cuMemcpyAsync".to_owned(),
        Work::Set { .. } => "cuMemsetAsync".to_owned(),
        _ => "cuMemPrefetchAsync".to_owned(),
    }
}

/// Notes the time of an event, unless it was recorded again since.
fn record(state: &mut State, event: usize, at: Point) {
    if let Some(Object::Event(event)) = state.object(event)
        && let Some(record) = event.recorded.as_mut().filter(|record| record.at == at)
    {
        record.time = Some(Instant::now());
    }
}

type Done<T = ()> = Result<T, (Code, String)>;

/// The memory as an operation reaches it.
struct DeviceMemory<'a> {
    state: &'a mut State,
    operation: &'a Operation,
    device: usize,
    /// Of a kernel: the devices whose memory it may access.
    peers: Option<BTreeSet<usize>>,
    /// Blocks that it may access: the first address, the one behind, and where the bytes are. The last used one comes first.
    blocks: Vec<(u64, u64, *mut u8)>,
}

impl DeviceMemory<'_> {
    /// Where the bytes of a range are. They stay there while the state is locked.
    fn bytes(&mut self, address: usize, len_bytes: usize) -> Done<*mut u8> {
        let Operation { at, clock, .. } = self.operation;
        let access = Access { at: *at, clock, device: self.device, peers: self.peers.as_ref() };
        let bytes = self.state.memory.access(&self.state.streams, &access, address, len_bytes);
        bytes.map_err(|text| (Code::ILLEGAL_ADDRESS, text))
    }

    fn is_pageable(&self, address: usize) -> bool {
        self.state.memory.find(address).is_none() && !self.state.memory.is_of_device(address)
    }

    fn copy(&mut self, to: usize, from: &Source, len_bytes: usize) -> Done {
        let read;
        let from = match from {
            Source::Staged(bytes) => bytes.as_ptr(),
            Source::Pageable(from) => {
                let unreadable =
                    || (Code::ILLEGAL_ADDRESS, format!("{from:#x} + {len_bytes} is not readable"));
                read = host::read(*from, len_bytes).ok_or_else(unreadable)?;
                read.as_ptr()
            }
            Source::Address(from) => self.bytes(*from, len_bytes)?.cast_const(),
        };
        if self.is_pageable(to) {
            // SAFETY: `len_bytes` readable bytes, see `bytes`.
            let from = unsafe { std::slice::from_raw_parts(from, len_bytes) };
            if !host::write(to, from) {
                self.state.fault(format!("cuMemcpyAsync: {to:#x} + {len_bytes} is not writable"));
            }
            return Ok(());
        }
        let to = self.bytes(to, len_bytes)?;
        // SAFETY: both sides have `len_bytes` bytes, see `bytes`; `copy` allows that they overlap.
        unsafe { std::ptr::copy(from, to, len_bytes) };
        Ok(())
    }

    fn set(&mut self, to: usize, value: &[u8], count: usize) -> Done {
        let len_bytes = value.len() * count;
        let to = self.bytes(to, len_bytes)?;
        if count > 0 {
            // SAFETY: within the range that was just checked; the value is memory of our own.
            unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), to, value.len()) };
        }
        // What is there doubles each time.
        let mut done_bytes = value.len();
        while done_bytes < len_bytes {
            let next_bytes = done_bytes.min(len_bytes - done_bytes);
            // SAFETY: two parts of the range that was just checked, one behind the other.
            unsafe { std::ptr::copy_nonoverlapping(to, to.wrapping_add(done_bytes), next_bytes) };
            done_bytes += next_bytes;
        }
        Ok(())
    }
}

impl DeviceMemory<'_> {
    /// Where the bytes of a range are, for an access of a kernel. The checks of a block are the same for all accesses of an operation.
    fn reach(&mut self, address: u64, len_bytes: usize) -> Done<*mut u8> {
        let is_within = |&(start, end, _): &(u64, u64, _)| {
            start <= address && address.saturating_add(len_bytes as u64) <= end
        };
        if let Some(found) = self.blocks.iter().position(is_within) {
            self.blocks.swap(0, found);
        } else {
            let at = usize::try_from(address).unwrap_or(usize::MAX);
            let bytes = self.bytes(at, len_bytes)?;
            let (start, block_bytes) = self.state.memory.range(at).unwrap_or((at, len_bytes));
            let first = bytes.wrapping_sub(at - start);
            self.blocks.insert(0, (start as u64, (start + block_bytes) as u64, first));
        }
        let (start, _, first) = self.blocks[0];
        Ok(first.wrapping_add((address - start) as usize))
    }
}

impl GlobalMemory for DeviceMemory<'_> {
    fn load(&mut self, address: u64, to: &mut [u8]) -> Done {
        let from = self.reach(address, to.len())?;
        // SAFETY: as many bytes of a block, see `reach`; the other side is memory of our own.
        unsafe { std::ptr::copy_nonoverlapping(from.cast_const(), to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    fn store(&mut self, address: u64, from: &[u8]) -> Done {
        let to = self.reach(address, from.len())?;
        // SAFETY: as many bytes of a block, see `reach`; the other side is memory of our own.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Ok(())
    }
}

impl kernels::Memory for DeviceMemory<'_> {
    fn repeat(&mut self, address: u64, value: &[u8], count: u64) -> Done {
        let out_of_range = |_| (Code::ILLEGAL_ADDRESS, format!("{address:#x} + {count} values is no range"));
        let (address, count) =
            (usize::try_from(address).map_err(out_of_range)?, usize::try_from(count).map_err(out_of_range)?);
        if !address.is_multiple_of(value.len()) {
            return Err((
                Code::MISALIGNED_ADDRESS,
                format!("{address:#x} is no multiple of {}", value.len()),
            ));
        }
        if value.len().checked_mul(count).is_none() {
            return Err((Code::ILLEGAL_ADDRESS, format!("{address:#x} + {count} values is no range")));
        }
        if count == 0 { Ok(()) } else { self.set(address, value, count) }
    }
}
