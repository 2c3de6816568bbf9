//! A queue of the host backend: what a job has to run after.

use std::sync::{Arc, Mutex, PoisonError};

use super::context::HostContext;
use super::device::SimulatedDevice;
use super::event::HostEvent;
use super::job::Work;
use super::worker::Executor;
use crate::Result;
use crate::backend::QueueProperties;
use crate::fork::PerProcess;

/// Jobs of an out-of-order queue that are remembered before those that are complete are sorted out.
const REMEMBERED: usize = 64;

/// A queue.
#[derive(Debug)]
pub(super) struct HostQueue {
    pub(super) context: Arc<HostContext>,
    pub(super) device: Arc<SimulatedDevice>,
    pub(super) properties: QueueProperties,
    /// Jobs that were pending in the parent of a forked child never run there, so the child goes on without them.
    order: PerProcess<Mutex<QueueOrder>>,
}

#[derive(Debug, Default)]
struct QueueOrder {
    /// What every new job runs after: the last barrier, and on an in-order queue the last job.
    after: Option<Arc<HostEvent>>,
    /// Jobs that were submitted since, for the next barrier.
    since: Vec<Arc<HostEvent>>,
    /// Length of `since` at which it is sorted out.
    limit: usize,
}

impl HostQueue {
    pub(super) fn new(
        context: Arc<HostContext>,
        device: Arc<SimulatedDevice>,
        properties: QueueProperties,
    ) -> Self {
        Self { context, device, properties, order: PerProcess::default() }
    }

    /// Submits a job.
    pub(super) fn submit(
        &self,
        executor: &Executor,
        work: Work,
        dependencies: Vec<Arc<HostEvent>>,
    ) -> Result<Arc<HostEvent>> {
        self.place(executor, work, dependencies, self.properties.in_order)
    }

    /// Submits a job without work, before all that comes later: after `events`, or when there is none after all that is there.
    pub(super) fn barrier(&self, executor: &Executor, events: Vec<Arc<HostEvent>>) -> Result<Arc<HostEvent>> {
        self.place(executor, Work::Nothing, events, true)
    }

    fn place(
        &self,
        executor: &Executor,
        work: Work,
        mut dependencies: Vec<Arc<HostEvent>>,
        before_later: bool,
    ) -> Result<Arc<HostEvent>> {
        // Nothing unwinds while it holds the lock. It is held over the submission: the queue's order is that of the graph.
        let mut order = self.order.get().lock().unwrap_or_else(PoisonError::into_inner);
        let after_all = before_later && dependencies.is_empty();
        if after_all {
            dependencies.clone_from(&order.since);
        }
        let is_new = |after: &&Arc<HostEvent>| {
            !after.is_complete() && !dependencies.iter().any(|other| Arc::ptr_eq(other, after))
        };
        let after = order.after.as_ref().filter(is_new).cloned();
        dependencies.extend(after);
        let event = executor.submit(work, dependencies, self.properties.profiling)?;
        if before_later {
            order.after = Some(Arc::clone(&event));
            if after_all {
                order.since.clear();
            }
        } else {
            order.remember(&event);
        }
        Ok(event)
    }
}

impl QueueOrder {
    fn remember(&mut self, event: &Arc<HostEvent>) {
        if self.since.len() >= self.limit {
            self.since.retain(|event| !event.is_complete());
            self.limit = (2 * self.since.len()).max(REMEMBERED);
        }
        self.since.push(Arc::clone(event));
    }
}
