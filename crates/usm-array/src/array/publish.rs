//! Memory for the next operation of another library that computes on the array's queue

use usm_memory::usm_core::fork::is_forked_child;
use usm_memory::usm_core::{BackendId, Error as CoreError};

use super::UsmArray;
use crate::error::Result;

/// A library that computes in the order of an array's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// It does not know the memory yet.
    New,
    /// It has the memory already, and orders its own work on it itself.
    Known,
}

impl UsmArray {
    /// Makes the memory ready for the next operation of a peer: in the order of the queue on CUDA, else after the operations under way
    /// on it. From then on operations of this library come after those of the peer on that queue.
    ///
    /// ```
    /// use usm_array::{Dtype, Peer, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Shared, &[2], Dtype::F32)?;
    /// array.publish_for(Peer::New)?;
    /// assert!(array.publish_for_at_once(Peer::Known)?, "nothing to wait for");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Memory`](crate::Error::Memory): an operation under way failed, the queue refused the order, or the process is a forked
    ///   child, in which the runtime of the memory does not work
    pub fn publish_for(&self, peer: Peer) -> Result<()> {
        if self.publish_for_at_once(peer)? {
            return Ok(());
        }
        if peer == Peer::New {
            self.wait()?;
        }
        Ok(self.buffer.publish()?)
    }

    /// As [`publish_for`](Self::publish_for), where nothing has to be waited for. False where it has: nothing is published then.
    ///
    /// # Errors
    /// Those of [`publish_for`](Self::publish_for).
    pub fn publish_for_at_once(&self, peer: Peer) -> Result<bool> {
        let backend = self.device().backend_id();
        if backend != BackendId::Host && is_forked_child() {
            return Err(CoreError::ForkedRuntime.into());
        }
        match (backend, peer) {
            (BackendId::Cuda, _) => self.buffer.publish_in_order().map(|()| true).map_err(Into::into),
            (_, Peer::Known) => Ok(self.buffer.publish_at_once()),
            (_, Peer::New) => Ok(false),
        }
    }
}
