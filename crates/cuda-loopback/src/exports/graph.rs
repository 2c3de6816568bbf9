//! Captures of streams, graphs, and what they keep.

use std::ffi::{c_int, c_uint, c_void};

use super::{export, give, handle};
use crate::captures::{Graph, RELAXED, UserObject, exchange_mode};
use crate::codes::{Code, Outcome};
use crate::operations::{start, submit};
use crate::state::{Handle, Object, State, current};
use crate::streams::Work;

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC` and `CU_GRAPH_USER_OBJECT_MOVE`.
const NO_DESTRUCTOR_SYNC: c_uint = 1;
const MOVE: c_uint = 1;

fn graph(state: &mut State, call: &str, of: Handle) -> Outcome<Graph> {
    match state.object(of.addr()) {
        Some(Object::Graph(graph)) => Ok(graph.clone()),
        _ => Err(Code::INVALID_HANDLE.fault(format!("{call}: the handle {of:p} is no graph"))),
    }
}

export! {
    fn cuThreadExchangeStreamCaptureMode(call, state, mode: *mut c_int) {
        // Stricter than the header, which leaves open whether a context is needed.
        if current(|current| current.is_empty()).unwrap_or(true) {
            return Err(Code::INVALID_CONTEXT.fault(format!("{call}: no context is current on this thread")));
        }
        drop(state); // the mode is the thread's
        if mode.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // SAFETY: the header's contract: readable.
        let new = unsafe { mode.read() };
        if !(0..=RELAXED).contains(&new) {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // SAFETY: the header's contract: writable.
        unsafe { give(mode, exchange_mode(new)) }
    }

    fn cuStreamBeginCapture_v2(call, state, stream: Handle, mode: c_int) {
        let stream = state.stream_to_use(call, stream)?;
        state.begin_capture(call, stream, mode)
    }

    // The graph is null after an error.
    fn cuStreamEndCapture(call, state, stream: Handle, graph: *mut Handle) {
        let stream = state.stream(call, stream)?;
        let ended = state.end_capture(call, stream);
        // SAFETY: the header's contract: writable.
        unsafe { give(graph, handle(*ended.as_ref().unwrap_or(&0))) }?;
        ended.map(|_| ())
    }

    // The legacy default stream has no answer while a stream is captured that would wait for it. That capture goes on.
    fn cuStreamIsCapturing(call, state, stream: Handle, status: *mut c_int) {
        let stream = state.stream(call, stream)?;
        if state.is_legacy_during_capture(stream) {
            return Err(Code::STREAM_CAPTURE_IMPLICIT.refusal());
        }
        let found = state.captures.of(stream.number);
        // SAFETY: the header's contract: writable.
        unsafe { give(status, found.map_or(0, |found| if found.is_valid { 1 } else { 2 })) }
    }

    // Without the nodes, which nobody asks for.
    fn cuStreamGetCaptureInfo_v2(
        call, state, stream: Handle, status: *mut c_int, id: *mut u64, graph: *mut Handle,
        nodes: *mut *const Handle, count: *mut usize,
    ) {
        let stream = state.stream(call, stream)?;
        if state.is_legacy_during_capture(stream) {
            return Err(Code::STREAM_CAPTURE_IMPLICIT.refusal());
        }
        if !nodes.is_null() || !count.is_null() {
            return Err(Code::NOT_SUPPORTED.refusal());
        }
        let found = state.captures.of(stream.number);
        // SAFETY: the header's contract: writable.
        unsafe { give(status, found.map_or(0, |found| if found.is_valid { 1 } else { 2 })) }?;
        let Some(found) = found.filter(|found| found.is_valid) else { return Ok(()) };
        if !id.is_null() {
            // SAFETY: the header's contract: null or writable.
            unsafe { give(id, found.id) }?;
        }
        if !graph.is_null() {
            // SAFETY: the header's contract: null or writable.
            unsafe { give(graph, handle(found.graph)) }?;
        }
        Ok(())
    }

    // The number of nodes alone.
    fn cuGraphGetNodes(call, state, of: Handle, nodes: *mut Handle, count: *mut usize) {
        let found = graph(&mut state, call, of)?;
        if !nodes.is_null() {
            return Err(Code::NOT_SUPPORTED.refusal());
        }
        // SAFETY: the header's contract: writable.
        unsafe { give(count, found.nodes.len()) }
    }

    fn cuGraphInstantiateWithFlags(call, state, exec: *mut Handle, of: Handle, flags: u64) {
        let found = graph(&mut state, call, of)?;
        if flags != 0 || exec.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        state.retain_users(&found.users);
        let new = state.create(Object::GraphExec(found));
        // SAFETY: the header's contract: writable.
        unsafe { give(exec, handle(new)) }
    }

    // Runs the nodes one after the other, in any order that the edges allow: a missing edge shows sooner or later.
    fn cuGraphLaunch(call, state, exec: Handle, stream: Handle) {
        let Some(Object::GraphExec(graph)) = state.object(exec.addr()) else {
            return Err(Code::INVALID_HANDLE.fault(format!("{call}: the handle {exec:p} is no executable graph")));
        };
        let graph = graph.clone();
        let stream = state.stream_to_use(call, stream)?;
        if state.captures.of(stream.number).is_some() || graph.nodes.iter().any(|node| node.device != stream.device) {
            return Err(Code::NOT_SUPPORTED.refusal());
        }
        for node in graph.in_some_order(|count| state.streams.pick(count)) {
            submit(&mut state, stream, node.work)?;
        }
        // What the graph keeps stays until the launch is complete.
        state.retain_users(&graph.users);
        submit(&mut state, stream, Work::Release { users: graph.users }).map(|_| ())
    }

    fn cuGraphExecDestroy(call, state, exec: Handle) {
        match state.object(exec.addr()) {
            Some(Object::GraphExec(_)) => state.remove_graph(exec.addr()),
            _ => return Err(Code::INVALID_HANDLE.fault(format!("{call}: the handle {exec:p} is no executable graph"))),
        }
        Ok(())
    }

    fn cuGraphDestroy(call, state, of: Handle) {
        graph(&mut state, call, of)?;
        state.remove_graph(of.addr());
        Ok(())
    }

    fn cuUserObjectCreate(
        call, state, object: *mut Handle, value: *mut c_void, destroy: Option<unsafe extern "C" fn(*mut c_void)>,
        references: c_uint, flags: c_uint,
    ) {
        let Some(destroy) = destroy.filter(|_| flags == NO_DESTRUCTOR_SYNC && references > 0 && !object.is_null()) else {
            return Err(Code::INVALID_VALUE.refusal());
        };
        start(&mut state)?; // which destroys it
        let value = value.expose_provenance();
        let new = state.create(Object::User(UserObject { value, destroy, references: references as usize }));
        // SAFETY: the header's contract: writable.
        unsafe { give(object, handle(new)) }
    }

    fn cuUserObjectRelease(call, state, object: Handle, count: c_uint) {
        let Some(Object::User(_)) = state.object(object.addr()) else {
            return Err(Code::INVALID_HANDLE.fault(format!("{call}: the handle {object:p} is no user object")));
        };
        state.release_users(&vec![object.addr(); count as usize]);
        Ok(())
    }

    fn cuGraphRetainUserObject(call, state, of: Handle, object: Handle, count: c_uint, flags: c_uint) {
        graph(&mut state, call, of)?;
        if !matches!(state.object(object.addr()), Some(Object::User(_))) || flags & !MOVE != 0 {
            return Err(Code::INVALID_VALUE.fault(format!("{call}: the handle {object:p} is no user object")));
        }
        let users = vec![object.addr(); count as usize];
        if flags & MOVE == 0 {
            state.retain_users(&users);
        }
        if let Some(Object::Graph(graph)) = state.object(of.addr()) {
            graph.users.extend(users);
        }
        Ok(())
    }
}
