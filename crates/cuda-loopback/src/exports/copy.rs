//! Copies, fills, and hints for managed memory.

use std::ffi::{c_int, c_uint, c_void};

use super::{export, stream};
use crate::codes::{Code, Outcome};
use crate::devices::CPU;
use crate::handles::StreamRef;
use crate::host;
use crate::memory::BlockKind;
use crate::operations::submit;
use crate::state::{Handle, Locked, State};
use crate::streams::{Source, Work};

/// The numbers of `CUmem_advise`.
const ADVICE: std::ops::RangeInclusive<c_int> = 1..=6;

/// What an operand of a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    /// Checked when the operation runs.
    Known,
    Pageable,
}

/// A pinned range must stay in its allocation, since host memory may follow it. Ranges of device and managed memory are checked by the
/// operation.
fn operand(state: &State, call: &str, address: usize, len_bytes: usize) -> Outcome<Operand> {
    match state.memory.find(address) {
        None if state.memory.is_of_device(address) => Ok(Operand::Known),
        None => Ok(Operand::Pageable),
        Some((start, block))
            if block.kind == BlockKind::Pinned && len_bytes > block.len_bytes - (address - start) =>
        {
            let text = format!("{call}: {address:#x} + {len_bytes} leaves {start:#x} + {}", block.len_bytes);
            Err(Code::INVALID_VALUE.fault(text))
        }
        Some(_) => Ok(Operand::Known),
    }
}

/// Bytes from pageable memory are read during the call; a copy to it is complete when the call returns.
fn copy(
    mut state: Locked,
    call: &str,
    to: usize,
    from: usize,
    len_bytes: usize,
    queue: StreamRef,
) -> Outcome {
    let is_captured = state.captures.of(queue.number).is_some();
    let to_operand = operand(&state, call, to, len_bytes)?;
    let from = match operand(&state, call, from, len_bytes)? {
        Operand::Known => Source::Address(from),
        Operand::Pageable => {
            let unreadable =
                || Code::INVALID_VALUE.fault(format!("{call}: {from:#x} + {len_bytes} is not readable"));
            match is_captured {
                true => Source::Pageable(from),
                false => Source::Staged(host::read(from, len_bytes).ok_or_else(unreadable)?),
            }
        }
    };
    submit(&mut state, queue, Work::Copy { to, from, len_bytes })?;
    if to_operand == Operand::Pageable && !is_captured {
        drop(stream::synchronize(state, queue)?);
    }
    Ok(())
}

/// Sets `count` values in a row.
fn set(mut state: Locked, call: &str, to: u64, value: &[u8], count: usize, stream: Handle) -> Outcome {
    let stream = state.stream_to_use(call, stream)?;
    let to = usize::try_from(to).unwrap_or_default();
    let len_bytes = value.len().checked_mul(count).ok_or_else(|| Code::INVALID_VALUE.refusal())?;
    if count == 0 {
        return Ok(());
    }
    if !to.is_multiple_of(value.len()) {
        return Err(Code::INVALID_VALUE.refusal());
    }
    if operand(&state, call, to, len_bytes)? == Operand::Pageable {
        return Err(Code::INVALID_VALUE.fault(format!("{call}: {to:#x} is of no allocation")));
    }
    submit(&mut state, stream, Work::Set { to, value: value.to_vec(), count }).map(|_| ())
}

/// Refuses a range that is not managed memory, and a place that is no device.
fn managed(state: &State, address: u64, len_bytes: usize, place: c_int) -> Outcome<usize> {
    if place != CPU {
        state.device(place)?;
    }
    let address = usize::try_from(address).unwrap_or_default();
    let is_in =
        |start: usize, block_bytes: usize| len_bytes > 0 && len_bytes <= block_bytes - (address - start);
    match state.memory.find(address) {
        Some((start, block)) if block.kind == BlockKind::Managed && is_in(start, block.len_bytes) => {
            Ok(address)
        }
        _ => Err(Code::INVALID_VALUE.refusal()),
    }
}

export! {
    fn cuMemcpyAsync(call, state, to: u64, from: u64, len_bytes: usize, stream: Handle) {
        let stream = state.stream_to_use(call, stream)?;
        let address = |address| usize::try_from(address).unwrap_or_default();
        let (to, from) = (address(to), address(from));
        if len_bytes == 0 {
            return Ok(());
        }
        // The driver refuses memory of a pool that the stream's device may not access.
        if [to, from].iter().any(|&address| state.memory.is_closed_to(address, stream.device)) {
            return Err(Code::INVALID_VALUE.refusal());
        }
        copy(state, call, to, from, len_bytes, stream)
    }

    fn cuMemcpyHtoDAsync_v2(call, state, to: u64, from: *const c_void, len_bytes: usize, stream: Handle) {
        let stream = state.stream_to_use(call, stream)?;
        copy(state, call, usize::try_from(to).unwrap_or_default(), from.addr(), len_bytes, stream)
    }

    fn cuMemcpyDtoHAsync_v2(call, state, to: *mut c_void, from: u64, len_bytes: usize, stream: Handle) {
        let stream = state.stream_to_use(call, stream)?;
        copy(state, call, to.addr(), usize::try_from(from).unwrap_or_default(), len_bytes, stream)
    }

    fn cuMemcpyPeerAsync(
        call, state, to: u64, to_context: Handle, from: u64, from_context: Handle, len_bytes: usize, stream: Handle,
    ) {
        let stream = state.stream_to_use(call, stream)?;
        let [to, from] = [to, from].map(|address| usize::try_from(address).unwrap_or_default());
        for (address, context) in [(to, to_context), (from, from_context)] {
            let device = state.context(call, context)?;
            if state.memory.find(address).is_none_or(|(_, block)| block.device != device) {
                let text = format!("{call}: {address:#x} is no memory of the context");
                return Err(Code::INVALID_VALUE.fault(text));
            }
        }
        if len_bytes == 0 { Ok(()) } else { copy(state, call, to, from, len_bytes, stream) }
    }

    fn cuMemsetD8Async(call, state, to: u64, value: u8, count: usize, stream: Handle) {
        set(state, call, to, &[value], count, stream)
    }

    fn cuMemsetD16Async(call, state, to: u64, value: u16, count: usize, stream: Handle) {
        set(state, call, to, &value.to_ne_bytes(), count, stream)
    }

    fn cuMemsetD32Async(call, state, to: u64, value: c_uint, count: usize, stream: Handle) {
        set(state, call, to, &value.to_ne_bytes(), count, stream)
    }

    fn cuMemPrefetchAsync(call, state, address: u64, len_bytes: usize, device: c_int, stream: Handle) {
        let stream = state.stream_to_use(call, stream)?;
        let address = managed(&state, address, len_bytes, device)?;
        submit(&mut state, stream, Work::Prefetch { address, len_bytes }).map(|_| ())
    }

    fn cuMemAdvise(call, state, address: u64, len_bytes: usize, advice: c_int, device: c_int) {
        managed(&state, address, len_bytes, device)?;
        if ADVICE.contains(&advice) { Ok(()) } else { Err(Code::INVALID_VALUE.refusal()) }
    }
}
