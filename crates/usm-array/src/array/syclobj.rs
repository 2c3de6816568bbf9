//! The entry `syclobj` of CUDA memory, for which SYCL has no object

use usm_memory::usm_core::{BackendId, Queue, Runtime};

use crate::error::Result;

/// Filter strings of CUDA devices before the number. A SYCL runtime numbers these devices like the driver.
const CUDA_GPU: &str = "cuda:gpu:";

/// The entry `syclobj` for memory of a queue of the CUDA backend: the filter string of the device, with the number of the driver.
/// `None` for a queue of another backend.
///
/// ```
/// use usm_array::cuda_syclobj;
/// use usm_array::usm_core::Runtime;
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// assert_eq!(cuda_syclobj(&queue), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn cuda_syclobj(queue: &Queue) -> Option<String> {
    queue.device().info().cuda_ordinal.map(|ordinal| format!("{CUDA_GPU}{ordinal}"))
}

/// The default queue of the device of the CUDA driver that an entry [`cuda_syclobj`] names. `None` for other texts.
///
/// ```
/// use usm_array::queue_of_cuda_syclobj;
/// use usm_array::usm_core::Runtime;
///
/// assert_eq!(queue_of_cuda_syclobj(Runtime::global(), "opencl:cpu:0")?, None);
/// # Ok::<(), usm_array::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Memory`](crate::Error::Memory): there is no queue for the device
pub fn queue_of_cuda_syclobj(runtime: &Runtime, syclobj: &str) -> Result<Option<Queue>> {
    let number: Option<i32> = syclobj.strip_prefix(CUDA_GPU).and_then(|number| number.parse().ok());
    let Some(number) = number else { return Ok(None) };
    let found = runtime.devices_of(BackendId::Cuda).find(|device| device.info().cuda_ordinal == Some(number));
    Ok(found.map(|device| runtime.default_queue(device)).transpose()?)
}
