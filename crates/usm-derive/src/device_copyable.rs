//! `DeviceCopyable` for structs: what the compiler can prove about the layout, and the implementation.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Field, Meta, Path, Token, Type, parse_quote};

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(name, "a kernel takes structs by value, no enums and no unions"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &input.generics,
            "the layout of a struct with parameters is not known here; derive DeviceCopyable for a struct without them",
        ));
    }
    if !has_c_layout(&input.attrs)? {
        return Err(Error::new_spanned(name, "a kernel knows the layout of C only; add #[repr(C)]"));
    }
    let usm_core = crate_path(&input.attrs)?;
    let checks = data.fields.iter().map(|field| check(field, &usm_core)).collect::<syn::Result<Vec<_>>>()?;
    let types = data.fields.iter().map(|field| &field.ty);
    let padding = format!(
        "`{name}` has padding, whose bytes are undefined; order its fields by falling alignment, or add fields in its place"
    );
    let empty = format!("`{name}` has no bytes, and a kernel has no argument without any");
    Ok(quote! {
        const _: () = {
            ::core::assert!(::core::mem::size_of::<#name>() > 0, #empty);
            ::core::assert!(
                ::core::mem::size_of::<#name>() == 0 #(+ ::core::mem::size_of::<#types>())*,
                #padding
            );
            #(#checks)*

            // SAFETY: promise 1 of `DeviceCopyable`: the layout is that of C, and each field was checked. 2. The sizes of the fields add up to
            // the size of the struct.
            #[automatically_derived]
            unsafe impl #usm_core::DeviceCopyable for #name {}
        };
    })
}

/// Whether a `repr` gives the struct the layout of C, or of its only field.
fn has_c_layout(attributes: &[Attribute]) -> syn::Result<bool> {
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        let parts = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
        found |= parts.iter().any(|part| part.path().is_ident("C") || part.path().is_ident("transparent"));
    }
    Ok(found)
}

/// The path of `usm_core` for the code that is made.
fn crate_path(attributes: &[Attribute]) -> syn::Result<Path> {
    let mut path = parse_quote!(::usm_core);
    for attribute in of_ours(attributes) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("a struct takes #[device_copyable(crate = path)] only"));
            }
            path = meta.value()?.call(Path::parse_mod_style)?;
            Ok(())
        })?;
    }
    Ok(path)
}

fn of_ours(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("device_copyable"))
}

/// The proof that one field can be copied to a device.
fn check(field: &Field, usm_core: &Path) -> syn::Result<TokenStream> {
    let mut is_usm_pointer = false;
    for attribute in of_ours(&field.attrs) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("usm_pointer") {
                return Err(meta.error("a field takes #[device_copyable(usm_pointer)] only"));
            }
            is_usm_pointer = true;
            Ok(())
        })?;
    }
    match (&field.ty, is_usm_pointer) {
        (Type::Ptr(_), true) => Ok(TokenStream::new()),
        (Type::Ptr(_), false) => Err(Error::new_spanned(
            &field.ty,
            "a device reaches no memory of the host; mark the field #[device_copyable(usm_pointer)] if it points to USM",
        )),
        (Type::Reference(_), _) => Err(Error::new_spanned(
            &field.ty,
            "a device does not know how long a reference lives; use a raw pointer, marked #[device_copyable(usm_pointer)]",
        )),
        (ty, true) => Err(Error::new_spanned(ty, "usm_pointer is for raw pointers, `*const T` and `*mut T`")),
        (ty, false) => Ok(quote_spanned! { ty.span() =>
            const _: () = {
                const fn check<T: #usm_core::DeviceCopyable>() {}
                check::<#ty>()
            };
        }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use syn::{DeriveInput, parse_quote};

    use super::expand;

    fn refusal(input: &DeriveInput) -> String {
        expand(input).unwrap_err().to_string()
    }

    #[test]
    fn what_no_kernel_takes_by_value_is_refused_with_the_reason() {
        let refused: [(DeriveInput, &str); 10] = [
            (parse_quote! { #[repr(C)] enum E { A } }, "no enums"),
            (parse_quote! { #[repr(C)] union U { a: u32 } }, "no unions"),
            (parse_quote! { #[repr(C)] struct S<T> { a: T } }, "without them"),
            (parse_quote! { #[repr(C)] struct S<'a> { a: &'a u32 } }, "without them"),
            (parse_quote! { struct S { a: u32 } }, "add #[repr(C)]"),
            (parse_quote! { #[repr(align(8))] struct S { a: u64 } }, "add #[repr(C)]"),
            (parse_quote! { #[repr(C)] struct S { a: *mut u32 } }, "mark the field"),
            (parse_quote! { #[repr(C)] struct S { a: &'static u32 } }, "how long a reference lives"),
            (
                parse_quote! { #[repr(C)] struct S { #[device_copyable(usm_pointer)] a: u64 } },
                "is for raw pointers",
            ),
            (parse_quote! { #[repr(C)] struct S { #[device_copyable(pointer)] a: *mut u32 } }, "usm_pointer"),
        ];
        for (input, reason) in refused {
            let found = refusal(&input);
            assert!(found.contains(reason), "{found}");
        }
    }

    #[test]
    fn structs_of_c_get_the_checks_that_only_the_compiler_can_do() {
        let input: DeriveInput = parse_quote! {
            #[repr(C, align(8))]
            #[device_copyable(crate = usm_array::usm_core)]
            struct S { a: u32, #[device_copyable(usm_pointer)] b: *const f32 }
        };
        let code = expand(&input).unwrap().to_string();
        for part in
            ["unsafe impl usm_array :: usm_core :: DeviceCopyable for S", "check :: < u32 >", "padding"]
        {
            assert!(code.contains(part), "{code}");
        }
        assert!(!code.contains("check :: < * const f32 >"), "the mark is the proof");
    }
}
