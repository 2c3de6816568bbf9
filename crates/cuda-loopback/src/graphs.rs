//! Captures and graphs as another library of the process makes them, for tests.

use std::ffi::{c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;

use libloading::Library;

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`, which forbids most.
const GLOBAL: c_int = 0;

type Handle = *mut c_void;

macro_rules! functions {
    ($(fn $name:ident($($ty:ty),*);)*) => {
        /// A thread of another library, with a device's context current during each call.
        #[derive(Debug)]
        #[allow(non_snake_case, reason = "symbols of a C library")]
        pub struct Graphs {
            context: usize,
            $($name: unsafe extern "C" fn($($ty),*) -> c_uint,)*
        }

        impl Graphs {
            fn load(path: &Path) -> Result<Self, libloading::Error> {
                // SAFETY: the loopback library has no initialisation routines. It is leaked, so it is never unloaded.
                let library = std::mem::ManuallyDrop::new(unsafe { Library::new(path) }?);
                Ok(Self {
                    context: 0,
                    $($name: {
                        let symbol: &[u8] = concat!(stringify!($name), "\0").as_bytes();
                        // SAFETY: the signature of the header.
                        *unsafe { library.get::<unsafe extern "C" fn($($ty),*) -> c_uint>(symbol) }?
                    },)*
                })
            }
        }
    };
}

functions! {
    fn cuDevicePrimaryCtxRetain(*mut Handle, c_int);
    fn cuCtxPushCurrent_v2(Handle);
    fn cuCtxPopCurrent_v2(*mut Handle);
    fn cuStreamBeginCapture_v2(Handle, c_int);
    fn cuStreamEndCapture(Handle, *mut Handle);
    fn cuStreamIsCapturing(Handle, *mut c_int);
    fn cuGraphGetNodes(Handle, *mut Handle, *mut usize);
    fn cuGraphInstantiateWithFlags(*mut Handle, Handle, u64);
    fn cuGraphLaunch(Handle, Handle);
    fn cuGraphDestroy(Handle);
    fn cuGraphExecDestroy(Handle);
    fn cuStreamSynchronize(Handle);
    fn cuStreamCreate(*mut Handle, c_uint);
    fn cuStreamWaitEvent(Handle, Handle, c_uint);
    fn cuEventCreate(*mut Handle, c_uint);
    fn cuEventRecord(Handle, Handle);
    fn cuEventDestroy_v2(Handle);
}

fn handle(number: usize) -> Handle {
    ptr::without_provenance_mut(number)
}

/// A graph in both forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Its number of nodes.
    pub nodes: usize,
    exec: usize,
}

impl Graphs {
    /// Opens a copy of the library that was initialised, for one of its devices.
    ///
    /// # Errors
    /// The code of the driver; 0 where the library is no stand-in.
    pub fn new(path: &Path, device: c_int) -> Result<Self, c_uint> {
        let mut graphs = Self::load(path).map_err(|_| 0_u32)?;
        let mut context = ptr::null_mut();
        // SAFETY: the pointer is writable.
        check(unsafe { (graphs.cuDevicePrimaryCtxRetain)(&raw mut context, device) })?;
        graphs.context = context.addr();
        Ok(graphs)
    }

    fn within<T>(&self, job: impl FnOnce() -> Result<T, c_uint>) -> Result<T, c_uint> {
        // SAFETY: a context that was retained.
        check(unsafe { (self.cuCtxPushCurrent_v2)(handle(self.context)) })?;
        let result = job();
        // SAFETY: null is allowed.
        check(unsafe { (self.cuCtxPopCurrent_v2)(ptr::null_mut()) })?;
        result
    }

    /// A stream, with the implicit order of the default stream or without.
    ///
    /// # Errors
    /// The code of the driver.
    pub fn stream(&self, is_blocking: bool) -> Result<usize, c_uint> {
        let mut stream = ptr::null_mut();
        // SAFETY: the pointer is writable.
        let create = || check(unsafe { (self.cuStreamCreate)(&raw mut stream, c_uint::from(!is_blocking)) });
        self.within(create)?;
        Ok(stream.addr())
    }

    /// Begins a capture that forbids all that may be unsafe, on each thread.
    ///
    /// # Errors
    /// The code of the driver.
    pub fn begin(&self, stream: usize) -> Result<(), c_uint> {
        // SAFETY: the driver recognises handles that are not live.
        self.within(|| check(unsafe { (self.cuStreamBeginCapture_v2)(handle(stream), GLOBAL) }))
    }

    /// Lets the later work of the stream `then` come after that of the stream `first`, whose capture it joins.
    ///
    /// # Errors
    /// The code of the driver.
    pub fn join(&self, first: usize, then: usize) -> Result<(), c_uint> {
        self.within(|| {
            let mut event = ptr::null_mut();
            // SAFETY: the pointer is writable.
            check(unsafe { (self.cuEventCreate)(&raw mut event, 2) })?;
            // SAFETY: the driver recognises handles that are not live.
            check(unsafe { (self.cuEventRecord)(event, handle(first)) })?;
            // SAFETY: as above.
            check(unsafe { (self.cuStreamWaitEvent)(handle(then), event, 0) })?;
            // SAFETY: used no more.
            check(unsafe { (self.cuEventDestroy_v2)(event) })
        })
    }

    /// Whether a capture of the stream goes on and is valid.
    ///
    /// # Errors
    /// The code of the driver.
    pub fn is_capturing(&self, stream: usize) -> Result<bool, c_uint> {
        let mut status = 0;
        // SAFETY: the pointer is writable.
        self.within(|| check(unsafe { (self.cuStreamIsCapturing)(handle(stream), &raw mut status) }))?;
        Ok(status == 1)
    }

    /// Ends a capture and makes the graph executable.
    ///
    /// # Errors
    /// The code of the driver.
    pub fn end(&self, stream: usize) -> Result<Graph, c_uint> {
        self.within(|| {
            let (mut graph, mut exec, mut nodes) = (ptr::null_mut(), ptr::null_mut(), 0);
            // SAFETY: the pointer is writable.
            check(unsafe { (self.cuStreamEndCapture)(handle(stream), &raw mut graph) })?;
            // SAFETY: the pointer to the number is writable, and the other one may be null.
            check(unsafe { (self.cuGraphGetNodes)(graph, ptr::null_mut(), &raw mut nodes) })?;
            // SAFETY: the pointer is writable.
            check(unsafe { (self.cuGraphInstantiateWithFlags)(&raw mut exec, graph, 0) })?;
            // SAFETY: used no more.
            check(unsafe { (self.cuGraphDestroy)(graph) })?;
            Ok(Graph { nodes, exec: exec.addr() })
        })
    }

    /// Launches a graph.
    ///
    /// # Errors
    /// The code of the driver.
    pub fn launch(&self, graph: Graph, stream: usize) -> Result<(), c_uint> {
        // SAFETY: the driver recognises handles that are not live.
        self.within(|| check(unsafe { (self.cuGraphLaunch)(handle(graph.exec), handle(stream)) }))
    }

    /// Waits for a stream.
    ///
    /// # Errors
    /// The code of the driver.
    pub fn wait(&self, stream: usize) -> Result<(), c_uint> {
        // SAFETY: the driver recognises handles that are not live.
        self.within(|| check(unsafe { (self.cuStreamSynchronize)(handle(stream)) }))
    }

    /// Destroys a graph.
    ///
    /// # Errors
    /// The code of the driver.
    pub fn destroy(&self, graph: Graph) -> Result<(), c_uint> {
        // SAFETY: used no more.
        self.within(|| check(unsafe { (self.cuGraphExecDestroy)(handle(graph.exec)) }))
    }
}

fn check(code: c_uint) -> Result<(), c_uint> {
    if code == 0 { Ok(()) } else { Err(code) }
}
