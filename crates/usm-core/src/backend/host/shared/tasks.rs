//! Host tasks on their way from one copy of the library to another: C functions around a closure, and a closure around those.

use std::ffi::c_void;
use std::{ptr, slice};

use super::super::HostTask;
use super::table::{Failure, Task};

impl Task {
    /// Gives a task of this copy to another one, which ends it by [`Given`].
    pub(super) fn give(task: HostTask) -> Self {
        Self { state: Box::into_raw(Box::new(task)).cast(), run, discard }
    }
}

/// # Safety
/// 1. `state` is that of a task of this copy, which is not used any more.
/// 2. There are as many addresses as `count` says.
/// 3. `failure` may be written.
unsafe extern "C" fn run(state: *mut c_void, addresses: *const *mut u8, count: usize, failure: *mut Failure) {
    // SAFETY: 1: the box of `give`.
    let task = unsafe { Box::from_raw(state.cast::<HostTask>()) };
    let addresses = match count {
        0 => &[],
        // SAFETY: 2.
        _ => unsafe { slice::from_raw_parts(addresses, count) },
    };
    // Nothing unwinds out of it, and so into the other copy.
    if let Err(reason) = task.run(addresses) {
        // SAFETY: 3.
        unsafe { failure.write(Failure::told(&reason)) };
    }
}

/// # Safety
/// 1. `state` is that of a task of this copy, which is not used any more.
unsafe extern "C" fn discard(state: *mut c_void) {
    // SAFETY: 1: the box of `give`.
    drop(unsafe { Box::from_raw(state.cast::<HostTask>()) });
}

/// A task of another copy, which ends with this value.
///
/// Invariant Y1: of a table of this version, and not ended.
pub(super) struct Given(Task);

// SAFETY: a `HostTask` is `Send`, and its functions may be called on any thread.
unsafe impl Send for Given {}

impl Given {
    /// # Safety
    /// 1. `task` came from [`Task::give`] of some copy, and nobody else ends it.
    pub(super) unsafe fn new(task: Task) -> Self {
        Self(task)
    }

    /// The same as a task of this copy.
    pub(super) fn into_task(self) -> HostTask {
        HostTask::new(move |addresses| self.run(addresses))
    }

    fn run(mut self, addresses: &[*mut u8]) -> Result<(), String> {
        let state = std::mem::replace(&mut self.0.state, ptr::null_mut());
        let mut failure = Failure::none();
        // SAFETY: Y1; it counts as ended from here on.
        unsafe { (self.0.run)(state, addresses.as_ptr(), addresses.len(), &raw mut failure) };
        failure.reason()
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        if !self.0.state.is_null() {
            // SAFETY: Y1.
            unsafe { (self.0.discard)(self.0.state) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A task, and what it keeps.
    fn given(run: impl FnOnce() -> Result<(), String> + Send + 'static) -> (Given, Arc<()>) {
        let kept = Arc::new(());
        let owned = Arc::clone(&kept);
        let task = HostTask::new(move |_| {
            let _owned = owned;
            run()
        });
        // SAFETY: fresh, and used here only.
        (unsafe { Given::new(Task::give(task)) }, kept)
    }

    #[test]
    fn each_ends_once_however_it_ends() {
        let (discarded, kept) = given(|| panic!("never runs"));
        drop(discarded);
        assert_eq!(Arc::strong_count(&kept), 1);
        let (discarded, kept) = given(|| panic!("never runs"));
        drop(discarded.into_task());
        assert_eq!(Arc::strong_count(&kept), 1);
        for (run, expected) in [
            (Box::new(|| Ok(())) as Box<dyn FnOnce() -> Result<(), String> + Send>, Ok(())),
            (Box::new(|| Err("no".to_owned())), Err("no".to_owned())),
            (Box::new(|| panic!("help")), Err("it panicked: help".to_owned())),
        ] {
            let (task, kept) = given(run);
            assert_eq!(task.into_task().run(&[]), expected);
            assert_eq!(Arc::strong_count(&kept), 1);
        }
    }
}
