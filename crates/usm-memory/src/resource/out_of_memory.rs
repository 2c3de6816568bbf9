//! Out of memory: what follows a refusal. `docs/decisions/0006-out-of-memory.md` has the order of all steps.

use crate::{Error, Result, UsmBuffer};

/// What may help after a refusal, with another attempt: `None` where it does not apply.
pub(super) type Remedy<'a> = &'a dyn Fn(&Error) -> Option<Result<UsmBuffer>>;

/// Tries the remedies one after the other, as long as there is no memory left. Other errors, which freeing does not help, pass through.
pub(super) fn after_refusal(first: Result<UsmBuffer>, remedies: &[Remedy<'_>]) -> Result<UsmBuffer> {
    let mut allocated = first;
    for remedy in remedies {
        match &allocated {
            Err(error) if error.is_out_of_memory() => {
                if let Some(next) = remedy(error) {
                    allocated = next;
                }
            }
            _ => break,
        }
    }
    allocated
}
