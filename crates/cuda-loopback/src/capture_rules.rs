//! What calls do to captures: the rules of "Stream Capture" in the CUDA programming guide, and of `cuThreadExchangeStreamCaptureMode`.
//!
//! A call that breaks one invalidates the capture, as in the real driver, and counts as a fault.

use std::collections::BTreeMap;
use std::thread;

use crate::captures::{Capture, GLOBAL, Graph, Node, Nodes, RELAXED, Status, UNSAFE};
use crate::codes::{Code, Outcome, Refusal};
use crate::handles::StreamRef;
use crate::state::{Object, State};
use crate::streams::Work;

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
