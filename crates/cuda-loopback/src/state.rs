//! The state of the library: the objects behind the handles, the faults, and the failures to come.
//!
//! A handle is a number that is never given out twice, dressed up as a pointer. So a handle that was destroyed is recognised for ever,
//! and using one can do no harm.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::captures::{Captures, Graph, Nodes, UserObject};
use crate::clock::{Clock, Point};
use crate::codes::{Code, Outcome};
use crate::memory::{BlockKind, Memory};
use crate::ptx::Kernel;
use crate::settings::Settings;
use crate::streams::Streams;

/// A handle as C sees it.
pub(crate) type Handle = *mut c_void;

/// The kinds of counted objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Kind {
    /// References to primary contexts.
    Context = 0,
    /// Streams, without the default ones.
    Stream = 1,
    /// Events.
    Event = 2,
    /// Modules.
    Module = 3,
    /// Memory pools.
    Pool = 4,
    /// Blocks of device memory.
    Device = 5,
    /// Blocks of managed memory.
    Managed = 6,
    /// Blocks of pinned memory.
    Pinned = 7,
    /// Graphs, also of captures that have not ended.
    Graph = 8,
    /// Executable graphs.
    GraphExec = 9,
    /// Values that graphs keep.
    UserObject = 10,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::Context,
        Self::Stream,
        Self::Event,
        Self::Module,
        Self::Pool,
        Self::Device,
        Self::Managed,
        Self::Pinned,
        Self::Graph,
        Self::GraphExec,
        Self::UserObject,
    ];
}

/// The object of a handle.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    /// The device of the primary context.
    Context(usize),
    /// The number of the stream.
    Stream(u32),
    Event(Event),
    /// Its contents are in [`Memory`].
    Pool,
    Module(Module),
    Function(Function),
    Graph(Graph),
    GraphExec(Graph),
    User(UserObject),
}

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) device: usize,
    pub(crate) has_times: bool,
    pub(crate) recorded: Option<Record>,
    /// The capture in which it was recorded last, and the nodes before it.
    pub(crate) captured: Option<(u64, Nodes)>,
}

/// What an event captured.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) at: Point,
    pub(crate) clock: Clock,
    pub(crate) time: Option<Instant>,
}

#[derive(Clone, Debug)]
pub(crate) struct Module {
    pub(crate) device: usize,
    pub(crate) kernels: Vec<Arc<Kernel>>,
    pub(crate) variables: Arc<Mutex<Vec<u8>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) device: usize,
    /// Handle of the module.
    pub(crate) module: usize,
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) variables: Arc<Mutex<Vec<u8>>>,
}

/// The primary context of a device.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) handle: usize,
    pub(crate) references: usize,
    /// The code that its calls return from now on.
    pub(crate) lost: Option<Code>,
    /// Devices whose memory its kernels may access.
    pub(crate) peers: BTreeSet<usize>,
    /// Numbers of the default streams: the legacy one, and the one of each thread, which is one for all threads here.
    pub(crate) default_streams: [u32; 2],
}

/// A failure to come.
#[derive(Debug)]
struct Failure {
    /// `*` for any.
    function: String,
    calls_to_go: usize,
    code: Code,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) is_initialized: bool,
    pub(crate) has_worker: bool,
    /// By device, from the first use on.
    pub(crate) contexts: BTreeMap<usize, Context>,
    pub(crate) streams: Streams,
    pub(crate) memory: Memory,
    pub(crate) captures: Captures,
    /// Values whose last graph is gone.
    pub(crate) to_destroy: Vec<UserObject>,
    objects: BTreeMap<usize, Object>,
    newest: usize,
    /// Never freed, since C code has pointers to them.
    faults: Vec<&'static CStr>,
    failures: Vec<Failure>,
    calls: BTreeMap<&'static str, usize>,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| Mutex::new(State::new()));

/// Notified when operations are submitted or complete.
static CHANGED: Condvar = Condvar::new();

/// The process that initialised the library; 0 for none.
static PROCESS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Whether the thread runs the destructor of a user object, which must not call the driver.
    pub(crate) static IS_DESTROYING: Cell<bool> = const { Cell::new(false) };
    /// The devices of the contexts that the thread made current, the newest last.
    static CURRENT: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The locked state.
pub(crate) type Locked = MutexGuard<'static, State>;

pub(crate) fn lock() -> Locked {
    // A panic inside ends the process (it would leave an `extern "C"` function), so poison cannot be seen in practice.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes all that wait for a change.
pub(crate) fn changed() {
    CHANGED.notify_all();
}

/// Sleeps until a change, or at most for this long.
pub(crate) fn sleep(state: Locked, longest: Option<Duration>) -> Locked {
    match longest {
        None => CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner),
        Some(longest) => CHANGED.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner).0,
    }
}

/// Waits as host code does, which lets held operations run.
pub(crate) fn wait(mut state: Locked, is_done: impl Fn(&State) -> bool) -> Locked {
    if state.streams.held_until.take().is_some() {
        changed();
    }
    while !is_done(&state) {
        state = sleep(state, None);
    }
    state
}

/// Whether this process is a child of the one that initialised the library. Nothing works there, and the lock may be locked.
pub(crate) fn is_forked() -> bool {
    let process = PROCESS.load(Ordering::Relaxed);
    process != 0 && process != std::process::id()
}

pub(crate) fn initialized_here() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}

/// Runs one C function: unless it has to fail on request, or nothing was initialised before it.
pub(crate) fn call(name: &'static str, body: impl FnOnce(Locked) -> Outcome) -> Code {
    if is_forked() {
        return Code::NOT_INITIALIZED;
    }
    let mut state = lock();
    *state.calls.entry(name).or_default() += 1;
    if let Some(code) = state.due_failure(name) {
        return code;
    }
    if !state.is_initialized && name != "cuInit" {
        return Code::NOT_INITIALIZED;
    }
    if IS_DESTROYING.get() {
        state.fault(format!("{name}: a call of the driver by the destructor of a user object"));
    }
    let outcome = state.check_safe(name).and_then(|()| body(state));
    let Err(refusal) = outcome else { return Code::SUCCESS };
    if let Some(fault) = refusal.fault {
        lock().fault(fault);
    }
    refusal.code
}

/// The contexts that are current on this thread.
pub(crate) fn current<R>(body: impl FnOnce(&mut Vec<usize>) -> R) -> Option<R> {
    // A thread that ends has none.
    CURRENT.try_with(|current| body(&mut current.borrow_mut())).ok()
}

impl State {
    fn new() -> Self {
        let (settings, wrong) = Settings::from_environment();
        let mut state = Self {
            is_initialized: false,
            has_worker: false,
            contexts: BTreeMap::new(),
            streams: Streams::new(settings.delay, settings.seed),
            memory: Memory::default(),
            captures: Captures::default(),
            to_destroy: Vec::new(),
            objects: BTreeMap::new(),
            newest: 0,
            faults: Vec::new(),
            failures: Vec::new(),
            calls: BTreeMap::new(),
            settings,
        };
        wrong.into_iter().for_each(|text| state.fault(text));
        state.fail_from_environment();
        state
    }

    // Handles.

    pub(crate) fn create(&mut self, object: Object) -> usize {
        self.newest += 1;
        let handle = 0x1000_0000 + 16 * self.newest;
        self.objects.insert(handle, object);
        handle
    }

    pub(crate) fn object(&mut self, handle: usize) -> Option<&mut Object> {
        self.objects.get_mut(&handle)
    }

    pub(crate) fn remove(&mut self, handle: usize) {
        self.objects.remove(&handle);
    }

    /// Functions go with their module.
    pub(crate) fn remove_functions(&mut self, of: usize) {
        self.objects
            .retain(|_, object| !matches!(object, Object::Function(function) if function.module == of));
    }

    /// Live objects of a kind; blocks also with their bytes.
    pub(crate) fn live(&self, kind: Kind) -> (usize, usize) {
        let is_counted = |object: &&Object| match object {
            Object::Stream(_) => kind == Kind::Stream,
            Object::Event(_) => kind == Kind::Event,
            Object::Module(_) => kind == Kind::Module,
            Object::Pool => kind == Kind::Pool,
            Object::Graph(_) => kind == Kind::Graph,
            Object::GraphExec(_) => kind == Kind::GraphExec,
            Object::User(_) => kind == Kind::UserObject,
            Object::Context(_) | Object::Function(_) => false,
        };
        match kind {
            Kind::Context => (self.contexts.values().map(|context| context.references).sum(), 0),
            Kind::Device => self.memory.live(BlockKind::Device),
            Kind::Managed => self.memory.live(BlockKind::Managed),
            Kind::Pinned => self.memory.live(BlockKind::Pinned),
            _ => (self.objects.values().filter(is_counted).count(), 0),
        }
    }

    // Faults and failures.

    pub(crate) fn fault(&mut self, text: String) {
        let text = CString::new(text).unwrap_or_default();
        self.faults.push(Box::leak(text.into_boxed_c_str()));
    }

    pub(crate) fn faults(&self) -> &[&'static CStr] {
        &self.faults
    }

    /// Makes the `count`-th call from now of a function return a code; 0 takes it back.
    pub(crate) fn fail(&mut self, function: &str, count: usize, code: Code) {
        self.failures.retain(|failure| failure.function != function);
        if count > 0 {
            self.failures.push(Failure { function: function.to_owned(), calls_to_go: count, code });
        }
    }

    /// `CUDA_LOOPBACK_FAIL=function:count:code`, several with commas.
    fn fail_from_environment(&mut self) {
        let Ok(text) = std::env::var("CUDA_LOOPBACK_FAIL") else { return };
        for part in text.split(',') {
            let fields: Vec<_> = part.split(':').collect();
            match fields[..] {
                [function, count, code] if count.parse::<usize>().is_ok() && code.parse::<u32>().is_ok() => {
                    let code = Code(code.parse().unwrap_or_default());
                    self.fail(function, count.parse().unwrap_or_default(), code);
                }
                _ => self.fault(format!("CUDA_LOOPBACK_FAIL has {part}, which is not function:count:code")),
            }
        }
    }

    fn due_failure(&mut self, name: &str) -> Option<Code> {
        for failure in &mut self.failures {
            if failure.function == name || failure.function == "*" {
                failure.calls_to_go = failure.calls_to_go.saturating_sub(1);
            }
        }
        let due = self.failures.iter().position(|failure| failure.calls_to_go == 0)?;
        let code = self.failures.remove(due).code;
        let device = current(|current| current.last().copied()).flatten();
        if let Some(device) = device.filter(|_| code.is_sticky()) {
            self.lose(device, code);
        }
        Some(code)
    }

    /// How often a function was called.
    pub(crate) fn calls(&self, name: &str) -> usize {
        self.calls.get(name).copied().unwrap_or_default()
    }

    /// Makes the context of a device unusable.
    pub(crate) fn lose(&mut self, device: usize, code: Code) {
        if let Some(context) = self.contexts.get_mut(&device) {
            context.lost.get_or_insert(code);
        }
    }

    /// Whether a graph has a kernel of a module.
    pub(crate) fn has_graph_with(&self, module: usize) -> bool {
        self.objects.values().any(|object| match object {
            Object::Graph(graph) | Object::GraphExec(graph) => graph.uses_module(module),
            _ => false,
        })
    }

    /// Takes back faults, failures to come, and the loss of contexts.
    pub(crate) fn reset(&mut self) {
        self.faults.clear();
        self.failures.clear();
        self.streams.held_until = None;
        self.contexts.values_mut().for_each(|context| context.lost = None);
    }
}
