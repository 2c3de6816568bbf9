//! Each target over the corpus in `fuzz/corpus`, and over random bytes.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use test_stacks as _;

use super::{TARGETS, run};

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn inputs_of_the_corpus_do_no_harm() {
    for (name, _) in TARGETS {
        let inputs = corpus(name);
        assert!(inputs.len() >= 10, "{name}: {} inputs", inputs.len());
        inputs.iter().for_each(|input| run(name, input));
    }
}

#[test]
fn each_target_is_a_program_of_the_fuzzer() {
    let manifest = include_str!("../../../fuzz/Cargo.toml");
    let programs: Vec<_> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"targets/")?.strip_suffix(".rs\""))
        .collect();
    assert_eq!(programs, TARGETS.map(|(name, _)| name));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8 * ProptestConfig::default().cases))]

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..160)) {
        for (name, _) in TARGETS {
            run(name, &bytes);
        }
    }
}
