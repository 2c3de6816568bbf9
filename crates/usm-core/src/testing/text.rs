//! Recorded calls as text.

use std::collections::HashMap;
use std::fmt;

use super::{Answer, Call, Record};
use crate::backend::{Composites, RawHandle};

/// The numbers of handles, in the order of their appearance.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<RawHandle, usize>);

impl Names {
    fn name(&mut self, handle: RawHandle) -> String {
        let next = self.0.len();
        let number = *self.0.entry(handle).or_insert(next);
        let what = match handle {
            RawHandle::Platform(_) => "platform",
            RawHandle::Device(_) => "device",
            RawHandle::Context(_) => "context",
            RawHandle::Queue(_) => "queue",
            RawHandle::Event(_) => "event",
            RawHandle::Bundle(_) => "bundle",
            RawHandle::Kernel(_) => "kernel",
        };
        format!("{what}#{number}")
    }

    fn list<T: Copy>(&mut self, handles: &[T], wrap: impl Fn(T) -> RawHandle) -> String {
        let names: Vec<_> = handles.iter().map(|&handle| self.name(wrap(handle))).collect();
        format!("[{}]", names.join(", "))
    }

    fn arguments(&mut self, call: &Call) -> String {
        use RawHandle::{Context, Device, Event, Platform, Queue};
        match call {
            Call::RootDevices => String::new(),
            Call::DeviceInfo { device } | Call::DefaultContext { device } => self.name(Device(*device)),
            Call::CreateContext { devices } => self.list(devices, Device),
            Call::ContextId { context } | Call::ContextDevices { context } => self.name(Context(*context)),
            Call::CreateQueue { context, device, properties } => {
                let order = if properties.in_order { "in order" } else { "out of order" };
                let profiling = if properties.profiling { ", profiling" } else { "" };
                format!(
                    "{}, {}, {order}{profiling}",
                    self.name(Context(*context)),
                    self.name(Device(*device))
                )
            }
            Call::QueueParts { queue } => self.name(Queue(*queue)),
            Call::Barrier { queue, events } => {
                format!("{}, after {}", self.name(Queue(*queue)), self.list(events, Event))
            }
            Call::Prefetch { queue, address, len_bytes, dependencies } => {
                let (queue, after) = (self.name(Queue(*queue)), self.list(dependencies, Event));
                format!("{queue}, {address:#x}, {len_bytes} bytes, after {after}")
            }
            Call::MemAdvise { queue, address, len_bytes, advice, dependencies } => {
                let (queue, after) = (self.name(Queue(*queue)), self.list(dependencies, Event));
                format!("{queue}, {address:#x}, {len_bytes} bytes, advice {advice}, after {after}")
            }
            Call::Same { a, b } => format!("{}, {}", self.name(*a), self.name(*b)),
            Call::Hash { handle } | Call::Release { handle } | Call::ExportExternal { handle } => {
                self.name(*handle)
            }
            Call::Allocate { queue, kind, len_bytes, align_bytes } => {
                format!("{}, {kind}, {len_bytes} bytes, alignment {align_bytes}", self.name(Queue(*queue)))
            }
            Call::Free { context, block: address }
            | Call::PointerInfo { context, address }
            | Call::PointerDevice { context, address } => {
                format!("{}, {address:#x}", self.name(Context(*context)))
            }
            Call::Memcpy { queue, dst, src, len_bytes, dependencies } => {
                let (queue, after) = (self.name(Queue(*queue)), self.list(dependencies, Event));
                format!("{queue}, {dst:#x}, {src:#x}, {len_bytes} bytes, after {after}")
            }
            Call::Fill { queue, dst, pattern, count, dependencies } => {
                let (queue, after) = (self.name(Queue(*queue)), self.list(dependencies, Event));
                format!("{queue}, {dst:#x}, {pattern:?} * {count}, after {after}")
            }
            Call::HostTask { queue, memory, dependencies } => {
                let (queue, after) = (self.name(Queue(*queue)), self.list(dependencies, Event));
                let range = |(start, len_bytes): &(usize, usize)| format!("{start:#x}, {len_bytes} bytes");
                let memory: Vec<_> = memory.iter().map(range).collect();
                format!("{queue}, [{}], after {after}", memory.join("; "))
            }
            Call::Wait { event }
            | Call::EventStatus { event }
            | Call::EventTimes { event }
            | Call::EventDependencies { event } => self.name(Event(*event)),
            Call::ImportExternal { kind, pointer } | Call::DeleteExternal { kind, pointer } => {
                format!("{}, {pointer:#x}", kind.name())
            }
            Call::CreateBundle { context, device, language, code, options } => {
                let (context, device) = (self.name(Context(*context)), self.name(Device(*device)));
                format!("{context}, {device}, {} bytes of {language}, {options:?}", code.len())
            }
            Call::BundleKernel { bundle, name } => {
                format!("{}, {name:?}", self.name(RawHandle::Bundle(*bundle)))
            }
            Call::KernelInfo { kernel, device } => {
                format!(
                    "{}, {}",
                    self.name(RawHandle::Kernel(*kernel)),
                    self.name(RawHandle::Device(*device))
                )
            }
            Call::SubmitKernel { queue, kernel, arguments, range, dependencies } => {
                let (queue, kernel) = (self.name(Queue(*queue)), self.name(RawHandle::Kernel(*kernel)));
                let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
                let (arguments, after) = (arguments.join(", "), self.list(dependencies, Event));
                format!("{queue}, {kernel}, [{arguments}], {range}, after {after}")
            }
            Call::Platforms => String::new(),
            Call::PlatformInfo { platform } | Call::PlatformDevices { platform } => {
                self.name(Platform(*platform))
            }
            Call::Composites { asked: Composites::OfPlatform(platform) } => self.name(Platform(*platform)),
            Call::Composites {
                asked: Composites::ComponentsOf(device) | Composites::WithComponent(device),
            } => self.name(Device(*device)),
            Call::DevicePlatform { device } | Call::ParentDevice { device } => self.name(Device(*device)),
            Call::SubDevices { device, partition } => format!("{}, {partition}", self.name(Device(*device))),
            Call::CanAccessPeer { device, peer, access } => {
                format!("{}, {}, {access}", self.name(Device(*device)), self.name(Device(*peer)))
            }
            Call::SetPeerAccess { device, peer, enabled } => {
                format!("{}, {}, {enabled}", self.name(Device(*device)), self.name(Device(*peer)))
            }
        }
    }

    fn answer(&mut self, answer: &Answer) -> String {
        match answer {
            Answer::Done => "done".to_owned(),
            Answer::Failed(error) => format!("error: {error}"),
            Answer::Handle(handle) => self.name(*handle),
            Answer::Devices(devices) => self.list(devices, RawHandle::Device),
            Answer::Platforms(platforms) => self.list(platforms, RawHandle::Platform),
            Answer::Nothing => "none".to_owned(),
            Answer::Described(filter) => filter.clone(),
            Answer::Parts(context, device, _) => {
                format!(
                    "{}, {}",
                    self.name(RawHandle::Context(*context)),
                    self.name(RawHandle::Device(*device))
                )
            }
            Answer::Block(Some(address)) | Answer::External(address) => format!("{address:#x}"),
            Answer::Block(None) => "no memory".to_owned(),
            Answer::Pointer(Some(info)) => info.kind.to_string(),
            Answer::Pointer(None) => "no USM".to_owned(),
            Answer::Is(is) => is.to_string(),
            Answer::Number(number) => number.to_string(),
            Answer::Status(status) => status.to_string(),
            Answer::Times(times) => format!("{} to {} ns", times.start_ns, times.end_ns),
            Answer::Events(events) => self.list(events, RawHandle::Event),
            Answer::Kernel(None) => "no kernel".to_owned(),
            Answer::Kernel(Some(kernel)) => self.name(RawHandle::Kernel(*kernel)),
            Answer::KernelInfo(info) => format!("{} arguments", info.num_args),
        }
    }

    /// Writes one line.
    pub(super) fn write(&mut self, f: &mut fmt::Formatter<'_>, record: &Record) -> fmt::Result {
        let arguments = self.arguments(&record.call);
        writeln!(f, "{}({arguments}) -> {}", record.call.method(), self.answer(&record.answer))
    }
}
