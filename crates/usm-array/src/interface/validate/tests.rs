//! Refusals name their key; spans against brute force

use proptest::prelude::*;

use super::*;
use crate::layout::brute_force::{displacements, small_layouts};

const ADDRESS: u64 = 0x10_0000;

fn interface() -> UsmArrayInterface {
    UsmArrayInterface {
        shape: vec![2, 3],
        typestr: "|f8".to_owned(),
        address: ADDRESS,
        read_only: false,
        strides: None,
        offset: 0,
        version: 1,
    }
}

#[track_caller]
fn refused(change: impl FnOnce(&mut UsmArrayInterface), start: &str, parts: &[&str]) {
    let mut interface = interface();
    change(&mut interface);
    let error = interface.validate().expect_err("refused").to_string();
    assert!(error.starts_with(start), "{error}");
    assert!(error.contains("found") && error.contains("allowed"), "{error}");
    for part in parts {
        assert!(error.contains(part), "{error:?} lacks {part:?}");
    }
}

#[test]
fn a_good_interface_is_taken() {
    let valid = interface().validate().expect("good");
    assert_eq!(valid.dtype(), Dtype::F64);
    assert_eq!(valid.layout().strides(), [3, 1]);
    assert_eq!(valid.address(), ADDRESS as usize);
    assert!(!valid.is_read_only());
    let span = ByteSpan { start_address: ADDRESS as usize, len_bytes: 48 };
    assert_eq!(valid.span(), span);
}

#[test]
fn strides_that_nobody_uses_may_be_any_number() {
    for far in [7, -7, i64::MAX, i64::MIN] {
        let unit = UsmArrayInterface { shape: vec![1, 8], strides: Some(vec![far, 1]), ..interface() };
        assert_eq!(unit.validate().expect("8 elements side by side").span().len_bytes, 64);
        let empty = UsmArrayInterface { shape: vec![0, 8], strides: Some(vec![far, 1]), ..interface() };
        assert_eq!(empty.validate().expect("no elements").span().len_bytes, 0);
    }
}

#[test]
fn version_must_be_one() {
    for version in [0, 2, -1, i64::MAX] {
        refused(|i| i.version = version, "version: ", &[&version.to_string()]);
    }
}

#[test]
fn typestr_must_be_a_native_number() {
    for typestr in [">f8", "|V8", "|f16", "", "|O8", "float64"] {
        refused(|i| i.typestr = typestr.to_owned(), "typestr: ", &[typestr]);
    }
}

#[test]
fn shape_must_be_countable() {
    refused(|i| i.shape = vec![2, -3], "shape: ", &["axis 1", "-3"]);
    // The product of the two is positive and small.
    refused(|i| i.shape = vec![-2, -3], "shape: ", &["axis 0", "-2"]);
    refused(|i| i.shape = vec![1; 65], "shape: ", &["65", "64"]);
    refused(|i| i.shape = vec![1 << 32, 1 << 32], "shape: ", &["4294967296"]);
    refused(|i| i.shape = vec![i64::MAX], "shape: ", &["8 bytes"]);
    refused(|i| i.shape = vec![1 << 60], "shape: ", &["8 bytes"]);
    refused(|i| i.shape = vec![0, i64::MAX, 2], "shape: ", &[]);
    // Too many bytes although stride 0 puts them all at one place.
    refused(|i| (i.shape, i.strides) = (vec![1 << 61], Some(vec![0])), "shape: ", &["8 bytes"]);
}

#[test]
fn strides_must_fit_shape_and_memory() {
    refused(|i| i.strides = Some(vec![1]), "strides: ", &["found 1", "are 2"]);
    refused(|i| i.strides = Some(vec![]), "strides: ", &["found 0", "are 2"]);
    refused(|i| i.strides = Some(vec![1, i64::MAX]), "strides: ", &[]);
    refused(|i| i.strides = Some(vec![1, i64::MIN]), "strides: ", &[]);
    refused(|i| i.strides = Some(vec![1, 1 << 60]), "strides: ", &["8 bytes"]);
}

#[test]
fn offset_must_stay_in_the_address_space() {
    for offset in [i64::MAX, i64::MIN, 1 << 62, -(1 << 62), 1 << 60, -0x10_0000] {
        refused(|i| i.offset = offset, "offset: ", &[&offset.to_string()]);
        refused(|i| (i.offset, i.shape) = (offset, vec![0]), "offset: ", &[&offset.to_string()]);
    }
    // Found by the runtime, not by arithmetic.
    let mut far = interface();
    far.offset = -0x1_0000;
    assert!(far.validate().is_ok());
}

#[test]
fn data_must_be_an_address_for_the_elements() {
    refused(|i| i.address = 0, "data: ", &["address 0"]);
    refused(|i| (i.address, i.shape) = (0, vec![0]), "data: ", &["address 0"]);
    refused(|i| i.address += 4, "data: ", &["multiples of 8", "0x100004"]);
    refused(|i| i.address = u64::MAX - 7, "data: ", &[]);
    refused(|i| (i.address, i.strides) = (8, Some(vec![-3, 1])), "data: ", &["0x8", "-24"]);
    let mut complex = interface();
    (complex.address, complex.typestr) = (ADDRESS + 4, "|c8".to_owned());
    assert!(complex.validate().is_ok(), "aligned like its parts");
}

#[test]
fn empty_and_zero_dimensional_arrays_are_taken() {
    for (shape, len_bytes) in [(vec![], 8), (vec![0], 0), (vec![3, 0], 0)] {
        let mut interface = interface();
        interface.shape = shape;
        let span = interface.validate().expect("good").span();
        assert_eq!(span.len_bytes, len_bytes);
        assert_eq!(span.start_address, ADDRESS as usize);
    }
}

/// The dtypes that have a typestr.
fn described() -> Vec<Dtype> {
    Dtype::ALL.into_iter().filter(|dtype| dtype.typestr().is_some()).collect()
}

proptest! {
    #[test]
    fn spans_equal_brute_force(
        layout in small_layouts(),
        dtype in prop::sample::select(described()),
        read_only: bool,
    ) {
        let numbers = |values: &[isize]| values.iter().map(|&v| v as i64).collect::<Vec<_>>();
        let interface = UsmArrayInterface {
            shape: layout.shape().iter().map(|&n| n as i64).collect(),
            typestr: dtype.typestr().unwrap().to_owned(),
            address: ADDRESS,
            read_only,
            strides: Some(numbers(layout.strides())),
            offset: layout.offset() as i64,
            version: 1,
        };
        let valid = interface.validate().expect("small");
        prop_assert_eq!(valid.layout(), &layout);
        prop_assert_eq!(valid.is_read_only(), read_only);
        let item = dtype.itemsize_bytes() as i128;
        let bytes: Vec<i128> = displacements(&layout).into_iter()
            .flat_map(|place| (0..item).map(move |byte| ADDRESS as i128 + place * item + byte))
            .collect();
        let span = valid.span();
        prop_assert_eq!(span.len_bytes == 0, bytes.is_empty());
        if let Some((&first, &last)) = bytes.iter().min().zip(bytes.iter().max()) {
            prop_assert_eq!(span.start_address as i128, first);
            prop_assert_eq!(span.len_bytes as i128, last - first + 1);
        }
    }

    /// With numbers of any size: a refusal, or a span that wide integers confirm.
    #[test]
    fn any_numbers_give_an_error_or_a_true_span(
        axes in prop::collection::vec((wide(), wide()), 0..4),
        with_strides: bool,
        offset in wide(),
        address: u64,
        dtype in prop::sample::select(described()),
    ) {
        let (shape, strides): (Vec<i64>, Vec<i64>) = axes.into_iter().unzip();
        let interface = UsmArrayInterface {
            shape,
            typestr: dtype.typestr().unwrap().to_owned(),
            address: address & !15,
            read_only: false,
            strides: with_strides.then_some(strides),
            offset,
            version: 1,
        };
        if let Ok(valid) = interface.validate() {
            let layout = valid.layout();
            let size: i128 = interface.shape.iter().map(|&n| n as i128).product();
            let item = dtype.itemsize_bytes() as i128;
            prop_assert!(size * item <= isize::MAX as i128);
            let reach = interface.shape.iter().zip(layout.strides())
                .map(|(&n, &s)| (n as i128 - 1) * s as i128);
            let lo: i128 = reach.clone().filter(|&r| r < 0).sum();
            let hi: i128 = reach.filter(|&r| r > 0).sum();
            let span = valid.span();
            if size > 0 {
                let zero = interface.address as i128 + offset as i128 * item;
                prop_assert_eq!(span.start_address as i128, zero + lo * item);
                prop_assert_eq!(span.len_bytes as i128, (hi - lo + 1) * item);
            } else {
                prop_assert_eq!(span.len_bytes, 0);
            }
            prop_assert!(span.start_address.checked_add(span.len_bytes).is_some());
        }
    }
}

fn wide() -> impl Strategy<Value = i64> {
    let near_a_power = (0_u32..64, -2_i64..3).prop_map(|(bits, low)| (1_i64 << bits).wrapping_add(low));
    prop_oneof![-3_i64..6, near_a_power, any::<i64>()]
}
