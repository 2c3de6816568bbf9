//! Our queues, contexts and devices as dpctl's, for programs that have imported it, and dpctl's as ours.
//!
//! Three classes of objects stand for a queue: ours, dpctl's, and the joint class, which is a subclass of dpctl's with an object of
//! ours inside (`usm._dpctl`). A program gets its own objects back: a queue keeps the object of dpctl that it came from.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::{PyCapsule, PyType, PyWeakrefReference};
use pyo3::{PyClass, PyTypeInfo};
use usm_array::usm_core::fork::{ForkMutex, ForkOnce};
use usm_array::usm_core::{BackendId, Context, Device, Queue, Runtime};

use super::capsule::{self, QueueOrContext};
use super::classes::{SyclContext, SyclDevice, SyclQueue};
use crate::called;
use crate::errors::{OrRaise, type_name};
use crate::held::Kept;
use crate::imported;

/// A class of dpctl and the joint class over it.
struct Classes {
    theirs: Py<PyType>,
    joint: Py<PyType>,
}

impl Classes {
    fn of<T: PyTypeInfo>(dpctl: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let py = dpctl.py();
        let theirs = dpctl.getattr(name)?.cast_into::<PyType>()?;
        let joint_class = imported::import(py, intern!(py, "usm._dpctl"))?.getattr("joint_class")?;
        let joint = joint_class.call1((py.get_type::<T>(), &theirs))?.cast_into::<PyType>()?;
        Ok(Self { theirs: theirs.unbind(), joint: joint.unbind() })
    }

    /// The object of ours in an object of the joint class.
    fn inside<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match object.get_type().is(&self.joint) {
            true => object.getattr(intern!(object.py(), "_inside")).map(Some),
            false => Ok(None),
        }
    }
}

/// The parts of dpctl that this package uses.
struct Dpctl {
    queue: Classes,
    context: Classes,
    device: Classes,
    cached_queue: Py<PyAny>,
    /// Generation of the process that imported it. dpctl itself ignores forks.
    fork_generation: u64,
}

/// dpctl, from the first call after the program has imported it.
fn dpctl(py: Python<'_>) -> PyResult<Option<&'static Dpctl>> {
    static FOUND: ForkOnce<Dpctl> = ForkOnce::new();
    if let Some(known) = FOUND.get() {
        return Ok(Some(known));
    }
    let Some(module) = imported::module(py, intern!(py, "dpctl"))? else { return Ok(None) };
    // An import may be half done: the last of the names that are used here.
    let Some(cached_queue) = module.getattr_opt(intern!(py, "get_device_cached_queue"))? else {
        return Ok(None);
    };
    let make = || {
        Ok::<_, PyErr>(Dpctl {
            queue: Classes::of::<SyclQueue>(&module, "SyclQueue")?,
            context: Classes::of::<SyclContext>(&module, "SyclContext")?,
            device: Classes::of::<SyclDevice>(&module, "SyclDevice")?,
            cached_queue: cached_queue.clone().unbind(),
            fork_generation: Runtime::fork_generation(),
        })
    };
    FOUND.get_or_try_init(make).map(Some)
}

/// The Python objects that stand for a queue, kept with it.
#[derive(Default)]
struct DpctlObjects {
    /// An object of dpctl's own class. It has no reference to ours, so there is no cycle.
    given: Option<Kept>,
    /// A weak reference to an object of the joint class, which owns the queue.
    made: Mutex<Option<Kept<PyWeakrefReference>>>,
}

/// The object of dpctl that the program gave for a queue.
fn given(queue: &Queue) -> Option<&Py<PyAny>> {
    queue.attached::<DpctlObjects>()?.given.as_ref()?.object()
}

/// The Python object that the program gave for a context.
struct GivenContext(Kept);

/// The runtime whose default queues go over into dpctl's.
static RUNTIME: ForkOnce<&'static Runtime> = ForkOnce::new();

/// Lets the default queues of a runtime [join](join_default_queues) those of dpctl.
pub(super) fn join_queues_of(runtime: &'static Runtime) {
    RUNTIME.set(runtime);
}

/// Lets our own default queue of a device go over into dpctl's, once the program has imported dpctl: the device has one default queue
/// then, whatever was imported and made first. Whoever is about to show a queue to Python, or has got one from there, calls this.
pub(crate) fn join_default_queues(py: Python<'_>, queue: &Queue) -> PyResult<()> {
    let is_joined = queue.is_default() && given(queue).is_some();
    if is_joined || queue.backend_id() != BackendId::Sycl || dpctl(py)?.is_none() {
        return Ok(());
    }
    let Some(runtime) = RUNTIME.get() else { return Ok(()) };
    py.detach(|| runtime.update_default_queue(queue.device())).or_raise()
}

/// A queue as a Python object: the one that the program gave, or one of the joint class; one of ours without dpctl.
pub(crate) fn queue_object<'py>(py: Python<'py>, queue: &Queue) -> PyResult<Bound<'py, PyAny>> {
    if queue.is_default() {
        join_default_queues(py, queue)?;
    }
    match given(queue) {
        Some(given) => Ok(given.bind(py).clone()),
        None => own_queue_object(py, queue),
    }
}

/// As [`queue_object`], but never the one that the program gave. One of ours, too, where SYCL makes no more objects: in a forked child.
pub(crate) fn own_queue_object<'py>(py: Python<'py>, queue: &Queue) -> PyResult<Bound<'py, PyAny>> {
    if queue.is_default() {
        join_default_queues(py, queue)?;
    }
    let ours = || Bound::new(py, SyclQueue::from_queue(queue.clone()));
    let dpctl = if queue.backend_id() == BackendId::Sycl { dpctl(py)? } else { None };
    let Some(dpctl) = dpctl else { return Ok(ours()?.into_any()) };
    if queue.attached::<DpctlObjects>().is_none() {
        queue.attach(DpctlObjects::default());
    }
    let objects = queue.attached::<DpctlObjects>();
    let known = objects.and_then(|objects| Some(lock(&objects.made).as_ref()?.object()?.clone_ref(py)));
    if let Some(made) = known.and_then(|made| made.bind(py).upgrade()) {
        return Ok(made);
    }
    let ours = ours()?;
    let Ok(capsule) = ours.get().capsule(py) else { return Ok(ours.into_any()) };
    let made = dpctl.queue.joint.bind(py).call1((capsule, &ours))?;
    if let Some(objects) = objects {
        let weak = Kept::of(&PyWeakrefReference::new(&made)?);
        let before = lock(&objects.made).replace(weak);
        drop(before);
    }
    remember(&made, queue);
    Ok(made)
}

/// The context of a queue as a Python object: the one of the program's own queue, or like [`context_object`].
pub(crate) fn queue_context<'py>(py: Python<'py>, queue: &Queue) -> PyResult<Bound<'py, PyAny>> {
    match given(queue) {
        Some(given) => given.bind(py).getattr(intern!(py, "sycl_context")),
        None => context_object(py, queue.context()),
    }
}

/// The device of a queue as a Python object: the one of the program's own queue, or like [`device_object`].
pub(crate) fn queue_device<'py>(py: Python<'py>, queue: &Queue) -> PyResult<Bound<'py, PyAny>> {
    match given(queue) {
        Some(given) => given.bind(py).getattr(intern!(py, "sycl_device")),
        None => device_object(py, queue.device()),
    }
}

/// A context as a Python object: the one that the program gave, or one of the joint class; one of ours without dpctl.
pub(crate) fn context_object<'py>(py: Python<'py>, context: &Context) -> PyResult<Bound<'py, PyAny>> {
    match context.attached::<GivenContext>().and_then(|given| given.0.object()) {
        Some(given) => Ok(given.bind(py).clone()),
        None => own_context_object(py, context),
    }
}

/// As [`context_object`], but never the one that the program gave.
pub(crate) fn own_context_object<'py>(py: Python<'py>, context: &Context) -> PyResult<Bound<'py, PyAny>> {
    let ours = Bound::new(py, SyclContext::from_context(context.clone()))?;
    let dpctl = if context.backend_id() == BackendId::Sycl { dpctl(py)? } else { None };
    match (dpctl, ours.get().capsule(py)) {
        (Some(dpctl), Ok(capsule)) => dpctl.context.joint.bind(py).call1((capsule, &ours)),
        _ => Ok(ours.into_any()),
    }
}

/// A device as a Python object: one of the joint class; one of ours without dpctl.
pub(crate) fn device_object<'py>(py: Python<'py>, device: &Device) -> PyResult<Bound<'py, PyAny>> {
    /// Objects of root devices, which stay as long as the process anyway.
    static ROOTS: Mutex<Vec<(Device, Py<PyAny>)>> = Mutex::new(Vec::new());
    let dpctl = if device.backend_id() == BackendId::Sycl { dpctl(py)? } else { None };
    let ours = || Bound::new(py, SyclDevice::from_device(device.clone()));
    let Some(dpctl) = dpctl else { return Ok(ours()?.into_any()) };
    let known = lock(&ROOTS).iter().find(|(root, _)| root == device).map(|(_, object)| object.clone_ref(py));
    if let Some(known) = known {
        return Ok(known.into_bound(py));
    }
    let ours = ours()?;
    let Ok(context) = device.default_context() else { return Ok(ours.into_any()) };
    // dpctl takes no capsule of a device, but it lists the devices of a context.
    let context = own_context_object(py, &context)?;
    let hash = ours.hash()?;
    let listed = dpctl.context.theirs.bind(py).call_method1(intern!(py, "get_devices"), (context,))?;
    for theirs in listed.try_iter()? {
        let theirs = theirs?;
        if theirs.hash()? == hash {
            let made = dpctl.device.joint.bind(py).call1((theirs, &ours))?;
            if device.parent().or_raise()?.is_none() {
                lock(&ROOTS).push((device.clone(), made.clone().unbind()));
            }
            return Ok(made);
        }
    }
    Ok(ours.into_any())
}

/// As [`device_object`], but of dpctl's own class, for callers that dpnp's function of the same name has promised that.
pub(crate) fn plain_device_object<'py>(py: Python<'py>, device: &Device) -> PyResult<Bound<'py, PyAny>> {
    let made = device_object(py, device)?;
    match dpctl(py)? {
        Some(dpctl) if dpctl.device.inside(&made)?.is_some() => dpctl.device.theirs.bind(py).call1((made,)),
        _ => Ok(made),
    }
}

/// The queue that an object of our class or of the joint class stands for, or one of dpctl that has been here before.
pub(crate) fn own_queue(object: &Bound<'_, PyAny>) -> PyResult<Option<Queue>> {
    let own = own(object, |dpctl| &dpctl.queue, |queue: &SyclQueue| queue.queue().clone())?;
    Ok(own.or_else(|| known_queue(object)))
}

/// The context that an object of our class or of the joint class stands for; `None` for other objects.
pub(crate) fn own_context(object: &Bound<'_, PyAny>) -> PyResult<Option<Context>> {
    own(object, |dpctl| &dpctl.context, |context: &SyclContext| context.context().clone())
}

/// The device that an object of our class or of the joint class stands for; `None` for other objects.
pub(crate) fn own_device(object: &Bound<'_, PyAny>) -> PyResult<Option<Device>> {
    own(object, |dpctl| &dpctl.device, |device: &SyclDevice| device.device().clone())
}

/// The value inside of an object of our class or of the joint class; `None` for other objects.
fn own<T: PyClass<Frozen = True> + Sync, R>(
    object: &Bound<'_, PyAny>,
    classes: fn(&Dpctl) -> &Classes,
    read: fn(&T) -> R,
) -> PyResult<Option<R>> {
    if let Ok(ours) = object.cast::<T>() {
        return Ok(Some(read(ours.get())));
    }
    let Some(dpctl) = dpctl(object.py())? else { return Ok(None) };
    let inside = classes(dpctl).inside(object)?;
    Ok(inside.and_then(|inside| inside.cast::<T>().ok().map(|ours| read(ours.get()))))
}

/// Whether an object is a context of dpctl with that hash, which is the address of the runtime's object.
pub(super) fn is_their_context(object: &Bound<'_, PyAny>, hash: isize) -> PyResult<bool> {
    Ok(is_theirs(object, |dpctl| &dpctl.context)? && object.hash()? == hash)
}

/// As [`is_their_context`], for a device.
pub(super) fn is_their_device(object: &Bound<'_, PyAny>, hash: isize) -> PyResult<bool> {
    Ok(is_theirs(object, |dpctl| &dpctl.device)? && object.hash()? == hash)
}

/// Whether an object is a queue of dpctl.
pub(super) fn is_their_queue(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    is_theirs(object, |dpctl| &dpctl.queue)
}

fn is_theirs(object: &Bound<'_, PyAny>, classes: fn(&Dpctl) -> &Classes) -> PyResult<bool> {
    let py = object.py();
    dpctl(py)?.map_or(Ok(false), |dpctl| object.is_instance(classes(dpctl).theirs.bind(py)))
}

/// The requested default queues of dpctl. dpctl has one for each root device of a process, always the same.
static DEFAULTS: ForkMutex<Vec<(Device, Queue)>> = ForkMutex::new(Vec::new());

/// What [`default_queue`] has found before, without Python.
pub(super) fn known_default_queue(device: &Device) -> Option<Queue> {
    DEFAULTS.lock().iter().find(|(root, _)| root == device).map(|(_, queue)| queue.clone())
}

/// The queue that dpctl and dpnp use on a root device when nobody gave one; `None` without dpctl.
pub(super) fn default_queue(py: Python<'_>, runtime: &Runtime, device: &Device) -> PyResult<Option<Queue>> {
    if device.backend_id() != BackendId::Sycl {
        return Ok(None);
    }
    let Some(dpctl) = dpctl(py)?.filter(|dpctl| Runtime::is_fork_generation(dpctl.fork_generation)) else {
        return Ok(None);
    };
    // A forked child has no context either. The runtime's own queue reports the error.
    if device.parent().or_raise()?.is_some() || device.default_context().is_err() {
        return Ok(None);
    }
    let theirs = dpctl.cached_queue.bind(py).call1((device_object(py, device)?,))?;
    let queue = match own_queue(&theirs)? {
        Some(queue) => queue,
        None => match place_in_capsule("queue", &theirs, runtime)? {
            Some(QueueOrContext::Queue(queue)) => queue,
            _ => return Ok(None),
        },
    };
    // Another thread may have been here meanwhile.
    let mut defaults = DEFAULTS.lock();
    if defaults.iter().all(|(root, _)| root != device) {
        defaults.push((device.clone(), queue.clone()));
    }
    Ok(Some(queue))
}

/// A queue of dpctl with our queue for it.
struct Pair {
    theirs: Py<PyAny>,
    ours: Queue,
}

/// The pairs used last, since it takes microseconds to make one: dpctl's queues never change. Only of contexts that live as long as
/// the process, of which nothing is kept alive in vain. The lock is held for moments, never while Python runs.
static PAIRS: Mutex<Vec<Pair>> = Mutex::new(Vec::new());
const MAX_PAIRS: usize = 8;

/// Our queue for one of dpctl's that has been here before.
fn known_queue(object: &Bound<'_, PyAny>) -> Option<Queue> {
    lock(&PAIRS).iter().find(|pair| pair.theirs.is(object)).map(|pair| pair.ours.clone())
}

/// The context or queue in the capsule that an object's method `_get_capsule` makes; `None` for an object without the method.
pub(super) fn place_in_capsule(
    name: &str,
    object: &Bound<'_, PyAny>,
    runtime: &Runtime,
) -> PyResult<Option<QueueOrContext>> {
    let py = object.py();
    let Some(method) = object.getattr_opt(intern!(py, "_get_capsule"))? else { return Ok(None) };
    if !is_of_dpctl(object)? {
        capsule::check_allowed(name)?;
    }
    let made = called::python(py, || method.call0())?;
    let Ok(capsule) = made.cast::<PyCapsule>() else {
        return Err(type_error!(
            "{name}: _get_capsule() of {} gave {}, allowed is a capsule named \"SyclContextRef\" or \"SyclQueueRef\"",
            type_name(object),
            type_name(&made)
        ));
    };
    let imported = capsule::import(name, capsule, runtime)?;
    remember_import(object, &imported)?;
    Ok(Some(imported))
}

/// Whether an object is a queue or a context of dpctl itself.
fn is_of_dpctl(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = object.get_type();
    let is_its = |dpctl: &Dpctl| class.is(&dpctl.queue.theirs) || class.is(&dpctl.context.theirs);
    Ok(dpctl(object.py())?.is_some_and(is_its))
}

/// Keeps with a queue or context which object of dpctl it came from. Objects of other classes may change and refer to ours.
fn remember_import(object: &Bound<'_, PyAny>, imported: &QueueOrContext) -> PyResult<()> {
    let Some(dpctl) = dpctl(object.py())? else { return Ok(()) };
    let class = object.get_type();
    match imported {
        QueueOrContext::Queue(queue) if class.is(&dpctl.queue.theirs) => {
            queue.attach(DpctlObjects { given: Some(Kept::of(object)), ..DpctlObjects::default() });
            remember(object, queue);
        }
        QueueOrContext::Context(context) if class.is(&dpctl.context.theirs) => {
            context.attach(GivenContext(Kept::of(object)));
        }
        _ => {}
    }
    Ok(())
}

fn remember(theirs: &Bound<'_, PyAny>, ours: &Queue) {
    if !ours.context().is_permanent() {
        return;
    }
    let pair = Pair { theirs: theirs.clone().unbind(), ours: ours.clone() };
    let mut pairs = lock(&PAIRS);
    // Another thread may have been here meanwhile.
    if pairs.iter().any(|other| other.theirs.is(theirs)) {
        drop(pairs);
        return;
    }
    let oldest = (pairs.len() >= MAX_PAIRS).then(|| pairs.remove(0));
    pairs.push(pair);
    drop(pairs);
    drop(oldest);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
