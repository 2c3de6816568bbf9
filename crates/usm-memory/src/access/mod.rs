//! Decides who may touch which bytes, and after what: the only place that does.
//!
//! There are two entries, and everything else is made of them.
//!
//! - **Operations of queues** enter by [`submit`]: ranges that are read or written, a queue, and a function that calls the backend. The
//!   operation is told which events it has to depend on, beside what the order of the queue says. The blocks of the memory remember its
//!   event. Operations in flight order each other, and never conflict.
//! - **Host code** enters by a view of the user ([`ReadGuard`], [`WriteGuard`]) or an operation of this library ([`ReadAccess`],
//!   [`WriteAccess`]). It waits for the operations of queues on its range, and for operations of other threads. An error is left for what
//!   does not end by itself: a view that somebody holds.
//!
//! Copies, fills and kernels (`transfer/`), exports ([`UsmBuffer::publish`](crate::UsmBuffer::publish)), imports, drops and pools are
//! made of these two.
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
//! A submission takes its entries in the table, asks for the events, calls the backend without a lock, and lets the blocks remember the
//! event, before the entries leave. So whoever comes between finds the entry or the event.
//!
//! Memory is released with what is under way on it: a slot goes back to its pool in the order of a queue, and its next owner comes after
//! that (`INHERITED`). A forked child forgets the entries of other threads, and the operations of its parent are errors there.
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
pub use self::guard::{NoWriters, ReadAccess, ReadGuard, WriteAccess, WriteGuard};
pub(crate) use self::submit::Submission;
pub use self::submit::{Operand, submit, submit_async};
