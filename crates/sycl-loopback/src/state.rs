//! The state of the library: live handles, allocations and strings; faults; failures to come.
//!
//! A handle is a number that is never given out twice, dressed up as a pointer. So a handle that was deleted is
//! recognised for ever, and using one can do no harm.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::arena::{Arena, ArenaRange, OpenedRange};
use crate::devices::{DEVICES, Device, SubDevice};

/// A handle as C sees it.
pub(crate) type Handle = *mut c_void;

/// The C type of an error handler.
pub(crate) type Handler = unsafe extern "C" fn(c_int);

macro_rules! kinds {
    ($($kind:ident = $doc:literal,)*) => {
        /// The kinds of counted objects.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i32)]
        pub enum Kind {
            $(#[doc = $doc] $kind,)*
        }

        impl Kind {
            /// Every kind, in the order of the numbers.
            pub const ALL: &[Self] = &[$(Self::$kind),*];
        }
    };
}
kinds! {
    Device = "Device handles.",
    Platform = "Platform handles.",
    Context = "Context handles.",
    Queue = "Queue handles.",
    Event = "Event handles.",
    Selector = "Device selectors.",
    DeviceVector = "Device vectors.",
    PlatformVector = "Platform vectors.",
    String = "Strings.",
    Allocation = "USM allocations.",
    EventVector = "Event vectors.",
    Bundle = "Kernel bundles.",
    Kernel = "Kernels.",
    SizeArray = "Arrays of sizes.",
    RawArgument = "Structs as arguments of kernels.",
    HandleData = "Bytes of handles for other processes.",
}

/// A context: equal for all its handles.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) identity: usize,
    pub(crate) devices: Vec<usize>,
}

/// A queue: equal for all its handles.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) identity: usize,
    pub(crate) context: Context,
    pub(crate) device: usize,
    pub(crate) handler: Option<Handler>,
    pub(crate) properties: c_int,
}

/// A command that has run.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// Submission, start, end in ns; zeros without profiling.
    pub(crate) times: [u64; 3],
    /// Times of the events it started after.
    pub(crate) after: Vec<[u64; 3]>,
    /// Its number among the commands that are held.
    pub(crate) held: Option<usize>,
}

/// A command that has run and is not complete as far as others know.
#[derive(Debug)]
struct Held {
    number: usize,
    /// Identity of the queue.
    queue: usize,
    /// Handles of the kernel and its bundle, 0 for other commands.
    kernel: [usize; 2],
}

/// Kernels built for a device of a context.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    /// Identity of the context.
    pub(crate) context: usize,
    pub(crate) device: usize,
    /// Positions among the known kernels.
    pub(crate) kernels: Vec<usize>,
}

/// One kernel of a bundle.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// Position among the known kernels.
    pub(crate) kernel: usize,
    /// Handle of the bundle.
    pub(crate) bundle: usize,
    /// Identity of the context.
    pub(crate) context: usize,
    pub(crate) device: usize,
}

macro_rules! objects {
    ($($getter:ident: $kind:ident($ty:ty);)*) => {
        /// The object of a handle.
        #[derive(Clone, Debug)]
        pub(crate) enum Object {
            $($kind($ty),)*
        }

        impl Object {
            pub(crate) fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)*
                }
            }
        }

        impl State {$(
            /// A copy of the object of a handle; a fault for an object of another kind.
            pub(crate) fn $getter(&mut self, handle: Handle) -> Option<$ty> {
                let Object::$kind(value) = self.object(handle)? else {
                    self.fault();
                    return None;
                };
                Some(value)
            }
        )*}
    };
}
objects! {
    device: Device(usize);
    platform: Platform(usize);
    context: Context(Context);
    queue: Queue(Queue);
    event: Event(Event);
    selector: Selector(Vec<(usize, i32)>);
    device_vector: DeviceVector(Vec<usize>);
    platform_vector: PlatformVector(Vec<usize>);
    event_vector: EventVector(Vec<[u64; 3]>);
    bundle: Bundle(Bundle);
    kernel: Kernel(Kernel);
    raw_argument: RawArgument(Vec<u8>);
}

/// Where the bytes of an allocation are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backing {
    /// From the allocator, with bytes before them that were allocated with them.
    Heap { alignment_bytes: usize, lead_bytes: usize },
    /// Device memory that other processes can open.
    Arena(ArenaRange),
    /// Memory of another process, which is closed and not freed.
    Opened(OpenedRange),
}

/// A USM allocation.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) size_bytes: usize,
    pub(crate) backing: Backing,
    /// `DPCTLSyclUSMType`.
    pub(crate) usm_type: u32,
    /// Identity of the context.
    pub(crate) context: usize,
    pub(crate) device: usize,
}

/// Which alignments allocations have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alignment {
    /// Alignments are honoured.
    #[default]
    Any,
    /// Alignments up to this many bytes, a power of two, are honoured. Larger ones are refused, like by CUDA.
    UpTo(usize),
    /// Alignments up to this many bytes, a power of two, are honoured. Larger ones are ignored, like by PoCL.
    NoMoreThan(usize),
}

/// Values that callers delete, by address. Deleted ones are kept, so that their addresses are not given out again.
#[derive(Debug)]
struct Owned<T> {
    live: BTreeMap<usize, T>,
    deleted: Vec<T>,
}

impl<T> Default for Owned<T> {
    fn default() -> Self {
        Self { live: BTreeMap::new(), deleted: Vec::new() }
    }
}

impl<T> Owned<T> {
    /// Whether the address was one of a live value.
    fn delete(&mut self, address: usize) -> bool {
        let value = self.live.remove(&address);
        let was_live = value.is_some();
        self.deleted.extend(value);
        was_live
    }
}

#[derive(Debug, Default)]
pub(crate) struct State {
    objects: BTreeMap<usize, Object>,
    identities: usize,
    /// By address.
    pub(crate) blocks: BTreeMap<usize, Block>,
    pub(crate) alignment: Alignment,
    /// Device memory for other processes, from the first allocation on.
    pub(crate) arena: Option<Arena>,
    handle_data: Owned<Box<[u8]>>,
    strings: Owned<CString>,
    arrays: Owned<Box<[usize]>>,
    sub_devices: Vec<SubDevice>,
    /// Pairs of a device and a peer whose memory it may reach.
    pub(crate) peers: HashSet<(usize, usize)>,
    faults: usize,
    /// Calls to go until a function fails, by its name.
    failures: HashMap<String, usize>,
    newest_queue: Option<Queue>,
    pending_error: Option<(Queue, c_int)>,
    ticks: u64,
    /// Whether commands are held until somebody waits for them.
    holds: bool,
    held: Vec<Held>,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);

/// Runs with the state.
pub(crate) fn with<R>(body: impl FnOnce(&mut State) -> R) -> R {
    // A panic inside ends the process (it would leave an `extern "C"` function), so poison cannot be seen in practice.
    body(&mut STATE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Runs one C function. `None`, or a failure that a test requested, becomes the C value for failure.
pub(crate) fn call<R: Failure>(name: &str, body: impl FnOnce(&mut State) -> Option<R>) -> R {
    with(|state| if state.fails(name) { None } else { body(state) }).unwrap_or(R::VALUE)
}

/// The return value of a C function that fails.
pub(crate) trait Failure {
    const VALUE: Self;
}

macro_rules! failure {
    ($($ty:ty = $value:expr),* $(,)?) => {$(impl Failure for $ty { const VALUE: Self = $value; })*};
}
failure!(() = (), bool = false, u32 = 0, u64 = 0, usize = 0, i32 = -1, i64 = -1);
failure!(*mut c_void = std::ptr::null_mut(), *mut usize = std::ptr::null_mut(), *const c_char = std::ptr::null());

impl State {
    /// A number no other context or queue has. The first ones belong to the default contexts of the devices.
    pub(crate) fn identity(&mut self) -> usize {
        self.identities += 1;
        self.identities + DEVICES.len()
    }

    /// A new handle.
    pub(crate) fn create(&mut self, object: Object) -> Handle {
        self.identities += 1;
        let address = 0x1000_0000 + 16 * self.identities;
        if let Object::Queue(queue) = &object {
            self.newest_queue = Some(queue.clone());
        }
        self.objects.insert(address, object);
        std::ptr::without_provenance_mut(address)
    }

    /// The object of a handle: `None` for NULL, and a fault for a handle that is not live.
    pub(crate) fn object(&mut self, handle: Handle) -> Option<Object> {
        if handle.is_null() {
            return None;
        }
        let object = self.objects.get(&handle.addr()).cloned();
        if object.is_none() {
            self.fault();
        }
        object
    }

    /// Another handle of the same object.
    pub(crate) fn copy(&mut self, handle: Handle, kind: Kind) -> Option<Handle> {
        let object = self.object(handle)?;
        self.expect(object.kind() == kind)?;
        let newest = self.newest_queue.clone();
        let copy = self.create(object);
        // A copy is not a new queue.
        self.newest_queue = newest;
        Some(copy)
    }

    /// Deletes a handle; NULL is allowed.
    pub(crate) fn delete(&mut self, handle: Handle, kind: Kind) -> Option<()> {
        let object = self.object(handle)?;
        self.expect(object.kind() == kind)?;
        self.objects.remove(&handle.addr());
        let uses = |held: &Held| match &object {
            Object::Queue(queue) => held.queue == queue.identity && !self.has_queue(queue.identity),
            _ => held.kernel.contains(&handle.addr()),
        };
        let is_used = self.held.iter().any(uses);
        self.expect(!is_used)
    }

    fn has_queue(&self, identity: usize) -> bool {
        let is_it = |object: &Object| matches!(object, Object::Queue(queue) if queue.identity == identity);
        self.objects.values().any(is_it)
    }

    /// Holds commands from now on, or completes all.
    pub(crate) fn hold(&mut self, holds: bool) {
        self.holds = holds;
        if !holds {
            self.held.clear();
        }
    }

    /// The number of a new command of a queue, if it is held. `kernel`: handles of its kernel and the bundle.
    pub(crate) fn held(&mut self, queue: &Queue, kernel: [usize; 2]) -> Option<usize> {
        if !self.holds {
            return None;
        }
        let number = self.identity();
        self.held.push(Held { number, queue: queue.identity, kernel });
        Some(number)
    }

    pub(crate) fn is_held(&self, event: &Event) -> bool {
        self.held.iter().any(|held| Some(held.number) == event.held)
    }

    /// Completes the command of an event, and the earlier ones of its queue.
    pub(crate) fn complete(&mut self, event: &Event) {
        if let Some(position) = self.held.iter().position(|held| Some(held.number) == event.held) {
            let queue = self.held[position].queue;
            let mut index = 0;
            self.held.retain(|held| {
                index += 1;
                held.queue != queue || index > position + 1
            });
        }
    }

    /// A fault unless a condition holds.
    pub(crate) fn expect(&mut self, holds: bool) -> Option<()> {
        if !holds {
            self.fault();
        }
        holds.then_some(())
    }

    pub(crate) fn fault(&mut self) {
        self.faults += 1;
    }

    pub(crate) fn faults(&self) -> usize {
        self.faults
    }

    /// A string that the caller deletes.
    pub(crate) fn string(&mut self, text: &CStr) -> *const c_char {
        let text = text.to_owned();
        let pointer = text.as_ptr();
        self.strings.live.insert(pointer.addr(), text);
        pointer
    }

    pub(crate) fn delete_string(&mut self, pointer: *const c_char) -> Option<()> {
        if pointer.is_null() {
            return None;
        }
        let was_live = self.strings.delete(pointer.addr());
        self.expect(was_live)
    }

    /// An array that the caller deletes.
    pub(crate) fn array(&mut self, values: &[usize]) -> *mut usize {
        // One element more, so that no two arrays share an address.
        let mut array: Box<[usize]> = values.iter().copied().chain([0]).collect();
        let pointer = array.as_mut_ptr();
        self.arrays.live.insert(pointer.addr(), array);
        pointer
    }

    pub(crate) fn delete_array(&mut self, pointer: *mut usize) -> Option<()> {
        if pointer.is_null() {
            return None;
        }
        let was_live = self.arrays.delete(pointer.addr());
        self.expect(was_live)
    }

    /// Bytes that the caller deletes.
    pub(crate) fn bytes(&mut self, values: Vec<u8>) -> *mut c_char {
        let mut bytes = values.into_boxed_slice();
        let pointer = bytes.as_mut_ptr();
        self.handle_data.live.insert(pointer.addr(), bytes);
        pointer.cast()
    }

    pub(crate) fn delete_bytes(&mut self, pointer: *mut c_char) -> Option<()> {
        if pointer.is_null() {
            return None;
        }
        let was_live = self.handle_data.delete(pointer.addr());
        self.expect(was_live)
    }

    /// The number of a new sub-device, which no other device ever has.
    pub(crate) fn add_sub_device(&mut self, parent: usize, compute_units: u32) -> usize {
        let root = self.root(parent);
        self.sub_devices.push(SubDevice { parent, root, compute_units });
        DEVICES.len() + self.sub_devices.len() - 1
    }

    /// The sub-device of that number; `None` for a root device.
    pub(crate) fn sub_device(&self, device: usize) -> Option<&SubDevice> {
        self.sub_devices.get(device.checked_sub(DEVICES.len())?)
    }

    /// The root device that a device is, or is a part of.
    pub(crate) fn root(&self, device: usize) -> usize {
        self.sub_device(device).map_or(device, |sub_device| sub_device.root)
    }

    /// The facts that a device shares with its root device.
    pub(crate) fn facts(&self, device: usize) -> Option<&'static Device> {
        DEVICES.get(self.root(device))
    }

    pub(crate) fn live(&self, kind: Kind) -> usize {
        match kind {
            Kind::SizeArray => self.arrays.live.len(),
            Kind::String => self.strings.live.len(),
            Kind::HandleData => self.handle_data.live.len(),
            Kind::Allocation => self.blocks.len(),
            _ => self.objects.values().filter(|object| object.kind() == kind).count(),
        }
    }

    /// Makes the `count`-th call from now of a function fail; 0 takes it back. Returns how many calls the failure asked for before was away.
    pub(crate) fn fail_next(&mut self, name: &str, count: usize) -> usize {
        self.failures.insert(name.to_owned(), count).unwrap_or_default()
    }

    fn fails(&mut self, name: &str) -> bool {
        let count = self.failures.get_mut(name);
        let Some(count) = count.filter(|count| **count > 0) else {
            return false;
        };
        *count -= 1;
        *count == 0
    }

    /// Gives the newest queue an asynchronous error, to be delivered at the next wait; false if there is no queue.
    pub(crate) fn raise(&mut self, code: c_int) -> bool {
        self.pending_error = self.newest_queue.clone().map(|queue| (queue, code));
        self.pending_error.is_some()
    }

    /// The asynchronous error to deliver now, with the handler that takes it.
    pub(crate) fn take_error(&mut self) -> Option<(Handler, c_int)> {
        let (queue, code) = self.pending_error.take()?;
        queue.handler.map(|handler| (handler, code))
    }

    /// The next moment of the simulated clock, in ns.
    pub(crate) fn tick(&mut self) -> u64 {
        self.ticks += 10;
        self.ticks
    }
}
