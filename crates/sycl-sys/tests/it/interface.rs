//! The comparison of the table with another version (`examples/interface`): changes are found, and the known forms fit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::Tree;
use crate::comparison::{Comparison, Interface};
use sycl_loopback::Form;
use sycl_sys::locate::{SearchOptions, search};
use sycl_sys::{Api, ENUMERATIONS};

/// A text in the style of the headers, with all of the table in the form of 0.23.
fn headers() -> String {
    let mut text = String::from("#define IGNORED(A) \\\n    DPCTL_API void DPCTLIgnored(A);\n");
    for (name, form, signature) in Api::SIGNATURES {
        if *form == Some(sycl_sys::Form::V22) || name.contains("Vector_") {
            continue;
        }
        let signature: String = signature.split_whitespace().collect::<Vec<_>>().join(" ");
        let (arguments, result) =
            signature.split_once(") -> ").unwrap_or((signature.trim_end_matches(')'), "()"));
        let arguments: Vec<_> = arguments
            .trim_start_matches("fn(")
            .split(", ")
            .filter(|argument| !argument.is_empty())
            .enumerate()
            .map(|(index, ty)| format!("__dpctl_keep const {}a{index}", of_c(ty)))
            .collect();
        text += &format!("/*! about {name}() */\nDPCTL_API\n__dpctl_give {}{name}(", of_c(result));
        text +=
            &format!("{});\n", if arguments.is_empty() { "void".into() } else { arguments.join(",\n  ") });
    }
    text += "#define DPCTL_DECLARE_VECTOR_FN(EL) \\\n";
    let of_vector = [
        "__dpctl_give DPCTL##EL##VectorRef DPCTL##EL##Vector_Create(void);",
        "__dpctl_give DPCTL##EL##VectorRef DPCTL##EL##Vector_CreateFromArray(size_t n, DPCTLSycl##EL##Ref *e);",
        "void DPCTL##EL##Vector_Delete(DPCTL##EL##VectorRef V);",
        "size_t DPCTL##EL##Vector_Size(DPCTL##EL##VectorRef V);",
        "DPCTLSycl##EL##Ref DPCTL##EL##Vector_GetAt(DPCTL##EL##VectorRef V, size_t index);",
    ];
    text += &of_vector.map(|function| format!("    DPCTL_API {function}")).join(" \\\n");
    text += "\n\n";
    for element in ["Device", "Event", "Platform"] {
        text += &format!("DPCTL_DECLARE_VECTOR({element})\n");
    }
    for (name, constants) in ENUMERATIONS {
        let constants: Vec<_> =
            constants.iter().map(|(name, value)| format!("dpctl_{name} = {value}")).collect();
        text += &format!("typedef enum\n{{\n {}\n}} {name};\n", constants.join(",\n"));
    }
    text + "typedef enum { DPCTL_PARTITION_AFFINITY_DOMAIN_UNKNOWN = 0, not_applicable, numa, L4_cache, L3_cache, \
            L2_cache, L1_cache, next_partitionable } DPCTLPartitionAffinityDomainType;\n\
            DPCTL_API bool DPCTLDevice_CanCompileSPIRV(const DPCTLSyclDeviceRef D);\n"
}

/// A type of the table in C, up to the name of an argument.
fn of_c(ty: &str) -> String {
    for pointer in ["*mut ", "*const "] {
        if let Some(inner) = ty.strip_prefix(pointer) {
            return of_c(inner) + "*";
        }
    }
    let name = match ty {
        "()" | "c_void" => "void",
        "usize" => "size_t",
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "i64" => "int64_t",
        "c_int" => "int",
        "c_char" => "char",
        "Option<error_handler_callback>" => return "error_handler_callback *".into(),
        other => other,
    };
    format!("{name} ")
}

/// The comparison with a folder of that one header.
fn with(text: &str) -> Comparison {
    let tree = Tree::new();
    tree.file("include/all.h", text.as_bytes());
    Comparison::new(&Interface::read(&tree.path("include")).unwrap())
}

#[test]
fn headers_with_all_of_the_table_fit() {
    let comparison = with(&headers());
    assert!(comparison.fits(), "{comparison}");
    let text = comparison.to_string();
    assert!(text.contains("in the form of dpctl 0.23\nrequired, and missing there: none\n"), "{text}");
    // Vectors have more functions than the table.
    assert!(
        text.contains("not in the table (5): DPCTLDevice_CanCompileSPIRV, DPCTLEventVector_Create, "),
        "{text}"
    );
}

#[test]
fn what_changed_is_named() {
    for (from, to, expected) in [
        ("DPCTLQueue_Copy(", "DPCTLQueue_Clone(", "required, and missing there: DPCTLQueue_Copy\n"),
        (
            "uint32_t DPCTLDevice_GetMaxComputeUnits",
            "size_t DPCTLDevice_GetMaxComputeUnits",
            "DPCTLDevice_GetMaxComputeUnits: size_t(DPCTLSyclDeviceRef) there, uint32_t(DPCTLSyclDeviceRef) in the table",
        ),
        (
            " size_t a5,\n  __dpctl_keep const DPCTLSpecConst *a6",
            " size_t a5",
            "size_t, char*, size_t) there",
        ),
        (
            "not_applicable, numa",
            "numa",
            "DPCTLPartitionAffinityDomainType: 1 is numa there, NotApplicable in the table",
        ),
        (
            "dpctl_COMPLETE = 3",
            "dpctl_COMPLETE = 3, paused",
            "DPCTLSyclEventStatusType: 4 is paused there, and not in the table",
        ),
        (
            "dpctl_COMPLETE = 3",
            "dpctl_COMPLETE = 1 << 2",
            "DPCTLSyclEventStatusType: 3 is COMPLETE in the table, and not there",
        ),
    ] {
        let changed = headers().replace(from, to);
        assert!(changed != headers(), "{from} is not there");
        let comparison = with(&changed);
        assert!(
            !comparison.fits() && comparison.to_string().contains(expected),
            "{expected} is not in:\n{comparison}"
        );
    }
}

#[test]
#[cfg_attr(windows, ignore = "it reads the symbols of ELF files")]
fn a_library_of_each_form_fits() {
    for (form, name, missing) in [
        (
            Form::Dpctl022,
            "dpctl 0.22",
            "DPCTLIPCMem_Available, DPCTLIPCMem_GetHandle, DPCTLIPCMem_OpenHandle, DPCTLIPCMem_CloseHandle, \
             DPCTLIPCMem_FreeHandleData, DPCTLQueue_MemsetWithEvents",
        ),
        (Form::Dpctl023, "dpctl 0.23", "DPCTLDevice_GetSubGroupIndependentForwardProgress"),
    ] {
        let comparison = Comparison::new(&Interface::read(&form.library_path()).unwrap());
        assert!(comparison.fits(), "{comparison}");
        let text = comparison.to_string();
        for part in [name, &format!("optional, and missing there: {missing}\nchanged: none")] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "it reads the symbols of ELF files")]
fn a_library_that_lacks_a_function_does_not_fit() {
    let loopback = sycl_loopback::Loopback::lacking(Form::Dpctl023, &["DPCTLQueue_Copy"]).unwrap();
    let comparison = Comparison::new(&Interface::read(loopback.path()).unwrap());
    assert!(!comparison.fits());
    assert!(
        comparison.to_string().contains("required, and missing there: DPCTLQueue_Copy\n"),
        "{comparison}"
    );
}

#[test]
#[cfg_attr(windows, ignore = "it reads the symbols of ELF files")]
fn other_files_are_refused() {
    let tree = Tree::new();
    let text = tree.file("text", b"no library");
    let cut = tree.file("cut", b"\x7fELF\x02\x01 and no more");
    for (path, expected) in [
        (text, "is no 64-bit ELF library"),
        (cut, "is no 64-bit ELF library"),
        (tree.dir("empty"), "has no function of the interface"),
        (tree.path("absent"), "No such file"),
    ] {
        let reason = Interface::read(&path).unwrap_err();
        assert!(reason.contains(expected), "{reason}");
    }
}

/// The library and the headers of dpctl, where this machine has them.
#[test]
fn the_installed_version_fits() {
    let found = search(&SearchOptions::new());
    let Some(candidate) = found.candidates.first() else {
        let is_required = std::env::var_os("USM_REQUIRE_SYCL").is_some_and(|value| value == "1");
        assert!(!is_required, "USM_REQUIRE_SYCL=1, but there is no SYCL runtime:\n{found}");
        return println!("not tested, there is no SYCL runtime");
    };
    let headers = candidate.library.with_file_name("include").join("syclinterface");
    for path in [candidate.library.clone(), headers].into_iter().filter(|path| path.exists()) {
        let comparison = Comparison::new(&Interface::read(&path).unwrap());
        assert!(comparison.fits(), "{}: {comparison}", path.display());
    }
}
