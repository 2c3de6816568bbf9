#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_targets::run(fuzz_targets::overlaps, bytes));
