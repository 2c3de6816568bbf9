//! Answers of a backend as data, and the answers of failed calls.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::backend::{
    EventStatus, PlatformInfo, ProfilingTimes, QueueProperties, RawBundle, RawContext, RawDevice, RawEvent,
    RawHandle, RawKernel, RawPlatform, RawQueue,
};
use crate::{DeviceInfo, Error, KernelInfo, PointerInfo, Result};

/// The answer of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Success without a value.
    Done,
    /// The text of the error.
    Failed(String),
    /// A handle with a reference of its own.
    Handle(RawHandle),
    /// Devices, each with a reference of its own.
    Devices(Vec<RawDevice>),
    /// Platforms, each with a reference of its own.
    Platforms(Vec<RawPlatform>),
    /// No such object.
    Nothing,
    /// Filter string of the device, or name of the platform, that was described.
    Described(String),
    /// Context, device and properties of a queue.
    Parts(RawContext, RawDevice, QueueProperties),
    /// Address of a new block; `None` without memory.
    Block(Option<usize>),
    /// The facts about an address.
    Pointer(Option<PointerInfo>),
    /// Address of an external object.
    External(usize),
    /// Yes or no.
    Is(bool),
    /// A number.
    Number(u64),
    /// How far an operation is.
    Status(EventStatus),
    /// When an operation ran.
    Times(ProfilingTimes),
    /// Events, each with a reference of its own.
    Events(Vec<RawEvent>),
    /// A kernel with a reference of its own; `None` without such a kernel.
    Kernel(Option<RawKernel>),
    /// The facts about a kernel.
    KernelInfo(KernelInfo),
}

/// The return type of a method: its values as answers, and its value when the method fails.
pub(super) trait MethodReturn: Sized {
    /// The outcome of a failed call; `None` for a method that cannot fail.
    fn failure(error: Error) -> Option<Self>;

    fn answer(&self) -> Answer;
}

/// The value of a fallible method that succeeds.
pub(super) trait Success {
    fn answer(&self) -> Answer;
}

impl<T: Success> MethodReturn for Result<T> {
    fn failure(error: Error) -> Option<Self> {
        Some(Err(error))
    }

    fn answer(&self) -> Answer {
        match self {
            Ok(value) => value.answer(),
            Err(error) => Answer::Failed(error.to_string()),
        }
    }
}

impl MethodReturn for Option<NonNull<u8>> {
    // Allocation fails without a reason.
    fn failure(_error: Error) -> Option<Self> {
        Some(None)
    }

    fn answer(&self) -> Answer {
        Answer::Block(self.map(|block| block.addr().get()))
    }
}

macro_rules! infallible {
    ($($outcome:ty: $value:pat => $answer:expr;)+) => {$(
        impl MethodReturn for $outcome {
            fn failure(_error: Error) -> Option<Self> {
                None
            }

            fn answer(&self) -> Answer {
                let $value = self;
                $answer
            }
        }
    )+};
}

infallible!(
    (): () => Answer::Done;
    bool: &is => Answer::Is(is);
    u64: &number => Answer::Number(number);
    EventStatus: &status => Answer::Status(status);
    DeviceInfo: info => Answer::Described(info.filter_string());
    Option<PointerInfo>: &info => Answer::Pointer(info);
    PlatformInfo: info => Answer::Described(info.name.clone());
);

macro_rules! success {
    ($($success:ty: $value:pat => $answer:expr;)+) => {$(
        impl Success for $success {
            fn answer(&self) -> Answer {
                let $value = self;
                $answer
            }
        }
    )+};
}

success!(
    (): () => Answer::Done;
    Vec<RawDevice>: devices => Answer::Devices(devices.clone());
    Vec<RawEvent>: events => Answer::Events(events.clone());
    ProfilingTimes: &times => Answer::Times(times);
    RawDevice: &device => Answer::Handle(RawHandle::Device(device));
    RawContext: &context => Answer::Handle(RawHandle::Context(context));
    RawQueue: &queue => Answer::Handle(RawHandle::Queue(queue));
    RawEvent: &event => Answer::Handle(RawHandle::Event(event));
    RawHandle: &handle => Answer::Handle(handle);
    (RawContext, RawDevice, QueueProperties): &(context, device, properties) =>
        Answer::Parts(context, device, properties);
    NonNull<c_void>: pointer => Answer::External(pointer.addr().get());
    RawBundle: &bundle => Answer::Handle(RawHandle::Bundle(bundle));
    Option<RawKernel>: &kernel => Answer::Kernel(kernel);
    KernelInfo: &info => Answer::KernelInfo(info);

    Vec<RawPlatform>: platforms => Answer::Platforms(platforms.clone());
    RawPlatform: &platform => Answer::Handle(RawHandle::Platform(platform));
    Option<RawDevice>: parent => parent.map_or(Answer::Nothing, |parent| Answer::Handle(RawHandle::Device(parent)));
    bool: &is => Answer::Is(is);
);
