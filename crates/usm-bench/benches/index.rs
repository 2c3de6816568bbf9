//! Rows and elements by index arrays, beside plain loops over slices.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use usm_array::{Index, IndexMode, UsmArray};

const ROWS: usize = 1_000_000;
const COLUMNS: usize = 8;

fn places(count: usize) -> Vec<i64> {
    (0..count).map(|i| (i * 7919 % count) as i64).collect()
}

fn rows(c: &mut Criterion) {
    let (_, queue, kind) = usm_bench::places().swap_remove(0);
    let numbers: Vec<f64> = (0..ROWS * COLUMNS).map(|i| i as f64).collect();
    let array = UsmArray::from_slice(&queue, kind, &[ROWS, COLUMNS], &numbers).unwrap();
    let places = places(ROWS);
    let mut group = c.benchmark_group("1e6 rows of 8 f8");
    group.throughput(Throughput::Bytes((ROWS * COLUMNS * 8) as u64)).sample_size(20);
    group.bench_function("take", |b| {
        b.iter(|| black_box(&array).take(&places[..], Some(0), IndexMode::Raise).unwrap())
    });
    group.bench_function("plain loop", |b| {
        b.iter(|| {
            let mut result = vec![0.0; ROWS * COLUMNS];
            for (row, &place) in result.chunks_exact_mut(COLUMNS).zip(black_box(&places)) {
                row.copy_from_slice(&numbers[place as usize * COLUMNS..][..COLUMNS]);
            }
            result
        })
    });
    let rows = array.take(&places[..], Some(0), IndexMode::Raise).unwrap();
    group.bench_function("set_index", |b| {
        b.iter(|| black_box(&array).set_index(&[Index::from(&places[..])], &rows).unwrap())
    });
    let mut target = numbers.clone();
    let source = rows.to_vec::<f64>().unwrap();
    group.bench_function("plain loop of assignments", |b| {
        b.iter(|| {
            for (row, &place) in source.chunks_exact(COLUMNS).zip(black_box(&places)) {
                target[place as usize * COLUMNS..][..COLUMNS].copy_from_slice(row);
            }
        })
    });
}

fn elements(c: &mut Criterion) {
    let (_, queue, kind) = usm_bench::places().swap_remove(0);
    let numbers: Vec<f32> = (0..4 * ROWS).map(|i| i as f32).collect();
    let array = UsmArray::from_slice(&queue, kind, &[4 * ROWS], &numbers).unwrap();
    let places = places(4 * ROWS);
    let mask: Vec<bool> = (0..4 * ROWS).map(|i| i * 7919 % 3 == 0).collect();
    let mut group = c.benchmark_group("4e6 f4");
    group.throughput(Throughput::Elements(4 * ROWS as u64)).sample_size(20);
    group.bench_function("take", |b| {
        b.iter(|| black_box(&array).take(&places[..], None, IndexMode::Raise).unwrap())
    });
    group.bench_function("plain loop", |b| {
        b.iter(|| black_box(&places).iter().map(|&place| numbers[place as usize]).collect::<Vec<f32>>())
    });
    group.bench_function("mask", |b| {
        b.iter(|| black_box(&array).get_index(&[Index::from(&mask[..])]).unwrap())
    });
    group.bench_function("plain loop of a mask", |b| {
        b.iter(|| {
            let pairs = black_box(&mask).iter().zip(&numbers);
            pairs.filter(|&(&holds, _)| holds).map(|(_, &number)| number).collect::<Vec<f32>>()
        })
    });
}

criterion_group!(benches, rows, elements);
criterion_main!(benches);
