//! Arrays to tensors and back, on every kind and backend

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use crate::external;

use std::sync::Arc;
use std::thread;

use common::{KINDS, layouts, places, queues};
use external::{Deleted, External};
use proptest::prelude::*;
use usm_array::dlpack::{
    Consumer, DLDevice, DLDeviceType, DLTensor, DlpackError, DlpackExport, DlpackImport, FLAG_IS_COPIED,
    FLAG_READ_ONLY, ManagedTensor, RawTensor, TensorForm, VERSION,
};
use usm_array::dlpack::{device_with_number, number_of_device};
use usm_array::usm_core::{
    BackendId, Context, DeviceType, HostDevice, Queue, QueueProperties, Runtime, RuntimeOptions, UsmKind,
};
use usm_array::usm_memory::UsmBuffer;
use usm_array::{CopyMode, Dtype, Error, Layout, Order, SliceItem, UsmArray};
use usm_core::testing::host_queue;
use usm_core::unwind::{is_armed, panic_in};

const CPU: DLDevice = DLDevice { device_type: DLDeviceType::CPU, device_id: 0 };

const fn one_api(device_id: i32) -> DLDevice {
    DLDevice { device_type: DLDeviceType::ONE_API, device_id }
}

/// The first GPU of the CUDA driver: 2 for device memory, 3 for host and 13 for shared memory.
fn cuda(device_type: i32) -> DLDevice {
    DLDevice { device_type: DLDeviceType(device_type), device_id: 0 }
}

fn legacy_form() -> DlpackExport<'static> {
    DlpackExport { form: TensorForm::Legacy, ..Default::default() }
}

fn options(queue: &Queue) -> DlpackImport<'_> {
    DlpackImport { queue: Some(queue), ..Default::default() }
}

fn import(tensor: ManagedTensor, options: &DlpackImport<'_>) -> usm_array::Result<UsmArray> {
    // SAFETY: the tensors of these tests are over memory that lives until their deleter runs, and only one thread uses it.
    unsafe { UsmArray::from_dlpack(tensor, options) }
}

/// An array of each dtype over the same bytes, through a layout.
fn array_of(queue: &Queue, kind: UsmKind, dtype: Dtype, layout: &Layout) -> UsmArray {
    let len_bytes = layout.required_len() * dtype.itemsize_bytes();
    let bytes: Vec<u8> = (0..len_bytes).map(|i| (i * 7 + 1) as u8).collect();
    let memory = UsmArray::from_slice(queue, kind, &[len_bytes], &bytes).unwrap();
    UsmArray::from_parts(memory.buffer().clone(), dtype, layout.clone(), 0).unwrap()
}

/// The device of the host backend, whose memory no other library can use.
const EXT_DEV: DLDevice = DLDevice { device_type: DLDeviceType::EXT_DEV, device_id: 0 };

/// What DLPack has for memory of this kind.
fn expected_device(queue: &Queue, kind: UsmKind) -> DLDevice {
    match (queue.device().backend_id(), kind) {
        (BackendId::Sycl, _) => one_api(0),
        (BackendId::Cuda, UsmKind::Device) => cuda(2),
        (BackendId::Cuda, UsmKind::Host) => cuda(3),
        (BackendId::Cuda, UsmKind::Shared) => cuda(13),
        (_, UsmKind::Device) => EXT_DEV,
        _ => CPU,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(4)))]

    #[test]
    fn every_array_comes_back_as_it_went(layout in layouts(), dtype in prop::sample::select(&Dtype::ALL[..])) {
        for (queue, kind) in places() {
            let array = array_of(&queue, kind, dtype, &layout);
            let device = expected_device(&queue, kind);
            for export in [DlpackExport::default(), legacy_form()] {
                let tensor = array.to_dlpack(&export).unwrap();
                let fields = *tensor.tensor().unwrap();
                prop_assert_eq!(fields.device, device);
                let forward = array.strides().iter().all(|&stride| stride >= 0);
                prop_assert!(fields.byte_offset == 0 || !forward);
                prop_assert!(layout.ndim() == 0 || !fields.strides.is_null());
                prop_assert_eq!(fields.data.is_null(), array.is_empty() && device == CPU);
                if !array.is_empty() {
                    let lowest = array.buffer().address() + array.byte_range().start;
                    prop_assert_eq!(fields.data.addr(), lowest);
                    prop_assert_eq!(lowest + fields.byte_offset as usize, array.address());
                }
                let again = import(tensor, &options(&queue)).unwrap();
                prop_assert_eq!(again.shape(), array.shape());
                prop_assert_eq!(again.dtype(), dtype);
                prop_assert_eq!(again.is_writable(), export.form == TensorForm::Versioned);
                prop_assert_eq!(again.to_bytes().unwrap(), array.to_bytes().unwrap());
                if !array.is_empty() || device != CPU {
                    prop_assert_eq!(again.kind(), kind);
                }
                if !array.is_empty() {
                    prop_assert_eq!(again.strides(), array.strides());
                    prop_assert_eq!(again.address(), array.address());
                    prop_assert_eq!(again.context(), queue.context());
                }
            }
        }
    }
}

/// USM of a device that is neither the default one nor the host device, as of a CPU beside a GPU.
#[test]
fn memory_of_every_device_is_known_again() {
    let devices = [DeviceType::Gpu, DeviceType::Cpu, DeviceType::Accelerator].map(HostDevice::new);
    let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices(devices));
    for device in runtime.devices() {
        let queue = runtime.default_queue(&device).unwrap();
        for kind in [UsmKind::Host, UsmKind::Shared] {
            let array = UsmArray::from_slice(&queue, kind, &[3], &[1_i32, 2, 3]).unwrap();
            let tensor = array.to_dlpack(&DlpackExport { device: Some(CPU), ..Default::default() }).unwrap();
            let options =
                DlpackImport { runtime: &runtime, copy: CopyMode::Never, ..DlpackImport::default() };
            let found = import(tensor, &options).unwrap();
            assert_eq!((found.address(), found.kind()), (array.address(), kind), "{device:?}");
            assert_eq!((found.device(), found.context()), (&device, queue.context()));
        }
    }
}

#[test]
fn host_and_shared_memory_goes_to_the_cpu_as_it_is() {
    for (queue, kind) in places() {
        let array = UsmArray::from_slice(&queue, kind, &[2, 2], &[1_i16, 2, 3, 4]).unwrap();
        let to_cpu = DlpackExport { device: Some(CPU), ..Default::default() };
        let tensor = array.to_dlpack(&to_cpu).unwrap();
        let fields = *tensor.tensor().unwrap();
        assert_eq!(fields.device, CPU);
        let is_copy = kind == UsmKind::Device;
        assert_eq!(tensor.flags(), Some(if is_copy { FLAG_IS_COPIED } else { 0 }));
        assert_eq!(fields.data.addr() == array.address(), !is_copy);
        let found = import(tensor, &options(&queue)).unwrap();
        assert_eq!(found.to_vec::<i16>().unwrap(), [1, 2, 3, 4]);

        let without_copy = array.to_dlpack(&DlpackExport { copy: CopyMode::Never, ..to_cpu });
        match without_copy {
            Ok(_) => assert!(!is_copy),
            Err(error) => {
                assert!(is_copy && matches!(error, Error::Dlpack(DlpackError::CopyNeeded { .. })), "{error}");
            }
        }
        let copy = array.to_dlpack(&DlpackExport { copy: CopyMode::Always, ..to_cpu }).unwrap();
        assert_eq!(copy.flags(), Some(FLAG_IS_COPIED));
        assert_ne!(copy.tensor().unwrap().data.addr(), array.address());
        assert_eq!(import(copy, &options(&queue)).unwrap().to_vec::<i16>().unwrap(), [1, 2, 3, 4]);
    }
}

#[test]
fn read_only_survives_and_the_old_struct_refuses_it() {
    for (queue, kind) in places() {
        let array = UsmArray::zeros(&queue, kind, &[3], Dtype::F64).unwrap().read_only();
        let to_cpu = DlpackExport { device: Some(CPU), ..Default::default() };
        let tensor = array.to_dlpack(&to_cpu).unwrap();
        // A copy belongs to the consumer.
        let flags = if kind == UsmKind::Device { FLAG_IS_COPIED } else { FLAG_READ_ONLY };
        assert_eq!((tensor.flags(), tensor.version()), (Some(flags), Some(VERSION)));
        let is_writable = import(tensor, &options(&queue)).unwrap().is_writable();
        assert_eq!(is_writable, kind == UsmKind::Device);

        let device = Some(expected_device(&queue, kind));
        let refused = array.to_dlpack(&DlpackExport { device, ..legacy_form() });
        assert!(matches!(refused, Err(Error::Dlpack(DlpackError::ReadOnly))));
        let copy = DlpackExport { device, copy: CopyMode::Always, ..legacy_form() };
        let copy = array.to_dlpack(&copy).unwrap();
        assert_eq!((copy.flags(), copy.version()), (None, None));
        assert!(copy.is_read_only(), "the old struct cannot say that memory may be written");
    }
}

#[test]
fn memory_without_a_device_in_dlpack_is_refused_by_name() {
    let device_options =
        DlpackExport { device: Some(one_api(0)), copy: CopyMode::Never, ..Default::default() };
    for queue in queues() {
        let own = Context::new(std::slice::from_ref(queue.device())).unwrap();
        let own = own.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
        for kind in KINDS.into_iter().filter(|&kind| queue.device().info().supports(kind)) {
            let array = UsmArray::from_slice(&own, kind, &[2], &[1_u8, 2]).unwrap();
            match array.dlpack_device(Runtime::global()) {
                Ok(device) => assert!(device == CPU && kind != UsmKind::Device),
                Err(error) => {
                    assert!(kind == UsmKind::Device, "{error}");
                    assert!(error.to_string().contains("__sycl_usm_array_interface__"), "{error}");
                }
            }
            let refused = array.to_dlpack(&device_options).map(drop);
            assert!(matches!(refused, Err(Error::Dlpack(_))), "{refused:?}");
            if queue.device().backend_id() == BackendId::Sycl {
                // A copy into the default context is what a consumer who insists gets.
                let copied = DlpackExport { copy: CopyMode::IfNeeded, ..device_options };
                let tensor = array.to_dlpack(&copied).unwrap();
                assert_eq!(tensor.flags(), Some(FLAG_IS_COPIED));
                let there = import(tensor, &DlpackImport::default()).unwrap();
                assert_eq!((there.context(), there.kind()), (queue.context(), kind));
                assert_eq!(there.to_vec::<u8>().unwrap(), [1, 2]);
            }
        }
    }
}

#[test]
fn other_devices_are_refused_with_their_names() {
    let queue = &queues()[0];
    let array = UsmArray::zeros(queue, UsmKind::Shared, &[1], Dtype::F32).unwrap();
    let export = |device_type, device_id| {
        let device = Some(DLDevice { device_type: DLDeviceType(device_type), device_id });
        array.to_dlpack(&DlpackExport { device, ..Default::default() }).unwrap_err().to_string()
    };
    assert!(export(10, 0).contains("found kDLROCM (10)"));
    assert!(export(2, 500).contains("device_id: found 500 of kDLCUDA (2)"));
    assert!(export(99, 0).contains("an unknown device type (99)"));
    assert!(export(1, 3).contains("device_id: found 3 of kDLCPU (1), allowed are 0"));
    assert!(export(14, 500).contains("device_id: found 500 of kDLOneAPI (14)"));
    assert!(export(14, -1).contains("device_id: found -1"));
}

/// Makes exported tensors count: the array is over an external tensor, whose deleter runs when all is gone.
fn counted(queue: &Queue, numbers: &mut [i32]) -> (UsmArray, Deleted) {
    let deleted = Deleted::default();
    let memory = UsmArray::from_slice(queue, UsmKind::Shared, &[numbers.len()], numbers).unwrap();
    let external = External::cpu(
        std::ptr::with_exposed_provenance(memory.address()),
        Dtype::I32,
        &[numbers.len() as i64],
    );
    let array = import(external.versioned(&deleted), &options(queue)).unwrap();
    std::mem::forget(memory); // the array is borrowed from it; a few bytes per test
    (array, deleted)
}

#[test]
fn the_deleter_runs_once_when_the_last_buffer_is_gone() {
    for queue in queues() {
        let (array, deleted) = counted(&queue, &mut [1, 2, 3]);
        let view = array.slice(&[SliceItem::Index(1)]).unwrap();
        let tensor = array.to_dlpack(&DlpackExport::default()).unwrap();
        let legacy = view.to_dlpack(&legacy_form()).unwrap();
        drop((array, view));
        assert_eq!(deleted.count(), 0);
        drop(tensor);
        assert_eq!(deleted.count(), 0);
        let again = import(legacy, &options(&queue)).unwrap();
        assert_eq!(again.to_vec::<i32>().unwrap(), [2]);
        assert_eq!(deleted.count(), 0);
        drop(again);
        assert_eq!(deleted.count(), 1);
    }
}

/// The owner of memory may panic when it goes; the deleter itself panics only by a defect.
#[test]
fn a_panic_in_the_deleter_ends_there() {
    struct Owner(UsmArray);

    impl Drop for Owner {
        fn drop(&mut self) {
            panic!("the owner of {:?}", self.0.shape());
        }
    }

    let queue = host_queue();
    let array = UsmArray::zeros(&queue, UsmKind::Shared, &[4], Dtype::F32).unwrap();
    let (address, owner) = (array.address(), Arc::new(Owner(array.clone())));
    // SAFETY: the owner's memory, which nobody else uses.
    let buffer = unsafe { UsmBuffer::borrow(&queue, address, 16, true, owner) }.unwrap();
    let layout = Layout::contiguous(&[4], Order::C).unwrap();
    let borrowed = UsmArray::from_parts(buffer, Dtype::F32, layout, 0).unwrap();
    let tensor = borrowed.to_dlpack(&DlpackExport::default()).unwrap();
    drop(borrowed);
    drop(tensor);
    for form in [DlpackExport::default(), legacy_form()] {
        let tensor = array.to_dlpack(&form).unwrap();
        panic_in("deleter");
        drop(tensor);
        assert!(!is_armed());
        drop(array.to_dlpack(&form).unwrap());
    }
}

#[test]
fn raw_pointers_go_through_capsules_and_threads() {
    struct Capsule(RawTensor);
    // SAFETY: exported tensors may be used from any thread.
    unsafe impl Send for Capsule {}

    for queue in queues() {
        for form in [TensorForm::Versioned, TensorForm::Legacy] {
            let (array, deleted) = counted(&queue, &mut [1, 2, 3]);
            let export = DlpackExport { form, ..Default::default() };
            let capsules: Vec<_> =
                (0..8).map(|_| Capsule(array.to_dlpack(&export).unwrap().into_raw())).collect();
            drop(array);
            assert_eq!(deleted.count(), 0);
            let threads: Vec<_> = capsules
                .into_iter()
                .map(|capsule| {
                    thread::spawn(move || {
                        let Capsule(raw) = { capsule };
                        // SAFETY: given away by `into_raw`, once.
                        drop(unsafe { ManagedTensor::from_raw(raw) });
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(deleted.count(), 1);
        }
    }
}

#[test]
fn plain_host_memory_is_copied_in_any_layout() {
    let numbers: Vec<u16> = (0..24).collect();
    for (queue, kind) in places() {
        for (shape, strides, first) in [
            (vec![24], None, 0),
            (vec![2, 3, 4], None, 0),
            (vec![4, 6], Some(vec![1, 4]), 0),
            (vec![12], Some(vec![-2]), 23),
            (vec![2, 3], Some(vec![12, -1]), 2),
            (vec![3, 4], Some(vec![0, 1]), 5),
            (vec![], Some(vec![]), 7),
        ] {
            let deleted = Deleted::default();
            let mut external = External::cpu(numbers.as_ptr().cast(), Dtype::U16, &shape);
            external.strides.clone_from(&strides);
            external.tensor.byte_offset = 2 * first;
            let array =
                import(external.versioned(&deleted), &DlpackImport { kind, ..options(&queue) }).unwrap();
            assert_eq!(deleted.count(), 1, "nothing of the producer is kept after a copy");
            assert_eq!((array.kind(), array.is_writable()), (kind, true));
            let sizes: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
            let strides: Option<Vec<isize>> = strides.map(|s| s.iter().map(|&s: &i64| s as isize).collect());
            let layout = Layout::new(&sizes, strides.as_deref(), first as isize, Order::C).unwrap();
            let expected: Vec<u16> = layout.offsets().map(|place| numbers[place as usize]).collect();
            assert_eq!(array.to_vec::<u16>().unwrap(), expected);
        }
    }
}

#[test]
fn copies_are_made_exactly_as_asked() {
    let host = [1.0_f32, 2.0];
    for (queue, kind) in places() {
        let never = DlpackImport { copy: CopyMode::Never, kind, ..options(&queue) };
        let always = DlpackImport { copy: CopyMode::Always, ..never };
        let deleted = Deleted::default();
        let plain = || External::cpu(host.as_ptr().cast(), Dtype::F32, &[2]).legacy(&deleted);
        let refused = import(plain(), &never).unwrap_err();
        assert!(matches!(refused, Error::Dlpack(DlpackError::NotUsm { .. })), "{refused}");
        assert!(import(plain(), &always).unwrap().is_writable());
        assert_eq!(deleted.count(), 2);

        let array = UsmArray::from_slice(&queue, kind, &[2], &host).unwrap();
        let tensor = || array.to_dlpack(&DlpackExport::default()).unwrap();
        assert_eq!(import(tensor(), &never).unwrap().address(), array.address());
        let copy = import(tensor(), &always).unwrap();
        assert_ne!(copy.address(), array.address());
        assert_eq!((copy.kind(), copy.to_vec::<f32>().unwrap()), (kind, host.to_vec()));
    }
}

#[test]
fn a_queue_of_another_context_gets_a_copy() {
    for queue in queues() {
        let own = Context::new(std::slice::from_ref(queue.device())).unwrap();
        let own = own.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
        // Device memory, since host and shared memory of the host backend is kDLCPU, which has no context.
        let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2], &[5_u64, 6]).unwrap();
        let tensor = || array.to_dlpack(&DlpackExport::default()).unwrap();
        let there = import(tensor(), &options(&own)).unwrap();
        assert_eq!((there.context(), there.to_vec::<u64>().unwrap()), (own.context(), vec![5, 6]));
        if queue.device().backend_id() == BackendId::Cuda {
            // All contexts of a GPU have its memory.
            assert_eq!(there.address(), array.address());
            continue;
        }
        assert_ne!(there.address(), array.address());
        let refused = import(tensor(), &DlpackImport { copy: CopyMode::Never, ..options(&own) });
        assert!(matches!(refused, Err(Error::Dlpack(DlpackError::CopyNeeded { .. }))));
    }
}

#[test]
fn exporting_while_somebody_writes_is_refused_for_the_cpu() {
    for queue in queues() {
        let array = UsmArray::zeros(&queue, UsmKind::Shared, &[2], Dtype::I32).unwrap();
        let view = array.view_mut::<i32>().unwrap();
        let to_cpu = DlpackExport { device: Some(CPU), ..Default::default() };
        assert!(matches!(array.to_dlpack(&to_cpu), Err(Error::Memory(_))));
        drop(view);
        assert!(array.to_dlpack(&to_cpu).is_ok());
    }
}

#[test]
fn borrowed_tensors_point_into_the_array() {
    let runtime = Runtime::global();
    for (queue, kind) in places() {
        let layout = Layout::new(&[2, 3], Some(&[-3, 1]), 3, Order::C).unwrap();
        let array = array_of(&queue, kind, Dtype::I16, &layout);
        let device = expected_device(&queue, kind);
        let borrowed = array.borrow_dlpack(runtime, Consumer::Anywhere).unwrap();
        assert_eq!((borrowed.device, borrowed.ndim), (device, 2));
        assert_eq!(borrowed.data.addr() + borrowed.byte_offset as usize, array.address());
        // SAFETY: as many numbers as axes, of an array that lives.
        let shape = unsafe { std::slice::from_raw_parts(borrowed.shape, 2) };
        // SAFETY: as above.
        let strides = unsafe { std::slice::from_raw_parts(borrowed.strides, 2) };
        assert_eq!((shape, strides), (&[2, 3][..], &[-3, 1][..]));
        let frozen = array.read_only().borrow_dlpack(runtime, Consumer::Anywhere).unwrap_err();
        assert!(matches!(frozen, Error::Dlpack(DlpackError::ReadOnly)));
    }
}

#[test]
fn new_tensors_are_like_their_prototype() {
    let runtime = Runtime::global();
    let mut devices = vec![CPU, EXT_DEV];
    for queue in queues() {
        match queue.device().backend_id() {
            BackendId::Sycl => devices.push(one_api(0)),
            BackendId::Cuda => devices.extend([2, 3, 13].map(cuda)),
            _ => {}
        }
    }
    for device in devices {
        for shape in [vec![], vec![2, 0], vec![3, 5]] {
            let mut prototype = External::cpu(std::ptr::null(), Dtype::C64, &shape).tensor;
            prototype.device = device;
            let mut sizes = shape.clone();
            prototype.shape = sizes.as_mut_ptr();
            // SAFETY: as many sizes as axes.
            let tensor = unsafe { UsmArray::allocate_dlpack(&prototype, runtime) }.unwrap();
            assert_eq!(tensor.tensor().unwrap().device, device);
            let array = import(tensor, &DlpackImport::default());
            let array = array.unwrap();
            let sizes: Vec<i64> = array.shape().iter().map(|&n| n as i64).collect();
            assert_eq!((sizes, array.dtype(), array.is_writable()), (shape, Dtype::C64, true));
            prototype.device.device_id = 77;
            // SAFETY: as above.
            let refused = unsafe { UsmArray::allocate_dlpack(&prototype, runtime) }.unwrap_err();
            assert!(matches!(refused, Error::Dlpack(_)), "{refused}");
            prototype.device.device_type = DLDeviceType(10);
            // SAFETY: as above.
            let refused = unsafe { UsmArray::allocate_dlpack(&prototype, runtime) }.unwrap_err();
            assert!(matches!(refused, Error::Dlpack(DlpackError::DeviceType { .. })), "{refused}");
        }
        let mut negative = [-1];
        let prototype = DLTensor {
            shape: negative.as_mut_ptr(),
            device,
            ..External::cpu(std::ptr::null(), Dtype::U8, &[1]).tensor
        };
        // SAFETY: one size, one axis.
        assert!(unsafe { UsmArray::allocate_dlpack(&prototype, runtime) }.is_err());
    }
}

#[test]
fn devices_have_their_places_as_numbers() {
    let runtime = Runtime::global();
    for queue in queues() {
        if queue.device().backend_id() == BackendId::Sycl {
            assert_eq!(&device_with_number(runtime, one_api(0)).unwrap(), queue.device());
        }
    }
    assert_eq!(&device_with_number(runtime, EXT_DEV).unwrap(), runtime.host_device());
    assert_eq!(number_of_device(runtime, runtime.host_device()), Some(EXT_DEV));
    let refused = |device| device_with_number(runtime, device).unwrap_err();
    let none = DLDevice { device_id: 1, ..EXT_DEV };
    assert!(refused(none).to_string().contains("found 1 of kDLExtDev (12), allowed are 0"));
    assert!(matches!(refused(one_api(-1)), Error::Dlpack(DlpackError::DeviceId { found: -1, .. })));
    assert!(matches!(refused(one_api(1000)), Error::Dlpack(DlpackError::DeviceId { found: 1000, .. })));
    assert!(matches!(refused(CPU), Error::Dlpack(DlpackError::DeviceType { .. })));
}
