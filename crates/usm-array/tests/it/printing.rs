//! Text of arrays, compared with a table of what NumPy 2.4 prints
//!
//! `tests/data/print_table.txt` is written by `tests/python/support/print_table.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::{places, queues};
use usm_array::half::f16;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{CopyMode, Dtype, Error, FloatMode, Layout, Order, PrintOptions, Sign, SliceItem, UsmArray};

const TABLE: &str = include_str!("../data/print_table.txt");

fn options(text: &str) -> PrintOptions {
    let mut options = PrintOptions::default();
    for (key, value) in text.split(';').filter_map(|option| option.split_once('=')) {
        let number = value.parse();
        match key {
            "precision" => options.precision = number.unwrap(),
            "threshold" => options.threshold = number.unwrap(),
            "edgeitems" => options.edgeitems = number.unwrap(),
            "linewidth" => options.linewidth = number.unwrap(),
            "suppress" => options.suppress = value == "True",
            "sign" => options.sign = if value == "+" { Sign::Plus } else { Sign::Space },
            "nanstr" => options.nanstr = value.to_owned().into(),
            "infstr" => options.infstr = value.to_owned().into(),
            "floatmode" => {
                options.floatmode = match value {
                    "fixed" => FloatMode::Fixed,
                    "unique" => FloatMode::Unique,
                    "maxprec_equal" => FloatMode::MaxPrecEqual,
                    _ => panic!("{value}"),
                }
            }
            _ => panic!("{key}"),
        }
    }
    options
}

/// The array of a line, on a queue, in memory of a kind.
fn array(queue: &Queue, kind: UsmKind, dtype: Dtype, shape: &str, elements: &str) -> UsmArray {
    let shape: Vec<usize> = shape.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().unwrap()).collect();
    if elements == "0:1" {
        let numbers: Vec<f64> = (0..shape.iter().product()).map(|i: usize| i as f64).collect();
        let array = UsmArray::from_slice(queue, UsmKind::Shared, &shape, &numbers).unwrap();
        let wrapped = match dtype {
            // As NumPy, whose casts of integers wrap around.
            Dtype::I8 | Dtype::U8 => array.astype(Dtype::I64, CopyMode::Always).unwrap(),
            _ => array,
        };
        return wrapped.astype(dtype, CopyMode::Always).unwrap().copy_to(queue, kind).unwrap();
    }
    let digits: Vec<u8> = elements.bytes().map(|c| (c as char).to_digit(16).unwrap() as u8).collect();
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    let array = UsmArray::empty(queue, kind, &shape, dtype).unwrap();
    array.copy_from_host_contiguous(&bytes).unwrap();
    array
}

#[test]
fn every_line_of_the_table_is_printed_as_numpy_does() {
    let places = places();
    let mut differences = vec![];
    for (number, line) in TABLE.lines().enumerate() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [dtype, shape, elements, opts, str, repr] = fields[..] else { panic!("line {}", number + 1) };
        let options = options(opts);
        // Every kind of memory of every backend gets its share of the lines.
        let (queue, kind) = &places[number % places.len()];
        let array = array(queue, *kind, dtype.parse().unwrap(), shape, elements);
        let found = [array.display(&options).unwrap(), array.repr("array", &options).unwrap()];
        for (found, expected) in found.iter().zip([str, repr]) {
            let expected = expected.replace("\\n", "\n");
            if *found != expected {
                differences
                    .push(format!("line {}: {opts}\nfound\n{found}\nexpected\n{expected}", number + 1));
            }
        }
    }
    assert!(TABLE.lines().count() > 1000);
    let count = differences.len();
    differences.truncate(20);
    assert!(count == 0, "{count} differences, first ones:\n{}", differences.join("\n"));
}

#[test]
fn display_and_debug_have_the_defaults() {
    for (queue, kind) in places() {
        let array = UsmArray::from_slice(&queue, kind, &[2, 2], &[1_i32, -20, 3, 4]).unwrap();
        assert_eq!(array.to_string(), "[[  1 -20]\n [  3   4]]");
        assert_eq!(format!("{array:?}"), "UsmArray([[  1, -20],\n          [  3,   4]], dtype=int32)");
        let single = UsmArray::from_slice(&queue, kind, &[], &[f16::from_f32(0.1)]).unwrap();
        assert_eq!(single.to_string(), "0.1");
        assert_eq!(format!("{single:?}"), "UsmArray(0.1, dtype=float16)");
    }
}

#[test]
fn views_are_printed_through_their_strides() {
    for (queue, kind) in places() {
        let numbers: Vec<i64> = (0..2000).collect();
        let array = UsmArray::from_slice(&queue, kind, &[2000], &numbers).unwrap();
        let backwards = SliceItem::Slice { start: None, stop: None, step: -1 };
        assert_eq!(array.slice(&[backwards]).unwrap().to_string(), "[1999 1998 1997 ...    2    1    0]");
        let windows = array.sliding_window_view(&[1500], None).unwrap();
        let options = PrintOptions { edgeitems: 1, ..PrintOptions::default() };
        let expected = "[[   0 ... 1499]\n ...\n [ 500 ... 1999]]";
        assert_eq!(windows.display(&options).unwrap(), expected);
        let options = PrintOptions { edgeitems: 0, ..PrintOptions::default() };
        assert_eq!(windows.display(&options).unwrap(), "[...\n [... 1999]]");
    }
}

#[test]
fn only_what_is_shown_is_read() {
    for queue in queues() {
        // More elements than any memory holds.
        let one = UsmArray::from_slice(&queue, UsmKind::Device, &[1], &[7_u8]).unwrap();
        let huge = one.broadcast_to(&[1 << 30, 1 << 31]).unwrap();
        assert_eq!(huge.to_string().lines().nth(3).unwrap(), " ...");
        let most = PrintOptions { threshold: usize::MAX, ..PrintOptions::default() };
        assert!(matches!(huge.display(&most), Err(Error::OutOfHostMemory { .. })));
        let refused = huge.display(&PrintOptions { edgeitems: usize::MAX, ..PrintOptions::default() });
        assert!(refused.is_err());
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    for queue in queues() {
        let array = UsmArray::zeros(&queue, UsmKind::Shared, &[2], Dtype::F32).unwrap();
        let view = array.view_mut::<f32>().unwrap();
        assert!(matches!(array.display(&PrintOptions::default()), Err(Error::Memory(_))));
        assert!(array.to_string().starts_with('<'));
        let debug = format!("{array:?}");
        assert!(debug.starts_with("UsmArray(<") && debug.ends_with("shape=(2,), dtype=float32)"), "{debug}");
        drop(view);
        assert_eq!(array.to_string(), "[0. 0.]");
    }
}

#[test]
fn many_axes_are_fine() {
    for queue in queues() {
        let bytes = UsmArray::from_slice(&queue, UsmKind::Shared, &[2], &[1_u8, 2]).unwrap();
        let layout = Layout::contiguous(&[[1; 63].as_slice(), &[2]].concat(), Order::C).unwrap();
        let deep = UsmArray::from_parts(bytes.buffer().clone(), Dtype::U8, layout, 0).unwrap();
        let wide = PrintOptions { linewidth: 200, ..PrintOptions::default() };
        let (open, close) = ("[".repeat(64), "]".repeat(64));
        assert_eq!(deep.display(&wide).unwrap(), format!("{open}1 2{close}"));
        assert_eq!(deep.to_string(), format!("{open}1\n{}2{close}", " ".repeat(64)));
    }
}
