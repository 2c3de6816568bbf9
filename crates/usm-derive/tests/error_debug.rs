//! The `Debug` of errors: what `main` prints, and what a developer asks for.
#![allow(missing_docs)]

use usm_derive::ErrorDebug;

#[derive(thiserror::Error, ErrorDebug)]
enum Inner {
    #[error("{len_bytes} bytes are too many")]
    TooMany { len_bytes: usize, device: String },
    #[error("nothing is left")]
    Empty,
}

#[derive(thiserror::Error, ErrorDebug)]
enum Outer<T: std::fmt::Debug> {
    #[error(transparent)]
    Inner(#[from] Inner),
    #[error("found {0:?} and {1}")]
    Pair(T, u8),
}

fn too_many() -> Inner {
    Inner::TooMany { len_bytes: 7, device: "host:cpu:0".to_owned() }
}

#[test]
fn the_plain_form_is_the_sentence() {
    assert_eq!(format!("{:?}", too_many()), "7 bytes are too many");
    assert_eq!(format!("{:?}", Outer::<u8>::from(too_many())), "7 bytes are too many");
    assert_eq!(format!("{:?}", Outer::Pair("x", 3)), "found \"x\" and 3");
    // What `main` prints, and what `unwrap` prints.
    let boxed: Box<dyn std::error::Error> = too_many().into();
    assert_eq!(format!("Error: {boxed:?}"), "Error: 7 bytes are too many");
}

#[test]
fn the_alternate_form_has_variants_and_fields() {
    let inner = "TooMany {\n    len_bytes: 7,\n    device: \"host:cpu:0\",\n}";
    assert_eq!(format!("{:#?}", too_many()), inner);
    assert_eq!(format!("{:#?}", Inner::Empty), "Empty");
    let nested = format!("Inner(\n    {},\n)", inner.replace('\n', "\n    "));
    assert_eq!(format!("{:#?}", Outer::<u8>::from(too_many())), nested);
    assert_eq!(format!("{:#?}", Outer::Pair("x", 3)), "Pair(\n    \"x\",\n    3,\n)");
}
