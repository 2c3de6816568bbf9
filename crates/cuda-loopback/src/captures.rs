//! Captures of streams, and the graphs that they make.
//!
//! The rules are those of "Stream Capture" in the CUDA programming guide, and of `cuThreadExchangeStreamCaptureMode`. A call that
//! breaks one invalidates the capture, as in the real driver, and counts as a fault.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::thread::{self, ThreadId};

use crate::codes::{Code, Outcome, Refusal};
use crate::handles::StreamRef;
use crate::state::{Object, State};
use crate::streams::Work;

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`, and the others.
const GLOBAL: i32 = 0;
pub(crate) const RELAXED: i32 = 2;

thread_local! {
    /// How the thread gets on with captures: `cuThreadExchangeStreamCaptureMode`.
    static MODE: Cell<i32> = const { Cell::new(GLOBAL) };
}

/// Functions that may synchronise, allocate or compile: "potentially unsafe API calls".
const UNSAFE: [&str; 18] = [
    "cuCtxDisablePeerAccess",
    "cuCtxEnablePeerAccess",
    "cuCtxSynchronize",
    "cuDevicePrimaryCtxRetain",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuMemAllocManaged",
    "cuMemAlloc_v2",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemPoolCreate",
    "cuMemPoolTrimTo",
    "cuModuleLoadData",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuStreamQuery",
    "cuStreamSynchronize",
];

/// Exchanges the mode of the thread.
pub(crate) fn exchange_mode(mode: i32) -> i32 {
    MODE.replace(mode)
}

/// Positions of nodes in a graph.
pub(crate) type Nodes = BTreeSet<usize>;

/// Recorded work.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) work: Work,
    /// The device of its stream.
    pub(crate) device: usize,
    after: Nodes,
}

/// Nodes, each behind those that it comes after, and what the graph keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// Handles of user objects, one for each reference.
    pub(crate) users: Vec<usize>,
}

impl Graph {
    /// The nodes with all that comes before them.
    fn closure(&self, of: &Nodes) -> Nodes {
        let mut found = of.clone();
        for number in (0..self.nodes.len()).rev() {
            if found.contains(&number) {
                found.extend(&self.nodes[number].after);
            }
        }
        found
    }

    /// The nodes in an order that the edges allow. `pick` chooses one of so many.
    pub(crate) fn in_some_order(&self, mut pick: impl FnMut(usize) -> usize) -> Vec<Node> {
        let (mut left, mut done): (Vec<usize>, Nodes) = ((0..self.nodes.len()).collect(), Nodes::new());
        let mut order = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let is_ready = |number: &usize| self.nodes[*number].after.is_subset(&done);
            let ready: Vec<_> = left.iter().copied().filter(is_ready).collect();
            let next = ready[pick(ready.len())];
            left.retain(|number| *number != next);
            done.insert(next);
            order.push(self.nodes[next].clone());
        }
        order
    }

    /// Whether a kernel of the module is a node.
    pub(crate) fn uses_module(&self, module: usize) -> bool {
        self.nodes.iter().any(|node| matches!(&node.work, Work::Launch(launch) if launch.module == module))
    }
}

/// A value of the program that graphs keep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserObject {
    pub(crate) value: usize,
    pub(crate) destroy: unsafe extern "C" fn(*mut std::ffi::c_void),
    pub(crate) references: usize,
}

/// A capture that has not ended.
#[derive(Debug)]
struct Capture {
    id: u64,
    origin: u32,
    mode: i32,
    thread: ThreadId,
    is_valid: bool,
    /// Handle of its graph.
    graph: usize,
    /// The streams in the capture, and the nodes that their next one comes after.
    streams: BTreeMap<u32, Nodes>,
}

impl Capture {
    /// Whether it forbids calls of [`UNSAFE`] on this thread.
    fn forbids(&self) -> bool {
        let mode = MODE.get();
        if self.thread == thread::current().id() {
            self.mode != RELAXED && mode != RELAXED
        } else {
            self.mode == GLOBAL && mode == GLOBAL
        }
    }
}

/// All captures that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    newest: u64,
    live: Vec<Capture>,
}

/// What is known of the capture of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status {
    pub(crate) id: u64,
    pub(crate) is_valid: bool,
    pub(crate) graph: usize,
}

impl Captures {
    /// The capture that a stream is in.
    pub(crate) fn of(&self, stream: u32) -> Option<Status> {
        let found = self.live.iter().find(|capture| capture.streams.contains_key(&stream))?;
        Some(Status { id: found.id, is_valid: found.is_valid, graph: found.graph })
    }

    fn get_mut(&mut self, id: u64) -> Option<&mut Capture> {
        self.live.iter_mut().find(|capture| capture.id == id)
    }

    /// Ends the use of some; whether there are any.
    fn invalidate(&mut self, is_wanted: impl Fn(&Capture) -> bool) -> bool {
        let mut found = false;
        for capture in self.live.iter_mut().filter(|capture| is_wanted(capture)) {
            (capture.is_valid, found) = (false, true);
        }
        found
    }
}

/// A call that a capture forbids, which invalidates it.
fn forbidden(call: &str, code: Code, reason: &str) -> Refusal {
    code.fault(format!("{call}: {reason}, which invalidates the capture"))
}

impl State {
    /// Refuses a call that may be unsafe while work is captured.
    pub(crate) fn check_safe(&mut self, call: &str) -> Outcome {
        if UNSAFE.contains(&call) && self.captures.invalidate(Capture::forbids) {
            return Err(forbidden(call, Code::STREAM_CAPTURE_UNSUPPORTED, "unsafe in the thread's mode"));
        }
        Ok(())
    }

    /// Refuses a question about a captured stream, or a wait for it.
    pub(crate) fn check_not_captured(&mut self, call: &str, stream: StreamRef) -> Outcome {
        if self.captures.invalidate(|capture| capture.streams.contains_key(&stream.number)) {
            return Err(forbidden(call, Code::STREAM_CAPTURE_UNSUPPORTED, "the stream is captured"));
        }
        self.check_legacy(call, stream)
    }

    /// As [`check_not_captured`](Self::check_not_captured), for all streams of a device.
    pub(crate) fn check_none_captured(&mut self, call: &str, device: usize) -> Outcome {
        let Self { captures, streams, .. } = self;
        let is_there = |number: &u32| streams.get(*number).is_some_and(|stream| stream.device == device);
        if captures.invalidate(|capture| capture.streams.keys().any(is_there)) {
            return Err(forbidden(
                call,
                Code::STREAM_CAPTURE_UNSUPPORTED,
                "a stream of the device is captured",
            ));
        }
        Ok(())
    }

    /// Whether a stream is the legacy default stream, and one is captured that would wait for it.
    pub(crate) fn is_legacy_during_capture(&self, stream: StreamRef) -> bool {
        self.streams.is_legacy(stream.number)
            && self.captures.live.iter().any(|one| self.is_blocking(one, stream))
    }

    fn is_blocking(&self, capture: &Capture, legacy: StreamRef) -> bool {
        capture.streams.keys().any(|number| self.streams.is_blocking(*number, legacy.device))
    }

    /// Refuses the legacy default stream while a stream is captured that would wait for it.
    pub(crate) fn check_legacy(&mut self, call: &str, stream: StreamRef) -> Outcome {
        if !self.is_legacy_during_capture(stream) {
            return Ok(());
        }
        let blocking = |capture: &&Capture| self.is_blocking(capture, stream);
        let ids: Vec<_> = self.captures.live.iter().filter(blocking).map(|capture| capture.id).collect();
        self.captures.invalidate(|capture| ids.contains(&capture.id));
        Err(forbidden(call, Code::STREAM_CAPTURE_IMPLICIT, "the default stream waits for a captured one"))
    }

    /// Refuses a question about an event that was captured.
    pub(crate) fn check_event(&mut self, call: &str, captured: Option<&(u64, Nodes)>) -> Outcome {
        let Some((id, _)) = captured else { return Ok(()) };
        self.captures.invalidate(|capture| capture.id == *id);
        Err(forbidden(call, Code::CAPTURED_EVENT, "the event was recorded in a capture"))
    }

    /// Begins a capture.
    pub(crate) fn begin_capture(&mut self, call: &str, stream: StreamRef, mode: i32) -> Outcome {
        if !(GLOBAL..=RELAXED).contains(&mode) {
            return Err(Code::INVALID_VALUE.refusal());
        }
        if self.streams.is_legacy(stream.number) {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED.refusal());
        }
        if self.captures.of(stream.number).is_some() {
            return Err(Code::INVALID_VALUE.fault(format!("{call}: the stream is captured already")));
        }
        let graph = self.create(Object::Graph(Graph::default()));
        self.captures.newest += 1;
        let (id, origin) = (self.captures.newest, stream.number);
        let streams = BTreeMap::from([(origin, Nodes::new())]);
        let thread = thread::current().id();
        self.captures.live.push(Capture { id, origin, mode, thread, is_valid: true, graph, streams });
        Ok(())
    }

    /// Ends a capture: the handle of its graph.
    pub(crate) fn end_capture(&mut self, call: &str, stream: StreamRef) -> Outcome<usize> {
        let position =
            self.captures.live.iter().position(|capture| capture.streams.contains_key(&stream.number));
        let Some(position) = position else { return Err(Code::INVALID_VALUE.refusal()) };
        let capture = &mut self.captures.live[position];
        if capture.origin != stream.number {
            capture.is_valid = false;
            return Err(forbidden(
                call,
                Code::STREAM_CAPTURE_UNMATCHED,
                "the capture began on another stream",
            ));
        }
        if capture.mode != RELAXED && capture.thread != thread::current().id() {
            return Err(
                Code::STREAM_CAPTURE_WRONG_THREAD.fault(format!("{call}: another thread began the capture"))
            );
        }
        let Capture { is_valid, graph, streams, .. } = self.captures.live.remove(position);
        let is_joined = match self.object(graph) {
            Some(Object::Graph(graph)) => {
                let joined = graph.closure(streams.get(&stream.number).unwrap_or(&Nodes::new()));
                streams.values().all(|nodes| nodes.is_subset(&joined))
            }
            _ => false,
        };
        if is_valid && is_joined {
            return Ok(graph);
        }
        self.remove_graph(graph);
        Err(match is_valid {
            true => forbidden(call, Code::STREAM_CAPTURE_UNJOINED, "a stream was not joined"),
            // The call that did it was the fault.
            false => Code::STREAM_CAPTURE_INVALIDATED.refusal(),
        })
    }

    /// Ends captures of a stream that goes.
    pub(crate) fn destroy_captured(&mut self, call: &str, stream: StreamRef) {
        if self.captures.invalidate(|capture| capture.streams.contains_key(&stream.number)) {
            self.fault(format!("{call}: the stream is captured"));
        }
    }

    /// Adds work to the graph of a stream that is captured.
    pub(crate) fn record(&mut self, stream: StreamRef, status: Status, work: Work) -> Outcome {
        if !status.is_valid {
            return Err(Code::STREAM_CAPTURE_INVALIDATED.refusal());
        }
        if matches!(work, Work::Allocate { .. } | Work::Free { .. }) {
            return Err(Code::NOT_SUPPORTED.refusal());
        }
        let Some(capture) = self.captures.get_mut(status.id) else { return Ok(()) };
        let after = capture.streams.remove(&stream.number).unwrap_or_default();
        let Some(Object::Graph(graph)) = self.object(status.graph) else { return Ok(()) };
        graph.nodes.push(Node { work, device: stream.device, after });
        let node = graph.nodes.len() - 1;
        if let Some(capture) = self.captures.get_mut(status.id) {
            capture.streams.insert(stream.number, Nodes::from([node]));
        }
        Ok(())
    }

    /// What an event stands for that is recorded in a captured stream.
    pub(crate) fn captured_so_far(&mut self, stream: StreamRef, status: Status) -> Outcome<(u64, Nodes)> {
        if !status.is_valid {
            return Err(Code::STREAM_CAPTURE_INVALIDATED.refusal());
        }
        let capture = self.captures.get_mut(status.id);
        let nodes = capture.and_then(|capture| capture.streams.get(&stream.number).cloned());
        Ok((status.id, nodes.unwrap_or_default()))
    }

    /// Lets a stream come after an event that was captured: it joins the capture.
    pub(crate) fn join(&mut self, call: &str, stream: StreamRef, (id, nodes): &(u64, Nodes)) -> Outcome {
        self.check_legacy(call, stream)?;
        if let Some(status) = self.captures.of(stream.number).filter(|status| status.id != *id) {
            self.captures.invalidate(|capture| [*id, status.id].contains(&capture.id));
            return Err(forbidden(call, Code::STREAM_CAPTURE_MERGE, "the event is of another capture"));
        }
        let Some(capture) = self.captures.get_mut(*id) else {
            return Err(Code::CAPTURED_EVENT.fault(format!("{call}: the capture of the event is over")));
        };
        if !capture.is_valid {
            return Err(Code::STREAM_CAPTURE_INVALIDATED.refusal());
        }
        capture.streams.entry(stream.number).or_default().extend(nodes);
        Ok(())
    }

    /// Refuses an event outside of the capture of a stream.
    pub(crate) fn check_isolation(&mut self, call: &str, stream: StreamRef) -> Outcome {
        if self.captures.invalidate(|capture| capture.streams.contains_key(&stream.number)) {
            return Err(forbidden(call, Code::STREAM_CAPTURE_ISOLATION, "the event is of no capture"));
        }
        Ok(())
    }

    /// Removes a graph, and lets go what it keeps.
    pub(crate) fn remove_graph(&mut self, handle: usize) {
        let users = match self.object(handle) {
            Some(Object::Graph(graph) | Object::GraphExec(graph)) => std::mem::take(&mut graph.users),
            _ => Vec::new(),
        };
        self.remove(handle);
        self.release_users(&users);
    }

    /// One more reference to each object.
    pub(crate) fn retain_users(&mut self, users: &[usize]) {
        for user in users {
            if let Some(Object::User(user)) = self.object(*user) {
                user.references += 1;
            }
        }
    }

    /// One reference less to each object. The thread of the operations destroys what has none.
    pub(crate) fn release_users(&mut self, users: &[usize]) {
        for &handle in users {
            let Some(Object::User(user)) = self.object(handle) else { continue };
            user.references = user.references.saturating_sub(1);
            let user = *user;
            if user.references == 0 {
                self.remove(handle);
                self.to_destroy.push(user);
            }
        }
        crate::state::changed();
    }
}

#[cfg(test)]
mod tests {
    use super::{Graph, Node, Nodes};
    use crate::streams::Work;

    #[test]
    fn edges_are_kept_and_others_vary() {
        let node = |address, after: &[usize]| Node {
            work: Work::Prefetch { address, len_bytes: 1 },
            device: 0,
            after: after.iter().copied().collect(),
        };
        let graph = Graph { nodes: vec![node(0, &[]), node(1, &[]), node(2, &[0, 1])], users: Vec::new() };
        let order = |choice: usize| -> Vec<usize> {
            let address = |node: &Node| match node.work {
                Work::Prefetch { address, .. } => address,
                _ => usize::MAX,
            };
            graph.in_some_order(|count| choice % count).iter().map(address).collect()
        };
        assert_eq!([order(0), order(1)], [[0, 1, 2], [1, 0, 2]]);
        assert_eq!(graph.closure(&Nodes::from([2])), Nodes::from([0, 1, 2]));
    }
}
