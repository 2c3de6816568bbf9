//! Labels for memory, which say in snapshots and timelines what it is for.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use usm_core::fork::ForkMutex;

/// A label by its number, since every allocation carries one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TagId(u32);

impl TagId {
    pub(crate) const NONE: Self = Self(0);
    /// Memory that a pool takes to hand out in parts.
    pub(crate) const RESERVE: Self = Self(1);
    const FIRST: u32 = 2;

    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// The one that has that number.
    pub(crate) const fn of_number(number: u32) -> Self {
        Self(number)
    }

    /// The label of new memory on this thread.
    #[inline]
    pub(crate) fn current() -> Self {
        CURRENT.get()
    }

    pub(crate) fn of(label: &str) -> Self {
        let mut labels = LABELS.lock();
        if let Some(&id) = labels.ids.get(label) {
            return id;
        }
        let label: Arc<str> = label.into();
        let id = u32::try_from(labels.list.len()).ok().and_then(|count| count.checked_add(Self::FIRST));
        let Some(id) = id.map(Self) else { return Self::NONE };
        labels.list.push(Arc::clone(&label));
        labels.ids.insert(label, id);
        id
    }

    /// The label, where there is one.
    pub(crate) fn label(self) -> Option<Arc<str>> {
        let index = self.0.checked_sub(Self::FIRST)?;
        LABELS.lock().list.get(index as usize).cloned()
    }
}

thread_local! {
    static CURRENT: Cell<TagId> = const { Cell::new(TagId::NONE) };
}

static LABELS: ForkMutex<Labels> = ForkMutex::new(Labels { list: Vec::new(), ids: BTreeMap::new() });

/// Every label that was ever used, once.
struct Labels {
    list: Vec<Arc<str>>,
    ids: BTreeMap<Arc<str>, TagId>,
}

/// Labels the memory that this thread allocates, until it is dropped. Scopes may be nested: the innermost counts.
///
/// Labels are kept as long as the process lives, each once: use a few names, not one for each buffer.
///
/// ```
/// use usm_memory::snapshot::Tag;
/// use usm_memory::{UsmBuffer, snapshot};
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// # fn main() -> usm_memory::Result<()> {
/// # let runtime = Runtime::global();
/// # let queue = runtime.default_queue(runtime.host_device())?;
/// let loading = Tag::enter("loading");
/// let buffer = UsmBuffer::allocate(&queue, UsmKind::Shared, 100)?;
/// drop(loading);
/// let snapshot = usm_memory::snapshot();
/// let is_it = |found: &&snapshot::LiveMemory| found.address == buffer.address() && !found.is_reserve;
/// let found = snapshot.iter().find(is_it).unwrap();
/// assert_eq!(found.tag.as_deref(), Some("loading"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the label counts until this is dropped"]
pub struct Tag {
    before: TagId,
    /// Of this thread only.
    thread: PhantomData<*const ()>,
}

impl Tag {
    /// Labels what this thread allocates from now on.
    pub fn enter(label: &str) -> Self {
        Self::enter_id(TagId::of(label))
    }

    pub(crate) fn enter_id(id: TagId) -> Self {
        Self { before: CURRENT.replace(id), thread: PhantomData }
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}
