"""Arithmetic on USM arrays, by the library that computes on their memory without a copy.

This package has no arithmetic of its own. Each kind of memory has a *provider*:

=========================================  =====================================================
memory                                     provider
=========================================  =====================================================
host and shared memory                     NumPy
device memory of a SYCL device             dpnp; on a CPU without dpnp NumPy
device memory of an NVIDIA GPU             CuPy or PyTorch: what is imported, else what is installed
device memory of the host backend          NumPy, on a copy
=========================================  =====================================================

The operands are not copied, except where the table says so, and results are arrays of this package. Nothing is
imported before the first computation on such memory.

| module | job |
|---|---|
| ``_table`` | names, parameters and documentation of all functions |
| ``_functions`` | the functions, made of the table's rows |
| ``_protocols`` | ``__array_ufunc__`` and ``__array_function__`` of NumPy |
| ``_choice`` | which provider computes |
| ``_numpy``, ``_dpnp``, ``_cuda`` | the providers; ``_library`` has what the last two share |
| ``_narrow`` | bfloat16 and float8, in float32 by another provider |
"""

from ._choice import Missing, providers, use_provider

__all__ = ["Missing", "providers", "use_provider"]
