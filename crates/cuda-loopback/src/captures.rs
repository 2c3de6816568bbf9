//! Captures of streams, and the graphs that they make.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::thread::{self, ThreadId};

use crate::streams::Work;

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`, and the others.
pub(crate) const GLOBAL: i32 = 0;
pub(crate) const RELAXED: i32 = 2;

thread_local! {
    /// How the thread gets on with captures: `cuThreadExchangeStreamCaptureMode`.
    static MODE: Cell<i32> = const { Cell::new(GLOBAL) };
}

/// Functions that may synchronise, allocate or compile: "potentially unsafe API calls".
pub(crate) const UNSAFE: [&str; 17] = [
    "cuCtxDisablePeerAccess",
    "cuCtxEnablePeerAccess",
    "cuCtxSynchronize",
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
    pub(crate) after: Nodes,
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
    pub(crate) fn closure(&self, of: &Nodes) -> Nodes {
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
pub(crate) struct Capture {
    pub(crate) id: u64,
    pub(crate) origin: u32,
    pub(crate) mode: i32,
    pub(crate) thread: ThreadId,
    pub(crate) is_valid: bool,
    /// Handle of its graph.
    pub(crate) graph: usize,
    /// The streams in the capture, and the nodes that their next one comes after.
    pub(crate) streams: BTreeMap<u32, Nodes>,
}

impl Capture {
    /// Whether it forbids calls of [`UNSAFE`] on this thread.
    pub(crate) fn forbids(&self) -> bool {
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
    pub(crate) newest: u64,
    pub(crate) live: Vec<Capture>,
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

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut Capture> {
        self.live.iter_mut().find(|capture| capture.id == id)
    }

    /// Ends the use of some; whether there are any.
    pub(crate) fn invalidate(&mut self, is_wanted: impl Fn(&Capture) -> bool) -> bool {
        let mut found = false;
        for capture in self.live.iter_mut().filter(|capture| is_wanted(capture)) {
            (capture.is_valid, found) = (false, true);
        }
        found
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
