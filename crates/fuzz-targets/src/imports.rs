//! What producers say of their memory.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use usm_array::dlpack::{
    DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned,
    DLPackVersion, DLTensor, DlpackImport, ManagedTensor, RawTensor,
};
use usm_array::usm_core::{Queue, Runtime, RuntimeOptions, UsmKind};
use usm_array::usm_memory::Ownership;
use usm_array::{CudaArrayInterface, Dtype, UsmArray, UsmArrayInterface, ValidInterface};

use crate::layouts::{ends, number};

/// Bytes of the memory that tensors are over.
const MEMORY_BYTES: usize = 4096;

/// Most elements of a tensor that is read: more of them need strides of 0.
const MOST_ELEMENTS: i64 = MEMORY_BYTES as i64;

/// The host device alone.
pub(crate) static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Runtime::new(RuntimeOptions::new().host_only()));

pub(crate) fn queue() -> Queue {
    RUNTIME.default_queue(RUNTIME.host_device()).unwrap()
}

fn numbers(bytes: &mut Unstructured<'_>, len: usize) -> Result<Vec<i64>> {
    (0..len).map(|_| Ok(number(bytes)? as i64)).collect()
}

fn typestr(bytes: &mut Unstructured<'_>) -> Result<String> {
    if bytes.ratio(1, 8)? {
        return Ok(bytes.arbitrary::<&str>()?.to_owned());
    }
    Ok(bytes.choose(&Dtype::ALL)?.typestr().unwrap_or("|f1").to_owned())
}

fn interface(bytes: &mut Unstructured<'_>) -> Result<UsmArrayInterface> {
    let num_axes = bytes.int_in_range(0..=4)?;
    let shape = numbers(bytes, num_axes)?;
    let strides = if bytes.arbitrary()? { Some(numbers(bytes, num_axes)?) } else { None };
    let address =
        if bytes.ratio(1, 4)? { bytes.arbitrary()? } else { 0x10000 * bytes.int_in_range(0..=99)? };
    let version = if bytes.ratio(1, 8)? { bytes.arbitrary()? } else { 1 };
    let (typestr, read_only, offset) = (typestr(bytes)?, bytes.arbitrary()?, number(bytes)? as i64);
    Ok(UsmArrayInterface { shape, typestr, address, read_only, strides, offset, version })
}

/// All elements lie in the span, the first and the last one at its ends, and the span is in the address space.
fn check(valid: &ValidInterface) {
    let (layout, span) = (valid.layout(), valid.span());
    let itemsize = valid.dtype().itemsize_bytes() as i128;
    assert!(valid.address() != 0 && isize::try_from(span.len_bytes).is_ok());
    let end = span.start_address.checked_add(span.len_bytes);
    assert!(end.is_some(), "{valid:?}");
    match ends(layout.shape(), layout.strides(), layout.offset()) {
        None => assert_eq!((span.start_address, span.len_bytes), (valid.address(), 0), "{valid:?}"),
        Some((first, last)) => {
            let start = valid.address() as i128 + first * itemsize;
            assert_eq!(span.start_address as i128, start, "{valid:?}");
            assert_eq!(span.len_bytes as i128, (last - first + 1) * itemsize, "{valid:?}");
        }
    }
}

/// What is valid says what the numbers of a `__sycl_usm_array_interface__` say, and its elements are inside of its span.
pub fn interfaces(bytes: &mut Unstructured<'_>) -> Result<()> {
    let interface = interface(bytes)?;
    if let Ok(valid) = interface.validate() {
        let shape: Vec<_> = valid.layout().shape().iter().map(|&size| size as i64).collect();
        assert_eq!((shape, valid.is_read_only()), (interface.shape.clone(), interface.read_only));
        if let Some(strides) = interface.strides {
            let found: Vec<_> = valid.layout().strides().iter().map(|&stride| stride as i64).collect();
            assert!(found == strides || valid.layout().size() == 0);
        }
        check(&valid);
    }
    Ok(())
}

/// The interface of CUDA has strides in bytes.
pub fn cuda_interfaces(bytes: &mut Unstructured<'_>) -> Result<()> {
    let UsmArrayInterface { shape, typestr, address, read_only, strides, .. } = interface(bytes)?;
    let strides_bytes = strides.clone();
    let stream = if bytes.arbitrary()? { Some(bytes.arbitrary()?) } else { None };
    let version = bytes.int_in_range(0..=4)?;
    let found = CudaArrayInterface { shape, typestr, address, read_only, strides_bytes, stream, version };
    let _ = found.checked_stream();
    let Ok(elements) = found.elements() else { return Ok(()) };
    if let Ok(valid) = elements.validate() {
        let itemsize = valid.dtype().itemsize_bytes() as i128;
        if let Some(strides) = strides.filter(|_| valid.layout().size() > 0) {
            let mut axes = valid.layout().shape().iter().zip(valid.layout().strides()).zip(strides);
            // Of an axis with one index, the stride means nothing.
            assert!(
                axes.all(|((&size, &found), bytes)| size == 1 || found as i128 * itemsize == bytes as i128)
            );
        }
        check(&valid);
    }
    Ok(())
}

thread_local! {
    /// Deleters that ran on this thread, which is the one that imports.
    static NUM_DELETED: Cell<usize> = const { Cell::new(0) };
}

extern "C" fn delete<T>(_tensor: *mut T) {
    NUM_DELETED.set(NUM_DELETED.get() + 1);
}

fn device(bytes: &mut Unstructured<'_>) -> Result<DLDevice> {
    let device_type = match bytes.int_in_range(0..=3)? {
        0 | 1 => DLDeviceType::CPU,
        2 => DLDeviceType::EXT_DEV,
        _ => DLDeviceType(bytes.int_in_range(-1..=20)?),
    };
    Ok(DLDevice { device_type, device_id: if bytes.ratio(1, 8)? { bytes.arbitrary()? } else { 0 } })
}

/// The addresses of the first byte and behind the last one; `None` for what has no elements, or is none.
fn bytes_of(tensor: &DLTensor, shape: &[i64], strides: &[i64]) -> Option<(i128, i128)> {
    let shape: Vec<usize> = shape.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<_>>()?;
    let dense = || {
        let mut next = 1_isize;
        let along = |&size: &usize| {
            let stride = next;
            next = next.wrapping_mul(size.cast_signed());
            stride
        };
        let mut strides: Vec<isize> = shape.iter().rev().map(along).collect();
        strides.reverse();
        strides
    };
    let strides = match tensor.strides.is_null() {
        true => dense(),
        false => strides.iter().map(|&stride| stride as isize).collect(),
    };
    let itemsize = (tensor.dtype.bits as i128 * tensor.dtype.lanes as i128).div_euclid(8);
    let origin = tensor.data.addr() as i128 + tensor.byte_offset as i128;
    let (first, last) = ends(&shape, &strides, 0)?;
    let at = |place: i128| place.checked_mul(itemsize)?.checked_add(origin);
    Some((at(first)?, at(last + 1)?))
}

/// A tensor over memory of the host device is taken with all its elements inside of the memory, or refused. Its deleter runs once.
pub fn tensors(bytes: &mut Unstructured<'_>) -> Result<()> {
    let kind = *bytes.choose(&UsmKind::ALL)?;
    let memory = UsmArray::zeros(&queue(), kind, &[MEMORY_BYTES], Dtype::U8).unwrap();
    let num_axes: i32 = if bytes.ratio(1, 16)? { bytes.arbitrary()? } else { bytes.int_in_range(0..=4)? };
    let num_numbers = usize::try_from(num_axes).unwrap_or(0).min(200);
    let (mut shape, mut strides) = (numbers(bytes, num_numbers)?, numbers(bytes, num_numbers)?);
    // The consumer may read as many numbers as there are axes.
    let num_axes = if num_axes > 200 { 200 } else { num_axes };
    let at: usize = bytes.int_in_range(0..=2 * MEMORY_BYTES)?;
    let data = (memory.buffer().address() + at).wrapping_sub(MEMORY_BYTES / 2);
    let byte_offset = if bytes.ratio(1, 8)? { bytes.arbitrary()? } else { bytes.int_in_range(0..=64)? };
    let data = if bytes.ratio(1, 16)? { 0 } else { data };
    let code = DLDataTypeCode(bytes.int_in_range(0..=20)?);
    let lanes = if bytes.ratio(1, 16)? { bytes.arbitrary()? } else { 1 };
    let bits = if bytes.ratio(1, 8)? { bytes.arbitrary()? } else { 8 << bytes.int_in_range(0..=4)? };
    let tensor = DLTensor {
        data: ptr::with_exposed_provenance_mut::<c_void>(data),
        device: device(bytes)?,
        ndim: num_axes,
        dtype: DLDataType { code, bits, lanes },
        shape: if bytes.ratio(1, 16)? { ptr::null_mut() } else { shape.as_mut_ptr() },
        strides: if bytes.arbitrary()? { ptr::null_mut() } else { strides.as_mut_ptr() },
        byte_offset,
    };
    let expected = bytes_of(&tensor, &shape, &strides);
    let (start, end) =
        (memory.buffer().address() as i128, (memory.buffer().address() + MEMORY_BYTES) as i128);
    // With strides of 0, few bytes are many elements, which a copy has all.
    let size = shape.iter().try_fold(1_i64, |size, &along| size.checked_mul(along));
    if size.is_none_or(|size| size > MOST_ELEMENTS) && expected.is_some() {
        return Ok(());
    }
    // Host memory that is no USM is read, which the producer promises to have.
    let is_there = expected.is_none_or(|(first, last)| start <= first && last <= end);
    if tensor.device.device_type == DLDeviceType::CPU && !is_there {
        return Ok(());
    }
    let before = NUM_DELETED.get();
    let version = DLPackVersion {
        major: if bytes.ratio(1, 16)? { bytes.arbitrary()? } else { 1 },
        minor: bytes.arbitrary()?,
    };
    let mut versioned = DLManagedTensorVersioned {
        version,
        manager_ctx: ptr::null_mut(),
        deleter: Some(delete::<DLManagedTensorVersioned>),
        flags: bytes.arbitrary()?,
        dl_tensor: tensor,
    };
    let mut legacy = DLManagedTensor {
        dl_tensor: tensor,
        manager_ctx: ptr::null_mut(),
        deleter: Some(delete::<DLManagedTensor>),
    };
    let raw = match bytes.arbitrary()? {
        true => RawTensor::Versioned((&mut versioned).into()),
        false => RawTensor::Legacy((&mut legacy).into()),
    };
    // SAFETY: 1 to 3. The struct and its numbers outlive all that is made of it here, and the deleter counts.
    let managed = unsafe { ManagedTensor::from_raw(raw) };
    let queue = queue();
    let options = DlpackImport { queue: Some(&queue), runtime: &RUNTIME, kind, ..DlpackImport::default() };
    // SAFETY: 1. The memory outlives the array, or is refused, since it is no memory of the device. 2. Nobody else uses it.
    if let Ok(array) = unsafe { UsmArray::from_dlpack(managed, &options) } {
        if let (Ownership::Borrowed(_), false) = (array.buffer().ownership(), array.is_empty()) {
            let start = array.buffer().address() + array.byte_range().start;
            let found = (start as i128, (start + array.byte_range().len()) as i128);
            assert_eq!(Some(found), expected, "{tensor:?}");
        }
        let _ = array.to_bytes();
    }
    assert_eq!(NUM_DELETED.get(), before + 1);
    Ok(())
}
