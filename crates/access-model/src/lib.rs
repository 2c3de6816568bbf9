//! A model of the owner of access of `usm-memory`: its own files over threads of loom, which tries all their orders with up to two
//! preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says.
//!
//! Queues, events and blocks are stand-ins. An operation of a queue touches its memory as late as possible, when somebody waits for it, or
//! as early as possible, when it is submitted: both are tried. Loom finds an access to memory that nothing orders, and threads that wait
//! for each other. Each function is a model, which `tests/models.rs` runs.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    unused_imports,
    clippy::needless_question_mark,
    clippy::ptr_arg,
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    reason = "the files are made for more than the model, whose memory is made for misuse"
)]

extern crate self as usm_core;

/// Values of a thread are those of loom's threads.
macro_rules! thread_local {
    ($($(#[$attribute:meta])* static $name:ident: $type:ty = const $value:block;)*) => {
        loom::thread_local! { $(static $name: $type = $value;)* }
    };
}

#[path = "../../usm-memory/src/tracker/by_address.rs"]
mod by_address;
#[path = "../../usm-memory/src/access/guard.rs"]
mod guard;
#[path = "../../usm-memory/src/tracker/operation.rs"]
mod operation;
#[path = "../../usm-memory/src/access/order.rs"]
mod order;
#[path = "../../usm-memory/src/tracker/state.rs"]
mod state;
#[path = "../../usm-memory/src/tracker/stripes.rs"]
mod stripes;
#[path = "../../usm-memory/src/access/submit.rs"]
mod submit;
#[path = "../../usm-memory/src/tracker/table.rs"]
mod table;
#[path = "../../usm-memory/src/tracker/thread.rs"]
mod thread;

mod atomic;
mod stand_ins;

/// As in the library.
pub(crate) mod tracker {
    pub(crate) use super::{
        across_copies, by_address, capture, numbers, operation, process, state, stripes, table, thread, waits,
    };
}

use std::sync::Arc;

use loom::thread::spawn;

use self::guard::{ReadAccess, WriteAccess};
use self::stand_ins::*;
use self::submit::{Operand, submit_async};

/// Runs a model for operations that touch their memory late, and for those that do so early.
fn each(model: impl Fn(bool) + Send + Sync + Copy + 'static) {
    for is_early in [false, true] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound.get_or_insert(2);
        builder.check(move || model(is_early));
    }
}

/// Submits a write of all of a buffer.
fn write(queue: &Queue, buffer: &UsmBuffer, value: u64, is_early: bool) {
    let memory = Arc::clone(&buffer.block().memory);
    let operand = [Operand::written(buffer, 0..1)];
    let run = |_: &[*mut u8], after: &[Event]| {
        Ok(queue.run(after, is_early, Box::new(move || memory.write(value))))
    };
    unsafe { submit_async(queue, &operand, &[], run) }.unwrap();
}

fn host_read(buffer: &UsmBuffer) -> u64 {
    let _access = buffer.read_access(0..1).unwrap();
    buffer.block().memory.read()
}

fn host_write(buffer: &UsmBuffer, value: u64) {
    let _access = buffer.write_access(0..1).unwrap();
    buffer.block().memory.write(value);
}

pub fn two_submissions_and_a_host_read() {
    each(|is_early| {
        let queues = [Queue::new(true), Queue::new(false)];
        let buffer = UsmBuffer::new(16, &queues[0]);
        let writers: Vec<_> = (1..3)
            .zip(queues)
            .map(|(value, queue)| {
                let buffer = buffer.clone();
                spawn(move || write(&queue, &buffer, value, is_early))
            })
            .collect();
        assert!(host_read(&buffer) < 3);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert!((1..3).contains(&host_read(&buffer)));
    });
}

pub fn the_submissions_of_one_thread_stay_in_their_order() {
    each(|is_early| {
        let queues = [Queue::new(false), Queue::new(true)];
        let buffer = UsmBuffer::new(16, &queues[0]);
        let writer = {
            let buffer = buffer.clone();
            spawn(move || {
                write(&queues[0], &buffer, 1, is_early);
                write(&queues[1], &buffer, 2, is_early);
            })
        };
        let seen = [host_read(&buffer), host_read(&buffer)];
        assert!(seen[0] <= seen[1], "{seen:?}");
        writer.join().unwrap();
        assert_eq!(host_read(&buffer), 2);
    });
}

pub fn memory_is_freed_after_its_operations() {
    each(|is_early| {
        let queue = Queue::new(false);
        let buffer = UsmBuffer::new(16, &queue);
        let writer = {
            let (buffer, queue) = (buffer.clone(), queue.clone());
            spawn(move || write(&queue, &buffer, 1, is_early))
        };
        write(&queue, &buffer, 2, is_early);
        drop(buffer); // writes to memory that is free fail
        writer.join().unwrap();
        queue.wait().unwrap();
    });
}

pub fn published_memory_meets_its_import_by_address() {
    each(|is_early| {
        let queue = Queue::new(true);
        let buffer = UsmBuffer::new(16, &queue);
        let other = Queue::new(false);
        let writer = {
            let buffer = buffer.clone();
            spawn(move || write(&other, &buffer, 1, is_early))
        };
        buffer.block().publish().unwrap();
        let import = buffer.import();
        write(&Queue::new(false), &import, 2, is_early);
        assert!((1..3).contains(&host_read(&import)));
        writer.join().unwrap();
        assert!((1..3).contains(&host_read(&buffer)));
        assert_eq!(host_read(&buffer), host_read(&import));
    });
}

pub fn the_next_owner_of_a_slot_comes_after_the_work_on_it() {
    each(|is_early| {
        let queue = Queue::new(true);
        let first = UsmBuffer::slot(16, &queue);
        let memory = Arc::clone(&first.block().memory);
        let writer = {
            let (first, queue) = (first.clone(), queue.clone());
            spawn(move || write(&queue, &first, 1, is_early))
        };
        writer.join().unwrap();
        // The end of a slot, and its next owner, who waits, beside other work of the queue.
        let pending = first.end_slot();
        let second = UsmBuffer::over_slot(16, pending.as_ref().unwrap_or(&queue), memory, pending.is_some());
        let other = {
            let (other, queue) = (UsmBuffer::new(32, &queue), queue.clone());
            spawn(move || write(&queue, &other, 5, is_early))
        };
        host_write(&second, 2);
        assert_eq!(host_read(&second), 2);
        other.join().unwrap();
        queue.wait().unwrap();
        assert_eq!(host_read(&second), 2);
    });
}

pub fn host_code_that_wants_two_buffers_crosswise_comes_to_its_end() {
    each(|_| {
        let queue = Queue::new(true);
        let [a, b] = [16, 32].map(|start| UsmBuffer::new(start, &queue));
        let copy = |to: &UsmBuffer, from: &UsmBuffer| {
            let (to, from) = (to.clone(), from.clone());
            spawn(move || {
                let operands = (Operand::written(&to, 0..1), Operand::read(&from, 0..1));
                let _both = WriteAccess::with_read(&operands.0, &operands.1).unwrap();
                to.block().memory.write(from.block().memory.read() + 1);
            })
        };
        let (there, back) = (copy(&a, &b), copy(&b, &a));
        there.join().unwrap();
        back.join().unwrap();
        assert_eq!(host_read(&a) + host_read(&b), 3);
    });
}

pub fn readers_that_take_one_range_after_the_other_and_writers_come_to_their_ends() {
    each(|is_early| {
        let queue = Queue::new(true);
        let [a, b] = [16, 32].map(|start| UsmBuffer::new(start, &queue));
        let reader = {
            let (a, b) = (a.clone(), b.clone());
            spawn(move || {
                let _first = a.read_access(0..1).unwrap();
                let _second = b.read_access(0..1).unwrap();
                a.block().memory.read() + b.block().memory.read()
            })
        };
        let writer = {
            let (b, queue) = (b.clone(), queue.clone());
            spawn(move || write(&queue, &b, 2, is_early))
        };
        host_write(&a, 1);
        assert!(reader.join().unwrap() <= 3);
        writer.join().unwrap();
        assert_eq!(host_read(&a) + host_read(&b), 3);
    });
}

pub fn a_view_is_an_error_for_others_and_hinders_nobody_else() {
    each(|is_early| {
        let queue = Queue::new(true);
        let buffer = UsmBuffer::new(16, &queue);
        let viewer = {
            let buffer = buffer.clone();
            spawn(move || {
                let _view = buffer.read_range(0..1).unwrap();
                buffer.block().memory.read()
            })
        };
        let operand = [Operand::written(&buffer, 0..1)];
        let memory = Arc::clone(&buffer.block().memory);
        let run = |_: &[*mut u8], after: &[Event]| {
            Ok(queue.run(after, is_early, Box::new(move || memory.write(1))))
        };
        let is_submitted = unsafe { submit_async(&queue, &operand, &[], run) }.is_ok();
        assert!(viewer.join().unwrap() <= u64::from(is_submitted));
        assert_eq!(host_read(&buffer), u64::from(is_submitted));
    });
}

pub fn of_threads_that_take_two_ranges_crosswise_at_most_one_gets_an_error() {
    each(|_| {
        let queue = Queue::new(true);
        let [a, b] = [16, 32].map(|start| UsmBuffer::new(start, &queue));
        let both = |first: &UsmBuffer, second: &UsmBuffer, writes_first: bool| {
            let (first, second) = (first.clone(), second.clone());
            spawn(move || {
                if writes_first {
                    let _first = first.write_access(0..1).unwrap();
                    second.read_access(0..1).is_ok()
                } else {
                    let _first = first.read_access(0..1).unwrap();
                    second.write_access(0..1).is_ok()
                }
            })
        };
        for writes_first in [true, false] {
            let (there, back) = (both(&a, &b, writes_first), both(&b, &a, writes_first));
            assert!(there.join().unwrap() | back.join().unwrap(), "one of them closes the circle");
        }
    });
}
