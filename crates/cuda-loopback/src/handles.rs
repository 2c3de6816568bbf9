//! Handles from C, checked: live, of the right type, and of the current context where that is needed.

use crate::clock::Point;
use crate::codes::{Code, Outcome};
use crate::state::{Context, Event, Function, Handle, Module, Object, State, current};

/// `CU_STREAM_LEGACY` and 0, the legacy default stream.
const LEGACY: [usize; 2] = [0, 1];
/// `CU_STREAM_PER_THREAD`.
const PER_THREAD: usize = 2;

/// A stream of a live handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamRef {
    pub(crate) number: u32,
    pub(crate) device: usize,
}

macro_rules! getter {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $ty:ty, $what:literal;)*) => {
        impl State {$(
            $(#[$doc])*
            pub(crate) fn $name(&mut self, call: &str, handle: Handle) -> Outcome<$ty> {
                match self.object(handle.addr()) {
                    Some(Object::$variant(value)) => Ok(value),
                    found => Err(wrong(call, handle, $what, found.as_deref())),
                }
            }
        )*}
    };
}
getter! {
    event: Event -> &mut Event, "event";
    module: Module -> &mut Module, "module";
    function: Function -> &mut Function, "function";
}

/// The fault of a handle that is not live or of another type.
fn wrong(call: &str, handle: Handle, what: &str, found: Option<&Object>) -> crate::codes::Refusal {
    let is = if found.is_some() { "of another type than" } else { "no live" };
    Code::INVALID_HANDLE.fault(format!("{call}: the handle {handle:p} is {is} {what}"))
}

impl State {
    /// The device of an ordinal.
    pub(crate) fn device(&self, ordinal: i32) -> Outcome<usize> {
        let device = usize::try_from(ordinal).ok().filter(|&device| device < self.settings.devices);
        device.ok_or_else(|| Code::INVALID_DEVICE.refusal())
    }

    /// The device of a context that was retained.
    pub(crate) fn context(&mut self, call: &str, handle: Handle) -> Outcome<usize> {
        match self.object(handle.addr()) {
            Some(Object::Context(device)) => Ok(*device),
            _ => Err(Code::INVALID_CONTEXT.fault(format!("{call}: the handle {handle:p} is no context"))),
        }
    }

    pub(crate) fn pool_handle(&mut self, call: &str, handle: Handle) -> Outcome<usize> {
        match self.object(handle.addr()) {
            Some(Object::Pool) => Ok(handle.addr()),
            found => Err(wrong(call, handle, "memory pool", found.as_deref())),
        }
    }

    /// The device of the current context, which is usable.
    pub(crate) fn current_device(&self, call: &str) -> Outcome<usize> {
        let device = current(|current| current.last().copied()).flatten();
        let device = device.ok_or_else(|| {
            Code::INVALID_CONTEXT.fault(format!("{call}: no context is current on this thread"))
        })?;
        self.usable(device)?;
        Ok(device)
    }

    pub(crate) fn current_context(&mut self, call: &str) -> Outcome<&mut Context> {
        let device = self.current_device(call)?;
        self.contexts.get_mut(&device).ok_or_else(|| Code::INVALID_CONTEXT.refusal())
    }

    /// Refuses a context that is lost.
    pub(crate) fn usable(&self, device: usize) -> Outcome {
        match self.contexts.get(&device).and_then(|context| context.lost) {
            Some(code) => Err(code.refusal()),
            None => Ok(()),
        }
    }

    /// A stream whose context is usable, for a call that asks about it.
    pub(crate) fn stream(&mut self, call: &str, handle: Handle) -> Outcome<StreamRef> {
        let number = if LEGACY.contains(&handle.addr()) || handle.addr() == PER_THREAD {
            let streams = self.current_context(call)?.default_streams;
            streams[usize::from(handle.addr() == PER_THREAD)]
        } else {
            match self.object(handle.addr()) {
                Some(Object::Stream(number)) => *number,
                found => return Err(wrong(call, handle, "stream", found.as_deref())),
            }
        };
        let device = self.streams.get(number).map(|stream| stream.device);
        let device = device.ok_or_else(|| Code::INVALID_HANDLE.refusal())?;
        self.usable(device)?;
        Ok(StreamRef { number, device })
    }

    /// A stream of the current context, for a call that submits work.
    pub(crate) fn stream_to_use(&mut self, call: &str, handle: Handle) -> Outcome<StreamRef> {
        let device = self.current_device(call)?;
        let stream = self.stream(call, handle)?;
        if stream.device != device {
            let text = format!(
                "{call}: the stream {handle:p} of device {} is used with the context of device {device}",
                stream.device
            );
            return Err(Code::INVALID_HANDLE.fault(text));
        }
        self.check_legacy(call, stream)?;
        Ok(stream)
    }

    /// What host code knows after a wait for an operation.
    pub(crate) fn is_complete_or_lost(&self, point: Point, device: usize) -> bool {
        self.streams.is_complete(point) || self.usable(device).is_err()
    }
}
