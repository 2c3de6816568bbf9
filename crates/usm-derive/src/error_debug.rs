//! `Debug` of an error: the sentence, or with `#` the variant and its fields.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DataEnum, DeriveInput, Error, Fields, Variant};

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(DataEnum { variants, .. }) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "ErrorDebug is for enums"));
    };
    let (name, arms) = (&input.ident, variants.iter().map(arm));
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        /// `{:?}` is the sentence, since `main` prints the error that it returns with it. `{:#?}` has variant and fields.
        #[automatically_derived]
        impl #impl_generics ::core::fmt::Debug for #name #type_generics #where_clause {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                if !f.alternate() {
                    return ::core::fmt::Display::fmt(self, f);
                }
                match self { #(#arms)* }
            }
        }
    })
}

fn arm(variant: &Variant) -> TokenStream {
    let (name, text) = (&variant.ident, variant.ident.to_string());
    match &variant.fields {
        Fields::Unit => quote! { Self::#name => f.write_str(#text), },
        Fields::Named(fields) => {
            let names: Vec<_> = fields.named.iter().filter_map(|field| field.ident.as_ref()).collect();
            let texts = names.iter().map(ToString::to_string);
            quote! {
                Self::#name { #(#names),* } => f.debug_struct(#text)#(.field(#texts, #names))*.finish(),
            }
        }
        Fields::Unnamed(fields) => {
            let names: Vec<_> = (0..fields.unnamed.len()).map(|i| format_ident!("field_{i}")).collect();
            quote! { Self::#name(#(#names),*) => f.debug_tuple(#text)#(.field(#names))*.finish(), }
        }
    }
}
