//! Tensors of another library, with a deleter that counts

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use usm_array::Dtype;
use usm_array::dlpack::{
    DLDataType, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned, DLTensor, ManagedTensor,
    RawTensor, VERSION,
};

/// Tensors without a deleter, which stay.
static CONSTANTS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// How often deleters have run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deleted(Arc<AtomicUsize>);

impl Deleted {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// What an external library publishes; tests spoil one field at a time.
#[derive(Clone, Debug)]
pub(crate) struct External {
    pub(crate) tensor: DLTensor,
    pub(crate) shape: Vec<i64>,
    pub(crate) strides: Option<Vec<i64>>,
    pub(crate) null_shape: bool,
    pub(crate) flags: u64,
    pub(crate) major: u32,
    pub(crate) minor: u32,
    pub(crate) has_deleter: bool,
}

/// The struct on the heap and what it points to.
#[repr(C)]
struct Alive<T> {
    managed: T,
    _shape: Vec<i64>,
    _strides: Option<Vec<i64>>,
    deleted: Deleted,
}

unsafe extern "C" fn delete<T>(managed: *mut T) {
    // SAFETY: made below from a box of this type, of which it is the first field.
    let alive = unsafe { Box::from_raw(managed.cast::<Alive<T>>()) };
    alive.deleted.0.fetch_add(1, Ordering::SeqCst);
}

impl External {
    pub(crate) fn cpu(data: *const u8, dtype: Dtype, shape: &[i64]) -> Self {
        let tensor = DLTensor {
            data: data.cast_mut().cast(),
            device: DLDevice { device_type: DLDeviceType::CPU, device_id: 0 },
            ndim: shape.len() as i32,
            dtype: DLDataType::from(dtype),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let (major, minor) = (VERSION.major, VERSION.minor);
        let (shape, strides) = (shape.to_vec(), None);
        Self { tensor, shape, strides, null_shape: false, flags: 0, major, minor, has_deleter: true }
    }

    fn tensor(&mut self) -> DLTensor {
        let shape = if self.null_shape { ptr::null_mut() } else { self.shape.as_mut_ptr() };
        let strides = self.strides.as_mut().map_or(ptr::null_mut(), |strides| strides.as_mut_ptr());
        DLTensor { shape, strides, ..self.tensor }
    }

    pub(crate) fn versioned(mut self, deleted: &Deleted) -> ManagedTensor {
        let managed = DLManagedTensorVersioned {
            version: usm_array::dlpack::DLPackVersion { major: self.major, minor: self.minor },
            manager_ctx: ptr::null_mut(),
            deleter: self.has_deleter.then_some(delete::<DLManagedTensorVersioned>),
            flags: self.flags,
            dl_tensor: self.tensor(),
        };
        let raw = self.leak(managed, deleted);
        // SAFETY: leaked just now with all that it points to, and `delete` takes it back.
        unsafe { ManagedTensor::from_raw(RawTensor::Versioned(raw)) }
    }

    pub(crate) fn legacy(mut self, deleted: &Deleted) -> ManagedTensor {
        let dl_tensor = self.tensor();
        let deleter = self.has_deleter.then_some(delete::<DLManagedTensor> as unsafe extern "C" fn(*mut _));
        let managed = DLManagedTensor { dl_tensor, manager_ctx: ptr::null_mut(), deleter };
        let raw = self.leak(managed, deleted);
        // SAFETY: as above.
        unsafe { ManagedTensor::from_raw(RawTensor::Legacy(raw)) }
    }

    fn leak<T>(self, managed: T, deleted: &Deleted) -> NonNull<T> {
        let has_deleter = self.has_deleter;
        let alive = Alive { managed, _shape: self.shape, _strides: self.strides, deleted: deleted.clone() };
        let leaked: NonNull<T> = NonNull::from(Box::leak(Box::new(alive))).cast();
        if !has_deleter {
            // A constant of its producer, in the eyes of LeakSanitizer, too.
            CONSTANTS.lock().unwrap().push(leaked.addr().get());
        }
        leaked
    }
}
