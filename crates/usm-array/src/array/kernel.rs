//! Arrays as arguments of kernels.

use usm_memory::Argument;

use super::UsmArray;
use crate::Result;

impl UsmArray {
    /// A pointer to the element with index zero, for a kernel that uses the bytes from the lowest to the highest element. The kernel learns
    /// neither shape nor strides.
    ///
    /// ```
    /// use usm_array::usm_core::{Error, KernelBundle, Runtime, UsmKind};
    /// use usm_array::usm_memory::submit_kernel;
    /// use usm_array::{Dtype, UsmArray};
    ///
    /// # fn main() -> usm_array::Result<()> {
    /// let runtime = Runtime::global();
    /// let device = runtime.default_device()?;
    /// let queue = runtime.default_queue(&device)?;
    /// let source = "kernel void ids(global int *x, int step) { x[get_global_id(0)] = get_global_id(0) * step; }";
    /// let bundle = match KernelBundle::from_opencl_source(queue.context(), &device, source, "") {
    ///     Err(Error::NotSupported { .. }) => return Ok(()), // the host backend and CUDA
    ///     bundle => bundle?,
    /// };
    /// let array = UsmArray::zeros(&queue, UsmKind::Device, &[4], Dtype::I32)?;
    /// let arguments = [array.to_kernel_argument()?, 10.into()];
    /// // SAFETY: 1. The kernel takes a pointer and an `int`. 2. It writes 4 elements, each by one work-item.
    /// unsafe { submit_kernel(&queue, &bundle.kernel("ids")?, &arguments, 4, &[]) }?.wait()?;
    /// assert_eq!(array.to_vec::<i32>()?, [0, 10, 20, 30]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// None so far: the elements are within the buffer.
    pub fn to_kernel_argument(&self) -> Result<Argument> {
        let range = self.byte_range();
        let buffer = self.buffer().sub_buffer(range.start, range.len())?;
        // Without elements there is no first one.
        let offset_bytes = self.address().saturating_sub(buffer.address()).min(buffer.len_bytes());
        Ok(Argument::Memory { buffer, offset_bytes })
    }
}
