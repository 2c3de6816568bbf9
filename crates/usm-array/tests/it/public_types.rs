//! Every public type goes wherever threads need it

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::str::FromStr;

use usm_array::dlpack::*;
use usm_array::usm_core;
use usm_array::*;

/// The names of the types, each of which has to be `Send` and `Sync` for this to compile.
macro_rules! can_be_shared {
    ($($name:ident $(<$($argument:tt),*>)?),* $(,)?) => {{
        const fn check<T: Send + Sync>() {}
        $(const { check::<$name $(<$($argument),*>)?>() };)*
        BTreeSet::from([$(stringify!($name)),*])
    }};
}

/// Traits, which have no values.
const TRAITS: [&str; 7] =
    ["Element", "HostElements", "Nested", "ReadNested", "ReadNumbers", "SliceItems", "SliceRange"];

/// C structs of DLPack with pointers that anybody may set, and pointers to them: their owners are checked.
const C_STRUCTS: [&str; 6] = [
    "DLTensor",
    "DLManagedTensor",
    "DLManagedTensorVersioned",
    "DLPackExchangeAPIHeader",
    "DLPackExchangeAPI",
    "RawTensor",
];

/// The types that a file hands out by `pub use`: names that begin with a capital letter and are no constants.
fn exported(source: &str) -> BTreeSet<&str> {
    let uses = source.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let names = uses.flat_map(|path| path.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let is_type = |name: &&str| {
        name.starts_with(|c: char| c.is_uppercase())
            && name.contains(|c: char| c.is_lowercase() || c.is_numeric())
            && ![&TRAITS[..], &C_STRUCTS].concat().contains(name)
    };
    names.filter(is_type).collect()
}

#[test]
fn every_public_type_is_send_and_sync() {
    let checked = can_be_shared![
        UsmArray,
        UsmArrayBuilder,
        ArrayHandle,
        ArrayOrScalar<'static>,
        BufferSource<'static>,
        Conversion,
        CopyMode,
        CreateOptions,
        Indexing,
        LikeOptions,
        Numbers<'static>,
        OperandMemory,
        Peer,
        ResultPlace,
        Bool8,
        Casting,
        DefaultDtypes,
        Dtype,
        DtypeError,
        DtypeKind,
        F8E4M3Fn,
        F8E4M3Fnuz,
        F8E5M2,
        F8E5M2Fnuz,
        Finfo,
        Iinfo,
        PromotionOperand,
        WeakScalar,
        CreateError,
        Error,
        IndexError,
        ManipulateError,
        Result<()>,
        IndexItem<'static>,
        IndexMode,
        ByteSpan,
        CudaArrayInterface,
        InterfaceError,
        InterfaceRef<'static>,
        UsmArrayInterface,
        ValidInterface,
        Axes<usize>,
        CopyOrder,
        Extent,
        Layout,
        LayoutError,
        Offsets<'static>,
        Order,
        Overlap,
        SliceItem,
        StridedBytes<'static>,
        Repeats<'static>,
        Tolerance,
        FloatMode,
        PrintOptions,
        Sign,
        Scalar,
        SliceReadGuard<'static, f64>,
        SliceWriteGuard<'static, f64>,
        TypedArray<f64>,
        ArrayView<'static, f64>,
        ArrayViewMut<'static, f64>,
        ElementIndex,
        IndexedIter<'static, f64>,
        Iter<'static, f64>,
        IterMut<'static, f64>,
        ParIter<'static, f64>,
        SubViews<'static, f64>,
        Cost,
        NestedElements<NoHostElements>,
        NestedItem<NoHostElements>,
        NoHostElements,
        NumberList,
        Reach,
        Work,
    ];
    let exported_here = exported(include_str!("../../src/lib.rs"));
    assert!(exported_here.len() > 60, "{exported_here:?}");
    assert_eq!(exported_here.difference(&checked).collect::<Vec<_>>(), [] as [&&str; 0], "add them above");

    let checked = can_be_shared![
        DLDataType,
        DLDataTypeCode,
        DLDevice,
        DLDeviceType,
        DLPackVersion,
        Consumer,
        CudaStream,
        DlpackError,
        DlpackExport<'static>,
        DlpackImport<'static>,
        DlpackPlace,
        DlpackRequest<'static>,
        ManagedTensor,
        SetError,
        TensorForm,
        UsableDevices,
    ];
    let exported_there = exported(include_str!("../../src/dlpack/mod.rs"));
    assert!(exported_there.len() > 8, "{exported_there:?}");
    assert_eq!(exported_there.difference(&checked).collect::<Vec<_>>(), [] as [&&str; 0], "add them above");
}

#[test]
fn texts_parse_to_the_values_that_have_them() {
    fn check<T: Copy + Debug + Display + PartialEq + FromStr<Err = usm_core::Error>>(all: &[T]) {
        for value in all {
            let text = value.to_string();
            assert_eq!(text.parse::<T>().unwrap(), *value);
            let error = format!("{text}?").parse::<T>().unwrap_err().to_string();
            assert!(
                error.contains(&format!("{text}?\"")) && error.ends_with(&all[all.len() - 1].to_string()),
                "{error}"
            );
        }
    }
    check(Order::ALL);
    check(CopyOrder::ALL);
    check(Casting::ALL);
    check(IndexMode::ALL);
    check(Indexing::ALL);
    check(Sign::ALL);
    check(FloatMode::ALL);
}
