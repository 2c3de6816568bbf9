//! Programs and kernels: `usm.program`.

mod arguments;
mod local;

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use usm_array::usm_core::{Kernel, KernelBundle, Nvrtc, Queue, Result};

pub(crate) use self::arguments::argument;
pub(crate) use self::local::{LocalAccessor, WorkGroupMemory};
use crate::errors::{OrRaise, SyclProgramCompilationError, in_place_of, wrong_type};
use crate::imported;
use crate::interrupt;
use crate::sycl::queue_of;

/// Kernels built for the device of a queue. create_program_from_source and its siblings make it.
///
/// >>> import usm, usm.program
/// >>> queue = usm.SyclQueue()
/// >>> source = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"
/// >>> if queue.backend == usm.backend_type.opencl:
/// ...     program = usm.program.create_program_from_source(queue, source)
/// ...     print(program.has_sycl_kernel("twice"), program.has_sycl_kernel("thrice"))
/// ... else:
/// ...     print(True, False)
/// True False
#[pyclass(frozen, weakref, module = "usm.program")]
pub(crate) struct SyclProgram {
    bundle: KernelBundle,
}

#[pymethods]
impl SyclProgram {
    /// The kernel of that name, a SyclKernel. Keep it: looking it up takes longer than submitting it.
    ///
    /// Raises ValueError when there is none.
    fn get_sycl_kernel(&self, py: Python<'_>, kernel_name: &str) -> PyResult<SyclKernel> {
        py.detach(|| self.bundle.kernel(kernel_name)).or_raise().map(|kernel| SyclKernel { kernel })
    }

    /// Whether there is a kernel of that name.
    fn has_sycl_kernel(&self, py: Python<'_>, kernel_name: &str) -> bool {
        py.detach(|| self.bundle.has_kernel(kernel_name))
    }

    fn __repr__(&self) -> String {
        format!("<usm.program.SyclProgram for {}>", self.bundle.device().filter_string())
    }
}

/// A kernel of a program, which SyclQueue.submit runs. SyclProgram.get_sycl_kernel makes it.
#[pyclass(frozen, weakref, module = "usm.program")]
pub(crate) struct SyclKernel {
    pub(crate) kernel: Kernel,
}

#[pymethods]
impl SyclKernel {
    /// Name of the kernel.
    fn get_function_name(&self) -> &str {
        self.kernel.name()
    }

    /// Number of its arguments.
    fn get_num_args(&self) -> usize {
        self.number_of_args()
    }

    /// Number of its arguments.
    #[getter(num_args)]
    fn number_of_args(&self) -> usize {
        self.kernel.info().num_args
    }

    /// Work-items of its largest work-group.
    #[getter]
    fn work_group_size(&self) -> usize {
        self.kernel.info().work_group_size
    }

    /// A number of which the size of a work-group is preferred to be a multiple.
    #[getter]
    fn preferred_work_group_size_multiple(&self) -> usize {
        self.kernel.info().preferred_work_group_size_multiple
    }

    /// Bytes of private memory that a work-item uses at least.
    #[getter]
    fn private_mem_size(&self) -> usize {
        self.kernel.info().private_mem_bytes
    }

    /// Most sub-groups of a work-group.
    #[getter]
    fn max_num_sub_groups(&self) -> u32 {
        self.kernel.info().max_num_sub_groups
    }

    /// Work-items of its largest sub-group.
    #[getter]
    fn max_sub_group_size(&self) -> u32 {
        self.kernel.info().max_sub_group_size
    }

    /// Sub-groups of a work-group as the code demands them; 0 if it does not.
    #[getter]
    fn compile_num_sub_groups(&self) -> u32 {
        self.kernel.info().compile_num_sub_groups
    }

    /// Work-items of a sub-group as the code demands them; 0 if it does not.
    #[getter]
    fn compile_sub_group_size(&self) -> u32 {
        self.kernel.info().compile_sub_group_size
    }

    fn __repr__(&self) -> String {
        let (kernel, device) = (&self.kernel, self.kernel.bundle().device());
        format!("<usm.program.SyclKernel {:?} for {}>", kernel.name(), device.filter_string())
    }
}

/// create_program_from_source(q, src, copts="")
///
/// A SyclProgram for the device of the queue `q`, built from the text `src`: OpenCL C, or CUDA C for a queue of the CUDA backend. `copts` are
/// options of the compiler, separated by spaces.
///
/// CUDA C needs NVIDIA's compiler library NVRTC, which the Python packages nvidia-cuda-nvrtc-cu12 and nvidia-cuda-nvrtc bring. Kernels are
/// declared ``extern "C" __global__``, since names of C++ are mangled.
///
/// Raises SyclProgramCompilationError when it cannot be built; on CUDA with the compiler's messages.
///
/// >>> import usm, usm.program
/// >>> queue = usm.SyclQueue("host")
/// >>> try:
/// ...     usm.program.create_program_from_source(queue, "kernel void nothing() { }")
/// ... except usm.program.SyclProgramCompilationError as error:
/// ...     print(error)
/// the host backend does not support kernels
#[pyfunction]
#[pyo3(signature = (q, src, copts=""))]
pub(crate) fn create_program_from_source(
    q: &Bound<'_, PyAny>,
    src: &str,
    copts: &str,
) -> PyResult<SyclProgram> {
    let (py, queue) = (q.py(), queue_argument(q)?);
    let (src, copts) = (src.to_owned(), copts.to_owned());
    if queue.device().info().cuda_versions.is_none() {
        return build(py, queue, move |queue| {
            KernelBundle::from_opencl_source(queue.context(), queue.device(), &src, &copts)
        });
    }
    let folders: Vec<PathBuf> =
        imported::import(py, intern!(py, "usm._locate"))?.call_method0("nvrtc_folders")?.extract()?;
    build(py, queue, move |queue| {
        let nvrtc = Nvrtc::find(queue.device(), &folders)?;
        KernelBundle::from_cuda_source(queue.context(), queue.device(), &src, &copts, nvrtc)
    })
}

/// create_program_from_spirv(q, IL, copts="")
///
/// A SyclProgram for the device of the queue `q`, built from the bytes of a SPIR-V module. The module must be valid, as ``spirv-val`` finds
/// it: drivers crash on others.
///
/// Raises SyclProgramCompilationError when it cannot be built.
#[pyfunction]
#[pyo3(signature = (q, IL, copts=""))]
#[allow(non_snake_case, reason = "dpctl's name")]
pub(crate) fn create_program_from_spirv(
    q: &Bound<'_, PyAny>,
    IL: &[u8],
    copts: &str,
) -> PyResult<SyclProgram> {
    let (module, copts) = (IL.to_vec(), copts.to_owned());
    build(q.py(), queue_argument(q)?, move |queue| {
        // SAFETY: TB2: the Python program gives a valid module.
        unsafe { KernelBundle::from_spirv(queue.context(), queue.device(), &module, &copts) }
    })
}

/// create_program_from_ptx(q, ptx, copts="")
///
/// A SyclProgram for the device of the queue `q`, of the CUDA backend, which the driver compiles from the text of a PTX module. `copts` are
/// of ``-maxrregcount=N``, ``-O0`` to ``-O4`` and ``-lineinfo``.
///
/// Raises SyclProgramCompilationError when it cannot be compiled, with the compiler's messages.
#[pyfunction]
#[pyo3(signature = (q, ptx, copts=""))]
pub(crate) fn create_program_from_ptx(q: &Bound<'_, PyAny>, ptx: &str, copts: &str) -> PyResult<SyclProgram> {
    let (ptx, copts) = (ptx.to_owned(), copts.to_owned());
    build(q.py(), queue_argument(q)?, move |queue| {
        // SAFETY: TB2: the Python program gives valid PTX.
        unsafe { KernelBundle::from_ptx(queue.context(), queue.device(), &ptx, &copts) }
    })
}

fn queue_argument(q: &Bound<'_, PyAny>) -> PyResult<Queue> {
    queue_of(q)?.ok_or_else(|| wrong_type("q", q, "is a SyclQueue"))
}

/// Builds on another thread, so that Ctrl-C gets through. Everything that is wrong with a program is one exception, as in dpctl.
fn build(
    py: Python<'_>,
    queue: Queue,
    make: impl FnOnce(&Queue) -> Result<KernelBundle> + Send + 'static,
) -> PyResult<SyclProgram> {
    let made = interrupt::run_long(py, move || make(&queue))?.or_raise();
    let bundle =
        made.map_err(in_place_of::<PyValueError>(py, PyErr::new::<SyclProgramCompilationError, String>))?;
    Ok(SyclProgram { bundle })
}
