//! The jobs that are not complete, and which of them wait for which.

use std::sync::Arc;

use super::event::HostEvent;
use super::job::Work;

/// Slots that are kept when no job is left; more go back to the allocator.
const KEPT_SLOTS: usize = 4096;

#[derive(Debug)]
struct Job {
    event: Arc<HostEvent>,
    /// Until it is taken to be run.
    work: Option<Work>,
    /// How many of its dependencies are not complete. With 0 it is ready.
    waits_for: usize,
    /// Slots of the jobs that wait for this one.
    dependents: Vec<usize>,
    dependencies: Vec<Arc<HostEvent>>,
    /// Its place in the list of ready jobs, while it is there.
    ready_at: usize,
}

/// A job on its way through a thread that runs it.
#[derive(Debug)]
pub(super) struct Taken {
    slot: usize,
    event: Arc<HostEvent>,
    work: Work,
}

impl Taken {
    pub(super) fn len_bytes(&self) -> usize {
        self.work.len_bytes()
    }

    /// Runs the job; gives what `Graph::finish` must be told.
    pub(super) fn run(self) -> usize {
        self.event.stop(self.work.run());
        self.slot
    }
}

/// All jobs from their submission to their end. Slots instead of links: chains of any length need no recursion.
///
/// Invariant G1: an event that is not complete has a job here, in the slot that it names.
#[derive(Debug, Default)]
pub(super) struct Graph {
    slots: Vec<Option<Job>>,
    vacant: Vec<usize>,
    /// Slots of the jobs that could run now, roughly the newest last.
    ready: Vec<usize>,
    ready_bytes: usize,
    submitted: u64,
    random: u64,
}

impl Graph {
    pub(super) fn is_empty(&self) -> bool {
        self.vacant.len() == self.slots.len()
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Bytes that the ready jobs write together.
    pub(super) fn ready_bytes(&self) -> usize {
        self.ready_bytes
    }

    /// Jobs submitted so far.
    pub(super) fn submitted(&self) -> u64 {
        self.submitted
    }

    /// Adds a job that runs after `dependencies`.
    pub(super) fn insert(
        &mut self,
        event: &Arc<HostEvent>,
        work: Work,
        mut dependencies: Vec<Arc<HostEvent>>,
    ) {
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        dependencies.retain(|dependency| !dependency.is_complete());
        for dependency in &dependencies {
            // There, by G1.
            if let Some(job) = self.job(dependency.slot()) {
                job.dependents.push(slot);
            }
        }
        event.set_slot(slot);
        let waits_for = dependencies.len();
        let event = Arc::clone(event);
        self.slots[slot] = Some(Job {
            event,
            work: Some(work),
            waits_for,
            dependents: Vec::new(),
            dependencies,
            ready_at: 0,
        });
        self.submitted += 1;
        if waits_for == 0 {
            self.make_ready(slot);
        }
    }

    /// Takes the job of an event, if it is ready.
    pub(super) fn take(&mut self, event: &HostEvent) -> Option<Taken> {
        let job = self.slots.get(event.slot())?.as_ref()?;
        // A slot is used again after an end, so the event has to be looked at, too.
        let is_ready = std::ptr::eq(&*job.event, event) && job.waits_for == 0 && job.work.is_some();
        is_ready.then_some(job.ready_at).and_then(|at| self.take_at(at))
    }

    /// Takes a ready job, one of the newest: the opposite of the order that a forgotten dependency needs.
    pub(super) fn take_newest(&mut self) -> Option<Taken> {
        self.take_at(self.ready.len().checked_sub(1)?)
    }

    /// Takes any ready job: no order to rely on, and none that is left out for ever.
    pub(super) fn take_any(&mut self) -> Option<Taken> {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let random = (self.random >> 33) as usize;
        self.take_at(random.checked_rem(self.ready.len())?)
    }

    /// Ends a job that was taken and has run. Jobs that waited for nothing else become ready.
    pub(super) fn finish(&mut self, slot: usize) {
        let Some(job) = self.slots.get_mut(slot).and_then(Option::take) else { return };
        job.event.complete();
        for dependent in job.dependents {
            let Some(waiting) = self.job(dependent) else { continue };
            waiting.waits_for -= 1;
            if waiting.waits_for == 0 {
                self.make_ready(dependent);
            }
        }
        self.vacant.push(slot);
        if self.is_empty() && self.slots.len() > KEPT_SLOTS {
            self.slots = Vec::new();
            self.vacant = Vec::new();
            self.ready = Vec::new();
        }
    }

    /// What the job of an event waits for, without what is complete.
    pub(super) fn dependencies(&self, event: &HostEvent) -> Vec<Arc<HostEvent>> {
        let job = self.slots.get(event.slot()).and_then(Option::as_ref);
        let job = job.filter(|job| std::ptr::eq(&*job.event, event));
        let dependencies = job.map_or(&[][..], |job| &job.dependencies);
        dependencies.iter().filter(|dependency| !dependency.is_complete()).cloned().collect()
    }

    fn job(&mut self, slot: usize) -> Option<&mut Job> {
        self.slots.get_mut(slot)?.as_mut()
    }

    fn make_ready(&mut self, slot: usize) {
        let at = self.ready.len();
        let Some(job) = self.job(slot) else { return };
        job.ready_at = at;
        let len_bytes = job.work.as_ref().map_or(0, Work::len_bytes);
        self.ready_bytes += len_bytes;
        self.ready.push(slot);
    }

    fn take_at(&mut self, at: usize) -> Option<Taken> {
        let slot = self.ready.swap_remove(at);
        if let Some(moved) = self.ready.get(at).copied().and_then(|moved| self.job(moved)) {
            moved.ready_at = at;
        }
        let job = self.job(slot)?;
        let work = job.work.take()?;
        let event = Arc::clone(&job.event);
        event.start();
        self.ready_bytes -= work.len_bytes();
        Some(Taken { slot, event, work })
    }
}
