//! Nested sequences whose items are of any types: numbers, arrays, elements of the host, sequences.

use usm_array::usm_core::{Context, Queue, Runtime, UsmKind};
use usm_array::{
    CreateError, CreateOptions, Dtype, Error, HostElements, MAX_NDIM, ManipulateError, NestedElements,
    NestedItem, ReadNested, Result, Scalar, UsmArray,
};

/// A number, elements of the host, an array or a list of values.
enum Value {
    Number(Scalar),
    Host(Vec<f32>),
    Array(UsmArray),
    List(Vec<Self>),
}
use Value::{Array, Host, List, Number};

/// Elements of one axis, and their length as a shape.
struct Floats([usize; 1], Vec<f32>);

impl HostElements for Floats {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.0
    }

    fn copy_to(&self, target: &UsmArray) -> Result<()> {
        target.assign(
            &UsmArray::from_slice(target.queue(), UsmKind::Host, &self.0, &self.1)?
                .astype(target.dtype(), usm_array::CopyMode::IfNeeded)?,
        )
    }
}

struct Values;

impl<'a> ReadNested<&'a Value> for Values {
    type Elements = Floats;
    type Error = Error;

    fn read(&self, item: &&'a Value, _: &[usize]) -> Result<NestedItem<Floats>> {
        Ok(match item {
            Number(number) => NestedItem::Number(*number),
            Host(elements) => NestedItem::Host(Floats([elements.len()], elements.clone())),
            Array(array) => NestedItem::Array(Box::new(array.clone())),
            List(_) => NestedItem::Sequence,
        })
    }

    fn items(&self, item: &&'a Value) -> Result<Vec<&'a Value>> {
        Ok(match item {
            List(items) => items.iter().collect(),
            _ => Vec::new(),
        })
    }

    fn name(&self) -> &str {
        "values"
    }
}

fn queue() -> Queue {
    let runtime = Runtime::global();
    runtime.default_queue(runtime.host_device()).unwrap()
}

fn int(value: i128) -> Value {
    Number(Scalar::Int(value))
}

fn made(list: &Value) -> Result<UsmArray> {
    CreateOptions::new(&queue(), UsmKind::Shared).nested(&Values, &list)
}

#[test]
fn pieces_of_every_kind_come_together_in_row_major_order() {
    for kind in UsmKind::ALL {
        let array = UsmArray::from_slice(&queue(), kind, &[2], &[5_i16, 6]).unwrap();
        let list = List(vec![List(vec![int(1), int(2)]), Host(vec![3.5, 4.0]), Array(array)]);
        let array = made(&list).unwrap();
        assert_eq!((array.shape(), array.dtype(), array.kind()), (&[3, 2][..], Dtype::F64, UsmKind::Shared));
        assert_eq!(array.to_vec::<f64>().unwrap(), [1.0, 2.0, 3.5, 4.0, 5.0, 6.0]);
    }
}

#[test]
fn numbers_alone_have_the_default_dtype_of_the_highest_kind() {
    let list = List(vec![List(vec![int(1)]), List(vec![Number(Scalar::Bool(true))])]);
    assert_eq!(made(&list).unwrap().to_vec::<i64>().unwrap(), [1, 1]);
    let empty = made(&List(vec![List(vec![]), List(vec![])])).unwrap();
    assert_eq!((empty.shape(), empty.dtype()), (&[2, 0][..], Dtype::F64));
}

#[test]
fn arrays_say_where_they_are_together() {
    let array = |kind| Array(UsmArray::zeros(&queue(), kind, &[1], Dtype::U8).unwrap());
    let list = List(vec![array(UsmKind::Host), array(UsmKind::Device)]);
    let elements = NestedElements::read(&Values, &&list).unwrap();
    assert_eq!(elements.kind(), Some(UsmKind::Device));
    assert_eq!(elements.queue().unwrap(), Some(&queue()));
    let numbers = List(vec![int(1)]);
    let elements = NestedElements::read(&Values, &&numbers).unwrap();
    assert_eq!((elements.kind(), elements.queue().unwrap()), (None, None));
    assert_eq!(elements.numbers(), Some(&[Scalar::Int(1)][..]));
}

#[test]
fn arrays_of_queues_that_do_not_compute_together_are_named() {
    let context = Context::new(&[queue().device().clone()]).unwrap();
    let other = Runtime::global().queue_in(&context, queue().device()).unwrap();
    let array = |queue: &Queue| Array(UsmArray::zeros(queue, UsmKind::Host, &[1], Dtype::U8).unwrap());
    let list = List(vec![List(vec![array(&queue())]), List(vec![array(&other)])]);
    let elements = NestedElements::read(&Values, &&list).unwrap();
    match elements.queue() {
        Err(Error::Manipulate(ManipulateError::QueuesDiffer { name, first, .. })) => {
            assert_eq!((&name[..], &first[..]), ("values[1][0]", "values[0][0]"));
        }
        other => panic!("{other:?}"),
    }
    // The queue that is asked for says where the result is.
    assert_eq!(made(&list).unwrap().shape(), [2, 1, 1]);
}

#[test]
fn refusals_name_the_item() {
    let text = |list: &Value| made(list).unwrap_err().to_string();
    let ragged = List(vec![List(vec![int(1), int(2)]), Host(vec![1.0])]);
    assert_eq!(text(&ragged), "values[1]: found shape [1], allowed is [2] as of the first item");
    let deep = (0..=MAX_NDIM).fold(int(1), |item, _| List(vec![item]));
    assert_eq!(text(&deep), "values: found more than 64 sequences in each other");
    let error = NestedElements::read(&Values, &&deep).err();
    assert!(matches!(error, Some(Error::Create(CreateError::TooDeep { .. }))));
}

#[test]
fn a_number_that_does_not_fit_is_told_by_its_place() {
    for list in [
        List(vec![int(1), int(300)]),
        List(vec![Array(UsmArray::zeros(&queue(), UsmKind::Host, &[], Dtype::U8).unwrap()), int(300)]),
    ] {
        let elements = NestedElements::read(&Values, &&list).unwrap();
        let bytes = queue();
        let new = CreateOptions::new(&bytes, UsmKind::Host).dtype(Dtype::U8);
        match elements.to_array(&new, &bytes) {
            Err(Error::Number { index: 1, .. }) => {}
            other => panic!("{other:?}"),
        }
    }
}
