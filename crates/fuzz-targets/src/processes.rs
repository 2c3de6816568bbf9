//! What other processes send: handles, answers, and memory.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, ftruncate, memfd_create};
use rustix::param::page_size;
use usm_array::{ArrayHandle, Dtype, UsmArray};
use usm_core::{SharedMemory, UsmKind, testing::parsers};
use usm_memory::UsmBuffer;
use usm_memory::processes::{LEN_BYTES, SharedBuffer, reread_answer};

use crate::imports::queue;
use crate::layouts::{ends, number};

const MEMORY_BYTES: usize = 1 << 16;
/// Most numbers of a description that has not as many as its axes need.
const MOST_NUMBERS: u16 = 600;
/// Most elements of an array that is read.
const MOST_ELEMENTS: usize = 1 << 10;

thread_local! {
    static ARRAY: (UsmArray, ArrayHandle) = {
        let array = UsmArray::zeros(&queue(), UsmKind::Shared, &[MEMORY_BYTES], Dtype::U8).unwrap();
        let handle = ArrayHandle::new(&array).unwrap();
        (array, handle)
    };
}

/// What describes an array in its handle: the name of the dtype, and numbers.
fn description(bytes: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let name = bytes.choose(&Dtype::ALL)?.name();
    let num_axes: u8 = if bytes.ratio(1, 16)? { bytes.arbitrary()? } else { bytes.int_in_range(0..=4)? };
    let mut description = [&[name.len() as u8], name.as_bytes(), &[num_axes]].concat();
    let num_numbers =
        if bytes.ratio(1, 16)? { bytes.int_in_range(0..=MOST_NUMBERS)? } else { 2 * u16::from(num_axes) + 1 };
    for _ in 0..num_numbers {
        description.extend_from_slice(&number(bytes)?.to_le_bytes());
    }
    Ok(description)
}

/// The array of a handle lies in the memory of the handle, whatever its bytes say of dtype and layout. Other bytes are refused.
pub fn handles(bytes: &mut Unstructured<'_>) -> Result<()> {
    ARRAY.with(|(array, handle)| {
        let good = handle.bytes();
        let found = match bytes.int_in_range(0..=15)? {
            0 => bytes.bytes(bytes.len())?.to_vec(),
            1 => {
                // One that is nearly right.
                let mut found = good.clone();
                let at = bytes.choose_index(found.len())?;
                found[at] ^= bytes.int_in_range(1..=u8::MAX)?;
                found
            }
            2..6 => [&good[..LEN_BYTES], bytes.bytes(bytes.len())?].concat(),
            _ => [&good[..LEN_BYTES], &description(bytes)?].concat(),
        };
        match UsmArray::open(&found, Some(array.queue())) {
            Ok(opened) => {
                assert_eq!(found[..LEN_BYTES], good[..LEN_BYTES]);
                assert!(opened.buffer().same_allocation(array.buffer()));
                let itemsize = opened.dtype().itemsize_bytes() as i128;
                if let Some((first, last)) = ends(opened.shape(), opened.strides(), opened.layout().offset())
                {
                    assert!(first >= 0 && (last + 1) * itemsize <= MEMORY_BYTES as i128, "{opened:?}");
                }
                if opened.size() <= MOST_ELEMENTS {
                    assert_eq!(
                        opened.to_bytes().unwrap().len(),
                        opened.size() * opened.dtype().itemsize_bytes()
                    );
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        Ok(())
    })
}

/// A number of an answer, and bytes after their length.
fn push(answer: &mut Vec<u8>, text: &[u8]) {
    answer.extend((text.len() as u64).to_le_bytes());
    answer.extend(text);
}

/// An answer that is read is written as what is read as the same.
pub fn answers(bytes: &mut Unstructured<'_>) -> Result<()> {
    let mut answer = Vec::new();
    if bytes.ratio(3, 4)? {
        answer.extend(1_u64.to_le_bytes());
        push(&mut answer, bytes.choose(&UsmKind::ALL)?.as_str().as_bytes());
        for _ in 0..5 {
            answer.extend_from_slice(&number(bytes)?.to_le_bytes());
        }
        for _ in 0..3 {
            let len = bytes.int_in_range(0..=20)?;
            let len = len.min(bytes.len());
            push(&mut answer, bytes.bytes(len)?);
        }
    } else {
        answer.extend(bytes.bytes(bytes.len())?);
    }
    if let Ok(first) = reread_answer(&answer) {
        assert!(first.len() <= answer.len());
        assert_eq!(reread_answer(&first).unwrap(), first);
    }
    if let Some(form) = parsers::cuda_memory(&answer) {
        assert_eq!(form, answer);
    }
    Ok(())
}

/// A size that is as likely to be near a number of pages as anything else.
fn size(bytes: &mut Unstructured<'_>) -> Result<usize> {
    let page = page_size();
    Ok(match bytes.int_in_range(0..=7)? {
        0 => bytes.arbitrary()?,
        1 | 2 => bytes.int_in_range(0..=4 * page)?,
        _ => (page * bytes.int_in_range(0..=3)?).saturating_add_signed(bytes.int_in_range(-2..=2)?),
    })
}

/// Memory that another process sends is opened where its file has all of it and keeps its length.
pub fn shares(bytes: &mut Unstructured<'_>) -> Result<()> {
    let file_bytes = bytes.int_in_range(0..=3)? * page_size() + if bytes.ratio(1, 8)? { 1 } else { 0 };
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(memfd_create("usm-fuzz", flags).unwrap());
    ftruncate(&file, file_bytes as u64).unwrap();
    (&file).write_all(&[7; 64][..file_bytes.min(64)]).unwrap();
    let needed = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    let seals = if bytes.ratio(1, 8)? { SealFlags::from_bits_truncate(bytes.arbitrary()?) } else { needed };
    // A system may not know each seal, and some imply others.
    if fcntl_add_seals(&file, seals).is_err() {
        return Ok(());
    }
    let seals = fcntl_get_seals(&file).unwrap();
    let kind = *bytes.choose(&UsmKind::ALL)?;
    let address = if bytes.arbitrary()? { 0 } else { bytes.arbitrary()? };
    let data = if bytes.ratio(1, 16)? { vec![1; 80] } else { Vec::new() };
    let num_files = if bytes.ratio(1, 16)? { bytes.int_in_range(0..=2)? } else { 1 };
    let files = (0..num_files).map(|_| Arc::new(file.try_clone().unwrap().into())).collect();
    let memory_bytes = size(bytes)?;
    let memory = SharedMemory::new(kind, address, memory_bytes, data, files);
    let (offset_bytes, len_bytes) = (size(bytes)?, size(bytes)?);
    let queue = queue();
    let (is_writable, location) = (bytes.arbitrary()?, queue.device().location().unwrap());
    let shared = SharedBuffer { memory, offset_bytes, len_bytes, is_writable, location };
    match UsmBuffer::open_shared(&queue, &shared) {
        Ok(buffer) => {
            let end = offset_bytes as i128 + len_bytes as i128;
            assert!(end <= memory_bytes as i128 && memory_bytes <= file_bytes, "{shared:?}");
            assert!(seals.contains(needed) && num_files == 1, "{seals:?} {num_files} {shared:?}");
            assert_eq!((buffer.len_bytes(), buffer.is_writable()), (len_bytes, is_writable));
            let found = buffer.to_vec().unwrap();
            let expected = |at: usize| if at < 64 { 7 } else { 0 };
            assert!(
                found.iter().enumerate().all(|(i, &byte)| byte == expected(offset_bytes + i)),
                "{shared:?}"
            );
            assert_eq!(buffer.fill(&[8]).is_ok(), is_writable);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Ok(())
}
