"""Kernels: programs from source and from modules, for ``SyclQueue.submit``.

A program is built for the device of a queue, from OpenCL C or SPIR-V on an
OpenCL device, from CUDA C or PTX on a CUDA device. Names follow
``dpctl.program``, which is ``dpctl.compiler`` from dpctl 0.23 on::

    program = usm.program.create_program_from_source(queue, source)
    queue.submit(program.get_sycl_kernel("scale"), [array, np.float32(2)], [array.size])
"""

from ._usm import (
    SyclKernel,
    SyclProgram,
    SyclProgramCompilationError,
    create_program_from_ptx,
    create_program_from_source,
    create_program_from_spirv,
)

__all__ = [
    "SyclKernel",
    "SyclProgram",
    "SyclProgramCompilationError",
    "create_program_from_ptx",
    "create_program_from_source",
    "create_program_from_spirv",
]
