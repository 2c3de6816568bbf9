//! Decides who may touch which bytes, and after what: the only place that does.
//!
//! There are two entries.
//!
//! - **Operations of queues** enter by [`submit`]: ranges that are read or written, a queue, and a function that calls the backend. The
//!   operation is told which events it has to depend on, beside what the order of the queue says. The blocks of the memory remember its
//!   event. Operations in flight order each other. A submission waits for host code that uses its ranges.
//! - **Host code** enters by a view of the user ([`ReadGuard`], [`WriteGuard`]) or an operation of this library ([`ReadAccess`],
//!   [`WriteAccess`], [`OperandAccess`]). It waits for the operations of queues on its block, or on its range of published memory, and for operations of
//!   other threads. Copies of a few KiB hold the lock of the table in place of an entry. [`NoWriters`] keeps writers away without a wait
//!   for queues.
//!
//! An error is left for what does not end by itself: a view that somebody holds. A thread whose wait would be one for itself, and a host
//! task, get an error, too: `tracker/table.rs` says how that is known.
//!
//! Copies, fills and kernels (`transfer/`), exports ([`UsmBuffer::publish`](crate::UsmBuffer::publish)), imports, drops and pools use
//! these entries, and what the blocks remember.
//!
//! What is known lies in `tracker/`, below the records of memory ranges (`buffer/`), which this module is above.
//!
//! | question | answer | file |
//! |---|---|---|
//! | Which addresses does host code use now, or a submission that is being made? | a table, one for the process | `tracker/table.rs` |
//! | Which operations are under way on a block? | its list: the last write, and the later reads | `tracker/operation.rs` |
//! | And on memory that several blocks stand for? | a list by address, one for the process | `tracker/by_address.rs` |
//! | Is there any work, of whom? | the flags of the block | `tracker/state.rs` |
//! | What comes before an operation, or before host code? | all of the above, in one function each | `order.rs` |
//! | How do operations enter, and what stands for them? | [`submit`], [`Completion`] | `submit.rs`, `completion.rs` |
//! | How does host code enter? | guards and accesses | `guard.rs` |
//!
//! A submission takes its entries in the table, asks for the events, calls the backend with the entries and without a lock, and lets the
//! blocks remember the event, before the entries leave. So host code and submissions that come between find the entry or the event. An
//! export looks at the events twice, before and after it marks the memory.
//!
//! Memory is released with what is under way on it: a slot goes back to its pool in the order of a queue, and its next owner comes after
//! that (`INHERITED`). A forked child forgets the operations of other threads that are in the table, and keeps
//! their views. The operations of its parent are errors there, once.
//!
//! The table is one for the process and not one for a context: the addresses of all contexts are different, and memory of one context may
//! be imported into another.

mod completion;
mod guard;
mod order;
mod submit;

pub(crate) use self::completion::Kept;
pub use self::completion::{Completion, Refused};
pub(crate) use self::guard::briefly;
pub use self::guard::{NoWriters, OperandAccess, ReadAccess, ReadGuard, WriteAccess, WriteGuard};
pub(crate) use self::submit::Submission;
pub use self::submit::{Operand, submit, submit_async};
