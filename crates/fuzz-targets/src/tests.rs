//! Each target over the corpus in `fuzz/corpus`, over changed inputs of it, and over random bytes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, panic, thread};

use proptest::prelude::*;
use test_stacks as _;
use usm_core::testing::campaign;

use super::mutation::{Mutator, words};
use super::{TARGETS, Target, run};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = folder().join("corpus").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn inputs_of_the_corpus_do_no_harm() {
    for &(name, target) in TARGETS {
        let inputs = corpus(name);
        assert!(inputs.len() >= 10, "{name}: {} inputs", inputs.len());
        inputs.iter().for_each(|input| run(target, input));
    }
}

/// Runs a target over changed inputs for some time. Returns their number.
fn run_changed((name, target): (&str, Target), time: Duration) -> usize {
    let dictionary = folder().join("dictionaries").join(format!("{name}.txt"));
    let dictionary = fs::read_to_string(dictionary).unwrap_or_default();
    let seed = campaign::number("USM_TEST_SEED", 1) as u64;
    let mut mutator = Mutator::new(seed, corpus(name), words(&dictionary));
    let (started, mut count) = (Instant::now(), 0);
    while count % 64 != 0 || started.elapsed() < time {
        let input = mutator.next();
        let outcome = panic::catch_unwind(|| run(target, &input));
        assert!(outcome.is_ok(), "{name}, seed {seed}, input b\"{}\"", input.escape_ascii());
        count += 1;
    }
    count
}

/// `USM_TEST_FUZZ_SECONDS` has the time of each target, and `USM_TEST_SEED` other inputs.
#[test]
fn changed_inputs_do_no_harm() {
    let time = Duration::from_secs(campaign::number("USM_TEST_FUZZ_SECONDS", 1) as u64);
    let (next, all) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let fewest = AtomicUsize::new(usize::MAX);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while let Some(&target) = TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let count = run_changed(target, time);
                    eprintln!("{}: {count}", target.0);
                    all.fetch_add(count, Ordering::Relaxed);
                    fewest.fetch_min(count, Ordering::Relaxed);
                }
            });
        }
    });
    let (all, fewest) = (all.into_inner(), fewest.into_inner());
    campaign::figure(&format!("{} targets, {all} changed inputs, {fewest} at least of each", TARGETS.len()))
        .unwrap();
}

#[test]
fn dictionaries_are_those_of_targets() {
    for file in fs::read_dir(folder().join("dictionaries")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap();
        assert!(TARGETS.iter().any(|(known, _)| *known == name), "{name}");
        assert!(!words(&fs::read_to_string(&path).unwrap()).is_empty());
    }
    assert_eq!(words("# bytes\n\"a\\x00\\\\\"\n"), [b"a\0\\"]);
}

#[test]
fn each_target_is_a_program_of_the_fuzzer() {
    let manifest = include_str!("../../../fuzz/Cargo.toml");
    let programs: Vec<_> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"targets/")?.strip_suffix(".rs\""))
        .collect();
    assert!(programs.iter().eq(TARGETS.iter().map(|(name, _)| name)));
    for name in programs {
        let program = fs::read_to_string(folder().join(format!("targets/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("fuzz_targets::{},", name.replace('-', "_"))), "{program}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8 * ProptestConfig::default().cases))]

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..160)) {
        for &(_, target) in TARGETS {
            run(target, &bytes);
        }
    }
}
