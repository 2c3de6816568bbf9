//! The live memory of the process as data.

use std::fmt;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use usm_core::{Context, UsmKind};

use super::{Facts, Holder, Moment, TagId, registry};

/// Memory that was live when a snapshot was made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveMemory {
    /// Address of the first byte.
    pub address: usize,
    /// Length in bytes, as asked for.
    pub len_bytes: usize,
    /// Kind of the memory.
    pub kind: UsmKind,
    /// Who frees it.
    pub holder: Holder,
    /// Whether a pool holds it to hand out parts, which are listed, too.
    pub is_reserve: bool,
    /// The label of the thread that allocated it, or its own ([`UsmBuffer::set_tag`](crate::UsmBuffer::set_tag)).
    pub tag: Option<Arc<str>>,
    /// Time since its allocation, to a few milliseconds.
    pub age: Duration,
    /// Filter string of the device.
    pub device: String,
    /// The context by a number: equal in one snapshot means the same context.
    pub context: usize,
}

/// Sums over the memory of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Number of entries.
    pub count: usize,
    /// Bytes that buffers of this process own.
    pub owned_bytes: usize,
    /// Bytes of external owners.
    pub borrowed_bytes: usize,
    /// Bytes that memory resources have handed out, parts of the others.
    pub leased_bytes: usize,
}

/// The memory that was live at one time, sorted by address.
#[derive(Clone, Debug)]
pub struct Snapshot {
    list: Vec<LiveMemory>,
}

/// All memory that is live in this process through this crate: owned, borrowed, and handed out by resources.
///
/// Memory that other threads allocate or free meanwhile may be in it or not.
///
/// ```
/// use usm_memory::UsmBuffer;
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// # fn main() -> usm_memory::Result<()> {
/// # let runtime = Runtime::global();
/// # let queue = runtime.default_queue(runtime.host_device())?;
/// let buffer = UsmBuffer::allocate(&queue, UsmKind::Shared, 1000)?;
/// buffer.set_tag("weights");
/// let snapshot = usm_memory::snapshot();
/// assert!(snapshot.iter().any(|live| live.address == buffer.address() && live.tag.as_deref() == Some("weights")));
/// assert!(snapshot.totals(UsmKind::Shared).owned_bytes >= 1000);
/// println!("{snapshot}");
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn snapshot() -> Snapshot {
    usm_core::release_from_graphs();
    let facts = registry::collect();
    let now = Moment::now();
    let mut contexts: Vec<Context> = Vec::new();
    let mut list: Vec<_> = facts.into_iter().map(|facts| describe(facts, now, &mut contexts)).collect();
    // The larger one first, which holds the others.
    list.sort_by(|a, b| a.address.cmp(&b.address).then(b.len_bytes.cmp(&a.len_bytes)));
    Snapshot { list }
}

fn describe(facts: Facts, now: Moment, contexts: &mut Vec<Context>) -> LiveMemory {
    let Facts { address, len_bytes, kind, holder, queue, born, tag } = facts;
    let context = contexts.iter().position(|known| known == queue.context()).unwrap_or_else(|| {
        contexts.push(queue.context().clone());
        contexts.len() - 1
    });
    let (is_reserve, device) = (tag == TagId::RESERVE, queue.device().filter_string());
    LiveMemory {
        address,
        len_bytes,
        kind,
        holder,
        is_reserve,
        tag: tag.label(),
        age: now.since(born),
        device,
        context,
    }
}

impl Snapshot {
    /// The entries, sorted by address.
    pub fn iter(&self) -> slice::Iter<'_, LiveMemory> {
        self.list.iter()
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether no memory is live.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Sums over one kind.
    #[must_use]
    pub fn totals(&self, kind: UsmKind) -> Totals {
        let mut totals = Totals::default();
        for live in self.list.iter().filter(|live| live.kind == kind) {
            totals.count += 1;
            *match live.holder {
                Holder::Owned => &mut totals.owned_bytes,
                Holder::Borrowed => &mut totals.borrowed_bytes,
                Holder::Leased => &mut totals.leased_bytes,
            } += live.len_bytes;
        }
        totals
    }
}

impl<'a> IntoIterator for &'a Snapshot {
    type Item = &'a LiveMemory;
    type IntoIter = slice::Iter<'a, LiveMemory>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl LiveMemory {
    fn label(&self) -> &str {
        if self.is_reserve { "(pool)" } else { self.tag.as_deref().unwrap_or("-") }
    }
}

/// `0x7f00 100 B shared owned weights`: address, length, kind, holder, label.
impl fmt::Display for LiveMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, len_bytes, kind, holder, .. } = self;
        write!(f, "{address:#x} {len_bytes} B {kind} {} {}", holder.as_str(), self.label())
    }
}

/// A table: a line for each entry, then the sums for each kind.
impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, bytes, age) = ("address", "bytes", "age in s");
        writeln!(f, "{address:<18} {bytes:>14} kind   holder   {age:>10} device            context tag")?;
        for live in self {
            let LiveMemory { address, len_bytes, kind, device, context, .. } = live;
            let (address, age, holder) =
                (format!("{address:#x}"), live.age.as_secs_f64(), live.holder.as_str());
            write!(
                f,
                "{address:<18} {len_bytes:>14} {kind:<6} {holder:<8} {age:>10.3} {device:<17} {context:>7} "
            )?;
            writeln!(f, "{}", live.label())?;
        }
        for kind in UsmKind::ALL {
            let Totals { count, owned_bytes, borrowed_bytes, leased_bytes } = self.totals(kind);
            write!(f, "{kind}: {count} entries, {owned_bytes} bytes owned, {borrowed_bytes} borrowed, ")?;
            writeln!(f, "{leased_bytes} leased from these")?;
        }
        Ok(())
    }
}
