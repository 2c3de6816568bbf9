//! Errors as `main` prints them, through all crates.
#![allow(clippy::unwrap_used)]

use usm_array::Error;
use usm_array::usm_core::{Error as CoreError, UsmKind};
use usm_array::usm_memory::Error as MemoryError;

#[test]
fn the_sentence_is_the_plain_debug_form_and_the_parts_are_the_alternate_one() {
    let core = || CoreError::KindNotSupported { kind: UsmKind::Shared, device: "cuda:gpu:0".to_owned() };
    let error = || Error::from(MemoryError::from(core()));
    assert_eq!(format!("{:?}", error()), "device cuda:gpu:0 has no support for shared USM");
    assert_eq!(format!("{:?}", error()), error().to_string());
    let text = format!("{:#?}", error());
    for part in ["Memory(", "Core(", "KindNotSupported {", "kind: Shared", "device: \"cuda:gpu:0\""] {
        assert!(text.contains(part), "{text}");
    }
}
