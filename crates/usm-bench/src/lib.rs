//! Benchmarks of usm beside its neighbours
