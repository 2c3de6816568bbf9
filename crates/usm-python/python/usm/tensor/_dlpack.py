"""The device types of DLPack, with their names in the specification."""

from enum import IntEnum

__all__ = ["DLDeviceType"]


class DLDeviceType(IntEnum):
    """The kind of a device in ``__dlpack_device__``. Arrays of this package are ``kDLOneAPI`` or ``kDLCPU``.

    >>> import usm.tensor as ut
    >>> ut.DLDeviceType(1).name
    'kDLCPU'
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
    kDLTrn = 18
