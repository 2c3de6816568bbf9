//! Copies of rows with pitches between every two places, and within one matrix.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{buffer, bytes, places};
use usm_memory::usm_core::UsmKind;
use usm_memory::{Copy2d, Error};

/// More than two chunks of a staged copy, and not a whole number of them.
const MANY: usize = 3 * (256 << 10) + 5;

/// What a 2-D copy must do.
fn expected(dst: &[u8], src: &[u8], copy: Copy2d) -> Vec<u8> {
    let mut result = dst.to_vec();
    for row in 0..copy.rows {
        let (to, from) = (
            copy.dst_offset_bytes + row * copy.dst_pitch_bytes,
            copy.src_offset_bytes + row * copy.src_pitch_bytes,
        );
        result[to..to + copy.row_bytes].copy_from_slice(&src[from..from + copy.row_bytes]);
    }
    result
}

/// A test for each shape: together they take minutes on a machine with other work.
macro_rules! rows_between_all_places {
    ($($name:ident: $shape:expr;)*) => {
        $(#[test]
        fn $name() {
            between_all_places($shape);
        })*
    };
}

rows_between_all_places! {
    rows_apart: Copy2d {
        dst_offset_bytes: 1,
        dst_pitch_bytes: 9,
        src_offset_bytes: 2,
        src_pitch_bytes: 7,
        ..Copy2d::packed(5, 4)
    };
    one_row_again_and_again: Copy2d { src_pitch_bytes: 0, ..Copy2d::packed(6, 3) };
    rows_that_overlap_in_the_source: Copy2d { src_pitch_bytes: 1, dst_pitch_bytes: 8, ..Copy2d::packed(6, 5) };
    rows_without_gaps: Copy2d { dst_offset_bytes: 3, ..Copy2d::packed(7, 8) };
    one_row: Copy2d { dst_pitch_bytes: 0, src_pitch_bytes: usize::MAX, ..Copy2d::packed(1, 8) };
    no_row: Copy2d { dst_pitch_bytes: 0, ..Copy2d::packed(0, 8) };
}

fn between_all_places(shape: Copy2d) {
    let places = places();
    let (old, content) = (vec![0; 100], bytes(100, 9));
    let expected = expected(&old, &content, shape);
    for to in &places {
        for to_kind in UsmKind::ALL {
            let dst = buffer(to, to_kind, &old);
            dst.copy_2d_from_host(&content, shape).unwrap();
            assert_eq!(dst.to_vec().unwrap(), expected);
            dst.fill(&[0]).unwrap();
            let upload = dst.copy_2d_from_vec_async(content.clone(), shape, &[]).unwrap();
            assert_eq!(upload.wait().unwrap(), content);
            assert_eq!(dst.to_vec().unwrap(), expected);

            let src = buffer(to, to_kind, &content);
            let mut host = old.clone();
            src.copy_2d_to_host(&mut host, shape).unwrap();
            assert_eq!(host, expected);
            let download = src.copy_2d_to_vec_async(old.clone(), shape, &[]).unwrap();
            assert_eq!(download.wait().unwrap(), expected);

            for from in &places {
                for from_kind in UsmKind::ALL {
                    let src = buffer(from, from_kind, &content);
                    dst.fill(&[0]).unwrap();
                    dst.copy_2d_from(&src, shape).unwrap();
                    assert_eq!(dst.to_vec().unwrap(), expected, "{from_kind} {from:?} {to_kind} {to:?}");
                    dst.fill(&[0]).unwrap();
                    dst.copy_2d_from_async(&src, shape, &[]).unwrap().wait().unwrap();
                    assert_eq!(dst.to_vec().unwrap(), expected, "{from_kind} {from:?} {to_kind} {to:?}");
                }
            }
        }
    }
}

#[test]
fn long_rows_are_staged_in_chunks() {
    let places = places();
    let shape = Copy2d {
        dst_pitch_bytes: MANY + 1,
        src_offset_bytes: 4,
        src_pitch_bytes: MANY + 9,
        ..Copy2d::packed(3, MANY)
    };
    let content = bytes(4 + 3 * (MANY + 9), 4);
    let old = vec![0; 3 * (MANY + 1)];
    let expected = expected(&old, &content, shape);
    for from in &places {
        let src = buffer(from, UsmKind::Device, &content);
        for to in &places {
            let dst = buffer(to, UsmKind::Device, &old);
            dst.copy_2d_from_async(&src, shape, &[]).unwrap().wait().unwrap();
            assert!(dst.to_vec().unwrap() == expected, "{from:?} {to:?}");
        }
    }
}

#[test]
fn rows_within_one_matrix() {
    common::each(|queue, kind| {
        let content = bytes(80, 6);
        let matrix = Copy2d { dst_pitch_bytes: 10, src_pitch_bytes: 10, ..Copy2d::packed(6, 4) };
        // Columns side by side, overlapping columns both ways, overlapping rows, and another pitch.
        for (dst, src, pitch) in
            [(4, 0, 10), (3, 0, 10), (0, 3, 10), (10, 0, 10), (0, 12, 10), (2, 1, 9), (0, 5, 11)]
        {
            let shape =
                Copy2d { dst_offset_bytes: dst, src_offset_bytes: src, src_pitch_bytes: pitch, ..matrix };
            for is_async in [false, true] {
                let whole = buffer(queue, kind, &content);
                if is_async {
                    whole.copy_2d_from_async(&whole, shape, &[]).unwrap().wait().unwrap();
                } else {
                    whole.copy_2d_from(&whole, shape).unwrap();
                }
                assert_eq!(whole.to_vec().unwrap(), expected(&content, &content, shape), "{kind} {shape:?}");
            }
        }
    });
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    common::each(|queue, kind| {
        let (dst, src) = (buffer(queue, kind, &[0; 20]), buffer(queue, kind, &[1; 20]));
        let good = Copy2d::packed(4, 5);
        for (copy, field) in [
            (Copy2d { dst_pitch_bytes: 4, ..good }, "dst_pitch_bytes"),
            (Copy2d { src_offset_bytes: 1, ..good }, "src_pitch_bytes"),
            (Copy2d { rows: usize::MAX, ..good }, "dst_pitch_bytes"),
            (Copy2d { src_offset_bytes: 21, ..good }, "src_offset_bytes"),
        ] {
            let named = |error| matches!(error, Error::Copy2d { field: name, .. } if name == field);
            assert!(named(dst.copy_2d_from(&src, copy).unwrap_err()), "{copy:?}");
            assert!(named(dst.copy_2d_from_async(&src, copy, &[]).unwrap_err()));
            assert!(named(dst.copy_2d_from_host(&[1; 20], copy).unwrap_err()));
            assert!(named(src.copy_2d_to_host(&mut [1; 20], copy).unwrap_err()));
            assert!(named(dst.copy_2d_from_vec_async(vec![1; 20], copy, &[]).unwrap_err().error));
            assert!(named(src.copy_2d_to_vec_async(vec![1; 20], copy, &[]).unwrap_err().error));
        }
        assert_eq!(dst.to_vec().unwrap(), [0; 20]);
    });
}
