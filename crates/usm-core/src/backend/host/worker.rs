//! Who runs jobs: two worker threads, and every thread that waits.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::event::HostEvent;
use super::graph::{Graph, Taken};
use super::job::Work;
use crate::fork::{self, PerProcess};
use crate::{Error, Result};

/// Two, so that jobs run beside each other even where nobody waits.
const WORKERS: usize = 2;
/// To wake a thread takes about as long as to copy this much, so it is done at once for ready jobs of so many bytes only.
const WAKE_BYTES: usize = 512 * 1024;
/// Smaller jobs are found by a worker that looks this often.
const POLL: Duration = Duration::from_micros(500);
/// So often it looks in vain before it sleeps until it is woken.
const IDLE_POLLS: u32 = 8;
/// A wait spins this often before it sleeps.
const SPINS: u32 = 200;

/// Runs the jobs of one backend.
#[derive(Debug, Default)]
pub(super) struct Executor {
    /// A forked child has none of the parent's threads, and starts threads of its own.
    shared: PerProcess<Arc<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// For workers: there may be work.
    work: Condvar,
    /// For waiting threads: a job is complete.
    completed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    graph: Graph,
    workers: Vec<JoinHandle<()>>,
    /// Workers that sleep until they are woken.
    sleeping: usize,
    /// A worker looks for jobs every now and then.
    polling: bool,
    /// A worker was woken and has not come yet.
    waking: bool,
    /// Threads that sleep until a job is complete.
    waiting: usize,
    closing: bool,
}

impl Executor {
    /// Submits a job that runs after `dependencies`.
    pub(super) fn submit(
        &self,
        work: Work,
        mut dependencies: Vec<Arc<HostEvent>>,
        profiling: bool,
    ) -> Result<Arc<HostEvent>> {
        let event = Arc::new(HostEvent::submitted(profiling));
        dependencies.retain(|dependency| !dependency.is_complete());
        if dependencies.iter().any(|dependency| dependency.is_lost()) {
            return Err(Error::Forked);
        }
        if dependencies.is_empty() && matches!(work, Work::Nothing) {
            event.start();
            event.stop(work.run());
            event.complete();
            return Ok(event);
        }
        let shared = self.shared.get();
        let mut state = shared.lock();
        state.graph.insert(&event, work, dependencies);
        shared.call_worker(&mut state);
        if state.workers.is_empty() {
            // The system gives no thread.
            drop(shared.wait(state, &event));
        }
        Ok(event)
    }

    /// Returns when the job is complete, and runs jobs meanwhile.
    pub(super) fn wait(&self, event: &HostEvent) -> Result<()> {
        if event.is_complete() {
            return Ok(());
        }
        if event.is_lost() {
            return Err(Error::Forked);
        }
        let shared = self.shared.get();
        drop(shared.wait(shared.lock(), event));
        Ok(())
    }

    /// The direct dependencies of a job that are not complete.
    pub(super) fn dependencies(&self, event: &HostEvent) -> Vec<Arc<HostEvent>> {
        if event.is_complete() || event.is_lost() {
            return Vec::new();
        }
        self.shared.get().lock().graph.dependencies(event)
    }
}

impl Drop for Executor {
    /// Ends when all jobs are complete and no thread is left.
    fn drop(&mut self) {
        let shared = self.shared.get();
        let mut state = shared.lock();
        state.closing = true;
        let workers = std::mem::take(&mut state.workers);
        drop(state);
        shared.work.notify_all();
        for worker in workers {
            // A worker does not panic. One that did has left its loop, too.
            let _joined = worker.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code unwinds while it holds the lock half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that somebody looks at the ready jobs.
    fn call_worker(self: &Arc<Self>, state: &mut State) {
        let soon_enough = state.polling && state.graph.ready_bytes() < WAKE_BYTES;
        if state.waking || soon_enough || !state.graph.has_ready() {
            return;
        }
        if state.polling || state.sleeping > 0 {
            state.waking = true;
            self.work.notify_one();
        } else if state.workers.len() < WORKERS && !state.closing {
            let shared = Arc::clone(self);
            let name = format!("usm-host-{}", state.workers.len());
            if let Ok(worker) = fork::spawn(Builder::new().name(name), move || shared.serve()) {
                state.workers.push(worker);
                state.waking = true;
            }
        }
    }

    fn run<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>, job: Taken) -> MutexGuard<'a, State> {
        if job.len_bytes().max(state.graph.ready_bytes()) >= WAKE_BYTES {
            // Too long for the others to wait for it.
            self.call_worker(&mut state);
        }
        drop(state);
        let slot = job.run();
        let mut state = self.lock();
        state.graph.finish(slot);
        if state.waiting > 0 {
            self.completed.notify_all();
        }
        state
    }

    /// What waiting threads do.
    fn wait<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State>,
        event: &HostEvent,
    ) -> MutexGuard<'a, State> {
        let mut patience = SPINS;
        while !event.is_complete() {
            let job = state.graph.take(event).or_else(|| state.graph.take_newest());
            if let Some(job) = job {
                state = self.run(state, job);
            } else if patience > 0 {
                drop(state);
                while patience > 0 && !event.is_complete() {
                    std::hint::spin_loop();
                    patience -= 1;
                }
                state = self.lock();
            } else {
                state.waiting += 1;
                state = self.completed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.waiting -= 1;
            }
        }
        // What became ready meanwhile is left to others.
        self.call_worker(&mut state);
        state
    }

    /// What a worker does.
    fn serve(self: &Arc<Self>) {
        let mut state = self.lock();
        state.waking = false;
        let (mut seen, mut idle) = (0, 0);
        loop {
            if let Some(job) = state.graph.take_any() {
                state = self.run(state, job);
                idle = 0;
            } else if state.closing {
                // Whoever runs a job that others wait for runs those, too.
                return;
            } else if !state.polling && idle < IDLE_POLLS {
                state.polling = true;
                state =
                    self.work.wait_timeout(state, POLL).map_or_else(|e| e.into_inner().0, |(state, _)| state);
                state.polling = false;
                state.waking = false;
                idle = if state.graph.submitted() == seen { idle + 1 } else { 0 };
                seen = state.graph.submitted();
            } else {
                state.sleeping += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.sleeping -= 1;
                state.waking = false;
                idle = 0;
            }
        }
    }
}
