//! Malformed tensors, field by field and at random: always an error or an array, and the deleter always runs once

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use crate::external;

use std::sync::LazyLock;

use common::queues;
use external::{Deleted, External};
use proptest::prelude::*;
use usm_array::dlpack::{DLDataTypeCode, DLDevice, DLDeviceType, DlpackError, DlpackImport, ManagedTensor};
use usm_array::usm_core::UsmKind;
use usm_array::{CopyMode, Dtype, UsmArray};

/// Plain host memory that tensors may lead to.
static MEMORY: LazyLock<Vec<u64>> = LazyLock::new(|| (0..512).collect());

fn import(tensor: ManagedTensor, options: &DlpackImport<'_>) -> usm_array::Result<UsmArray> {
    // SAFETY: tensors of these tests lead to `MEMORY`, or are refused before their memory is touched.
    unsafe { UsmArray::from_dlpack(tensor, options) }
}

fn good() -> External {
    External::cpu(MEMORY.as_ptr().cast(), Dtype::U64, &[2, 3])
}

type Spoil = fn(&mut External);

#[test]
fn each_spoiled_field_is_refused_by_its_name() {
    const I64_MAX: i64 = i64::MAX;
    let cases: &[(&str, Spoil)] = &[
        ("version: found 0.8", |f| (f.major, f.minor) = (0, 8)),
        ("version: found 2.0", |f| (f.major, f.minor) = (2, 0)),
        ("version: found 4294967295.3", |f| f.major = u32::MAX),
        // Of another version nothing else is read.
        ("version: found 7.3", |f| {
            (f.major, f.tensor.ndim, f.null_shape) = (7, 60, true);
            f.tensor.data = std::ptr::dangling_mut();
        }),
        ("device_id: found 99 of kDLCUDA (2)", |f| {
            f.tensor.device = DLDevice { device_type: DLDeviceType(2), device_id: 99 };
        }),
        ("device_id: found 99 of kDLCUDAHost (3)", |f| {
            f.tensor.device = DLDevice { device_type: DLDeviceType(3), device_id: 99 };
        }),
        ("device_type: found kDLROCM (10)", |f| f.tensor.device.device_type = DLDeviceType(10)),
        ("device_type: found kDLTrn (18)", |f| f.tensor.device.device_type = DLDeviceType(18)),
        ("device_type: found an unknown device type (0)", |f| f.tensor.device.device_type = DLDeviceType(0)),
        ("device_type: found an unknown device type (-1)", |f| {
            f.tensor.device.device_type = DLDeviceType(-1)
        }),
        ("device_type: found an unknown device type (2147483647)", |f| {
            f.tensor.device.device_type = DLDeviceType(i32::MAX);
        }),
        ("device_id: found 1 of kDLCPU (1), allowed are 0", |f| f.tensor.device.device_id = 1),
        ("device_id: found -1 of kDLCPU", |f| f.tensor.device.device_id = -1),
        ("device_id: found 999 of kDLOneAPI (14)", |f| {
            f.tensor.device.device_type = DLDeviceType::ONE_API;
            f.tensor.device.device_id = 999;
        }),
        ("device_id: found -2147483648 of kDLOneAPI (14)", |f| {
            f.tensor.device.device_type = DLDeviceType::ONE_API;
            f.tensor.device.device_id = i32::MIN;
        }),
        ("ndim: found -1, allowed are 0 to 64", |f| f.tensor.ndim = -1),
        ("ndim: found 65", |f| f.tensor.ndim = 65),
        ("ndim: found 2147483647", |f| f.tensor.ndim = i32::MAX),
        ("ndim: found -2147483648", |f| f.tensor.ndim = i32::MIN),
        ("lanes: found 0", |f| f.tensor.dtype.lanes = 0),
        ("lanes: found 4", |f| f.tensor.dtype.lanes = 4),
        ("lanes: found 65535", |f| f.tensor.dtype.lanes = u16::MAX),
        ("code: found kDLOpaqueHandle (3)", |f| f.tensor.dtype.code = DLDataTypeCode(3)),
        ("code: found kDLFloat8_e8m0fnu (14)", |f| f.tensor.dtype.code = DLDataTypeCode(14)),
        ("bits: found 64 bits of kDLBfloat (4), allowed are [16]", |f| {
            f.tensor.dtype.code = DLDataTypeCode(4)
        }),
        ("code: found kDLFloat8_e4m3 (8)", |f| f.tensor.dtype.code = DLDataTypeCode(8)),
        ("code: found kDLFloat6_e3m2fn (16)", |f| f.tensor.dtype.code = DLDataTypeCode(16)),
        ("code: found kDLFloat4_e2m1fn (17)", |f| f.tensor.dtype.code = DLDataTypeCode(17)),
        ("code: found an unknown code (255)", |f| f.tensor.dtype.code = DLDataTypeCode(255)),
        ("bits: found 0 bits of kDLUInt (1), allowed are [8, 16, 32, 64]", |f| f.tensor.dtype.bits = 0),
        ("bits: found 7 bits", |f| f.tensor.dtype.bits = 7),
        ("bits: found 128 bits", |f| f.tensor.dtype.bits = 128),
        ("bits: found 8 bits of kDLFloat (2), allowed are [16, 32, 64]", |f| {
            (f.tensor.dtype.code, f.tensor.dtype.bits) = (DLDataTypeCode::FLOAT, 8);
        }),
        ("bits: found 1 bits of kDLBool (6), allowed are [8]", |f| {
            (f.tensor.dtype.code, f.tensor.dtype.bits) = (DLDataTypeCode::BOOL, 1);
        }),
        ("bits: found 32 bits of kDLComplex (5), allowed are [64, 128]", |f| {
            (f.tensor.dtype.code, f.tensor.dtype.bits) = (DLDataTypeCode::COMPLEX, 32);
        }),
        ("shape: found a null or misaligned pointer", |f| f.null_shape = true),
        ("shape: found size -1 of axis 0", |f| f.shape[0] = -1),
        ("shape: found size -9223372036854775808 of axis 1", |f| f.shape[1] = i64::MIN),
        ("shape: found size -2 of axis 0", |f| f.shape = vec![-2, -3]),
        ("shape: found [4294967296, 4294967296]", |f| f.shape = vec![1 << 32, 1 << 32]),
        ("shape: found [9223372036854775807, 1]", |f| f.shape = vec![I64_MAX, 1]),
        ("shape: found [0, 9223372036854775807, 3]", |f| {
            f.shape = vec![0, I64_MAX, 3];
            f.tensor.ndim = 3;
        }),
        ("strides: found [9223372036854775807, 1]", |f| f.strides = Some(vec![I64_MAX, 1])),
        ("strides: found [-9223372036854775808, 1]", |f| f.strides = Some(vec![i64::MIN, 1])),
        ("strides: found [2305843009213693952, 1]", |f| f.strides = Some(vec![1 << 61, 1])),
        ("data: found null for shape [2, 3]", |f| f.tensor.data = std::ptr::null_mut()),
        ("data: found null for shape [2, 3]", |f| {
            (f.tensor.data, f.tensor.byte_offset) = (std::ptr::null_mut(), 64);
        }),
        ("data: found address", |f| f.tensor.byte_offset = 4), // misaligned
        ("data: found address", |f| f.tensor.data = f.tensor.data.wrapping_byte_add(1)),
        ("data: found address", |f| f.strides = Some(vec![-(1 << 59), 1])), // out of the address space
        ("byte_offset: found 18446744073709551608", |f| f.tensor.byte_offset = u64::MAX - 7),
        ("data: found address", |f| f.tensor.data = std::ptr::without_provenance_mut(usize::MAX - 7)),
    ];
    assert!(cases.len() >= 40);
    for queue in queues() {
        for copy in [CopyMode::Always, CopyMode::IfNeeded, CopyMode::Never] {
            let options = DlpackImport { queue: Some(&queue), copy, ..Default::default() };
            for (index, (message, spoil)) in cases.iter().enumerate() {
                let deleted = Deleted::default();
                let mut external = good();
                spoil(&mut external);
                let versions_only = message.starts_with("version");
                let refused = import(external.clone().versioned(&deleted), &options).unwrap_err();
                assert!(refused.to_string().starts_with(message), "case {index}: {refused}");
                assert_eq!(deleted.count(), 1, "case {index}");
                if !versions_only {
                    let refused = import(external.legacy(&deleted), &options).unwrap_err();
                    assert!(refused.to_string().starts_with(message), "case {index}, legacy: {refused}");
                    assert_eq!(deleted.count(), 2, "case {index}, legacy");
                }
            }
        }
    }
}

#[test]
fn what_is_unusual_but_right_is_taken() {
    let cases: &[(&[usize], Spoil)] = &[
        (&[2, 3], |_| {}),
        (&[2, 3], |f| f.minor = 99),
        (&[2, 3], |f| f.flags = u64::MAX << 2), // flags of later versions
        (&[2, 3], |f| f.has_deleter = false),
        (&[2, 3], |f| f.tensor.byte_offset = 800),
        (&[], |f| (f.tensor.ndim, f.null_shape) = (0, true)),
        (&[0, 3], |f| (f.shape[0], f.tensor.data) = (0, std::ptr::null_mut())),
        (&[0, 3], |f| (f.shape[0], f.tensor.byte_offset) = (0, 3)),
        (&[0, 3], |f| (f.shape[0], f.strides) = (0, Some(vec![i64::MIN, i64::MAX]))),
        (&[1, 3], |f| (f.shape[0], f.strides) = (1, Some(vec![i64::MAX, 1]))),
        (&[2, 3], |f| f.strides = Some(vec![0, 0])),
    ];
    for queue in queues() {
        let options = DlpackImport { queue: Some(&queue), kind: UsmKind::Host, ..Default::default() };
        for (index, (shape, spoil)) in cases.iter().enumerate() {
            let deleted = Deleted::default();
            let mut external = good();
            spoil(&mut external);
            let has_deleter = external.has_deleter;
            let array = import(external.versioned(&deleted), &options).unwrap();
            assert_eq!(array.shape(), *shape, "case {index}");
            drop(array);
            assert_eq!(deleted.count(), usize::from(has_deleter), "case {index}");
        }
    }
}

#[test]
fn one_api_tensors_of_no_usm_are_refused() {
    for queue in queues() {
        let options = DlpackImport { queue: Some(&queue), ..Default::default() };
        let deleted = Deleted::default();
        let mut external = good();
        external.tensor.device.device_type = DLDeviceType::ONE_API;
        let refused = import(external.versioned(&deleted), &options).unwrap_err();
        // Without SYCL there is no such device; with it, the memory is none of its.
        let expected = matches!(
            refused,
            usm_array::Error::NotImportable(_)
                | usm_array::Error::Dlpack(DlpackError::DeviceId { allowed: 0, .. })
        );
        assert!(expected, "{refused}");
        assert_eq!(deleted.count(), 1);
    }
}

#[test]
fn memory_that_is_usm_at_its_start_only_is_refused() {
    for queue in queues() {
        let options = DlpackImport { queue: Some(&queue), ..Default::default() };
        let usm = UsmArray::zeros(&queue, UsmKind::Shared, &[4], Dtype::U64).unwrap();
        let deleted = Deleted::default();
        let start = std::ptr::with_exposed_provenance(usm.address());
        let external = External::cpu(start, Dtype::U64, &[1 << 40]);
        let refused = import(external.versioned(&deleted), &options).unwrap_err();
        assert!(matches!(refused, usm_array::Error::NotImportable(_)), "{refused}");
        assert_eq!(deleted.count(), 1);
    }
}

/// Numbers that trip somebody over.
fn number() -> impl Strategy<Value = i64> {
    let edges = vec![0, 1, 2, 3, -1, -2, 7, 1 << 31, 1 << 32, 1 << 61, i64::MAX, i64::MIN, i64::MIN + 1];
    prop_oneof![3 => 0_i64..5, 2 => -5_i64..5, 2 => prop::sample::select(edges), 1 => any::<i64>()]
}

proptest! {
    #[test]
    fn random_tensors_never_crash_and_never_leak(
        axes in prop::collection::vec((number(), number()), 0..6),
        ndim_off in prop_oneof![9 => Just(0_i32), 1 => -3_i32..1],
        (code, bits, lanes) in (
            0_u8..8,
            prop::sample::select(vec![0_u8, 1, 8, 16, 32, 64, 128, 255]),
            prop_oneof![9 => Just(1_u16), 1 => any::<u16>()],
        ),
        (device_type, device_id) in (prop_oneof![4 => Just(1), 1 => Just(14), 1 => -1_i32..20], prop_oneof![9 => Just(0), 1 => any::<i32>()]),
        (null, byte_offset) in (prop::bool::weighted(0.1), prop_oneof![5 => (0_u64..40).prop_map(|n| 8 * n), 1 => any::<u64>()]),
        has_strides: bool,
        flags: u64,
        major in prop_oneof![9 => Just(1), 1 => any::<u32>()],
        is_legacy: bool,
    ) {
        let (shape, strides): (Vec<i64>, Vec<i64>) = axes.into_iter().unzip();
        let mut external = External::cpu(MEMORY.as_ptr().cast(), Dtype::U8, &shape);
        external.strides = has_strides.then_some(strides);
        external.tensor.ndim += ndim_off;
        external.tensor.dtype.code = DLDataTypeCode(code);
        external.tensor.dtype.bits = bits;
        external.tensor.dtype.lanes = lanes;
        external.tensor.device.device_type = DLDeviceType(device_type);
        external.tensor.device.device_id = device_id;
        external.tensor.byte_offset = byte_offset;
        (external.flags, external.major) = (flags, major);
        if null {
            external.tensor.data = std::ptr::null_mut();
        }
        // Only tensors within `MEMORY` may be copied from; others must be refused without a look at their memory. Axes without a
        // stride make a copy as large as they like.
        let copy = if is_inside(&external) && elements(&external) <= 1 << 16 { CopyMode::IfNeeded } else { CopyMode::Never };
        for queue in queues() {
            let deleted = Deleted::default();
            let options = DlpackImport { queue: Some(&queue), kind: UsmKind::Shared, copy, ..Default::default() };
            let tensor = external.clone();
            let tensor = if is_legacy { tensor.legacy(&deleted) } else { tensor.versioned(&deleted) };
            let imported = import(tensor, &options);
            let is_wrong_version = !is_legacy && major != 1;
            prop_assert!(!is_wrong_version || imported.is_err());
            if let Ok(array) = &imported {
                prop_assert!(array.to_bytes().is_ok());
                prop_assert_eq!(array.ndim() as i32, external.tensor.ndim);
            }
            drop(imported);
            prop_assert_eq!(deleted.count(), 1);
        }
    }
}

/// The axes that the tensor says it has.
fn said_shape(external: &External) -> &[i64] {
    let ndim = usize::try_from(external.tensor.ndim).unwrap_or(0);
    &external.shape[..ndim.min(external.shape.len())]
}

fn elements(external: &External) -> i128 {
    said_shape(external).iter().fold(1, |elements, &n| i128::from(n).max(0).saturating_mul(elements))
}

/// Whether the tensor certainly lies within `MEMORY`, in 128-bit arithmetic.
fn is_inside(external: &External) -> bool {
    let len_bytes = 8 * MEMORY.len() as i128;
    let itemsize = i128::from(external.tensor.dtype.bits) / 8;
    let shape = said_shape(external);
    let mut contiguous = vec![1_i128; shape.len()];
    for axis in (1..shape.len()).rev() {
        contiguous[axis - 1] = contiguous[axis].saturating_mul(i128::from(shape[axis]).max(1));
    }
    let (mut min, mut max) =
        (i128::from(external.tensor.byte_offset), i128::from(external.tensor.byte_offset));
    for (axis, &n) in shape.iter().enumerate() {
        let stride = external.strides.as_ref().map_or(contiguous[axis], |strides| i128::from(strides[axis]));
        let reach = (i128::from(n) - 1).max(0).saturating_mul(stride).saturating_mul(itemsize);
        (min, max) = (min.saturating_add(reach.min(0)), max.saturating_add(reach.max(0)));
    }
    min >= 0 && max.saturating_add(itemsize) <= len_bytes
}
