//! The function table: one field per symbol, filled from one opened library.

mod form;
mod symbols;

pub use form::{AffinityDomain, Form};
pub use symbols::{Api, CreateFromSpirv};

/// Writes the struct, the lists of names and the loader from one list of symbols, so that they cannot disagree.
macro_rules! api {
    (
        required { $($(#[$doc:meta])* $name:ident: $abi:literal fn($($arg:ident: $ty:ty),*) $(-> $ret:ty)?;)* }
        by_form {
            $($(#[$form_doc:meta])* $by_form:ident: $choice:ident {
                $($form:ident: $form_abi:literal fn($($form_arg:ident: $form_ty:ty),*) $(-> $form_ret:ty)?;)*
            })*
        }
        optional { $($(#[$opt_doc:meta])* $opt:ident: $opt_abi:literal fn($($opt_arg:ident: $opt_ty:ty),*) $(-> $opt_ret:ty)?;)* }
    ) => {
        $(
            $(#[$form_doc])*
            ///
            /// The signature of each [form](crate::Form) of the interface.
            #[derive(Clone, Copy, Debug)]
            #[non_exhaustive]
            pub enum $choice {
                $(
                    #[doc = concat!("The signature of `Form::", stringify!($form), "`.")]
                    $form(unsafe extern $form_abi fn($($form_arg: $form_ty),*) $(-> $form_ret)?),
                )*
            }
        )*

        /// The functions of the SYCL C interface, one field per C symbol.
        ///
        /// A field is called as `(api.DPCTLDevice_Create)()`. The library is never unloaded, so the functions stay
        /// valid for the life of the process, whatever happens to the table.
        ///
        /// # Safety of the calls
        ///
        /// 1. Every handle argument is live: it came from this interface and was not yet deleted. NULL is tolerated
        ///    by the guarded (`"C"`) functions only.
        /// 2. Every pointer argument is valid for the bytes or elements its count says, until the command's event
        ///    is complete (for `events` and `value: *mut u64`: during the call).
        /// 3. A handle consumed by a `_Delete` or `free` function is not used again, and deleted once.
        /// 4. A handler outlives the queue and its copies, and does not unwind.
        /// 5. `"C-unwind"` functions get arguments for which the C++ function does not throw, since a C++ exception
        ///    cannot be caught on this side.
        pub struct Api {
            $($(#[$doc])* pub $name: unsafe extern $abi fn($($arg: $ty),*) $(-> $ret)?,)*
            $($(#[$form_doc])* pub $by_form: $choice,)*
            $($(#[$opt_doc])* pub $opt: Option<unsafe extern $opt_abi fn($($opt_arg: $opt_ty),*) $(-> $opt_ret)?>,)*
            /// Which signatures and numbers the library has.
            pub(super) form: Form,
            /// The file the functions came from.
            pub(super) path: std::path::PathBuf,
        }

        impl Api {
            /// The symbols a library must have.
            pub const REQUIRED: &'static [&'static str] = &[$(stringify!($name),)* $(stringify!($by_form)),*];
            /// The symbols a library may have; each is an `Option` field.
            pub const OPTIONAL: &'static [&'static str] = &[$(stringify!($opt)),*];

            /// Every symbol with its signature as text; a signature of one form only has that form.
            pub const SIGNATURES: &'static [(&'static str, Option<Form>, &'static str)] = &[
                $((stringify!($name), None, stringify!(fn($($ty),*) $(-> $ret)?)),)*
                $($((stringify!($by_form), Some(Form::$form), stringify!(fn($($form_ty),*) $(-> $form_ret)?)),)*)*
                $((stringify!($opt), None, stringify!(fn($($opt_ty),*) $(-> $opt_ret)?)),)*
            ];

            /// Looks up every symbol in an opened library.
            ///
            /// # Safety
            ///
            /// 1. Every symbol of [`Api::REQUIRED`] and [`Api::OPTIONAL`] that `library` has is a function of the
            ///    signature written in the list, for those `by_form` of the signature of the library's form.
            pub(crate) unsafe fn from_library(
                library: $crate::dl::Kept,
                path: std::path::PathBuf,
            ) -> Result<Self, $crate::LoadError> {
                let form = match Form::of_library(&library) {
                    Ok(form) => form,
                    Err(has) => return Err($crate::LoadError::DevelopmentVersion { path, has }),
                };
                let mut missing = Vec::new();
                $(
                    // SAFETY: the caller's promise 1: the symbol has the type of the field.
                    let $name = unsafe { library.get::<unsafe extern $abi fn($($ty),*) $(-> $ret)?>(concat!(stringify!($name), "\0")) }
                        .map(|symbol| *symbol)
                        .map_err(|_| missing.push(stringify!($name)));
                )*
                $(
                    let $by_form = match form {
                        $(
                            // SAFETY: the caller's promise 1: the symbol has the type of this form.
                            Form::$form => unsafe { library.get::<unsafe extern $form_abi fn($($form_ty),*) $(-> $form_ret)?>(concat!(stringify!($by_form), "\0")) }
                                .map(|symbol| $choice::$form(*symbol)),
                        )*
                    }
                    .map_err(|_| missing.push(stringify!($by_form)));
                )*
                $(
                    // SAFETY: the caller's promise 1: the symbol has the type of the field.
                    let $opt = unsafe { library.get::<unsafe extern $opt_abi fn($($opt_ty),*) $(-> $opt_ret)?>(concat!(stringify!($opt), "\0")) }
                        .map(|symbol| *symbol)
                        .ok();
                )*
                // The pattern matches exactly when no symbol is missing, since each `Err` pushed its name.
                if let ($(Ok($name),)* $(Ok($by_form),)*) = ($($name,)* $($by_form,)*) {
                    return Ok(Self { $($name,)* $($by_form,)* $($opt,)* form, path });
                }
                Err($crate::LoadError::MissingSymbols { path, symbols: missing })
            }
        }
    };
}
use api;

impl Api {
    /// Opens one file and looks up every symbol; the library stays open for the life of the process.
    ///
    /// This does not search for the library, and changes no environment; [`load`](crate::load()) does both.
    ///
    /// # Errors
    ///
    /// - [`LoadError::Open`](crate::LoadError::Open): the file is missing, is not a library for this machine, or
    ///   needs another library that was not found.
    /// - [`LoadError::MissingSymbols`](crate::LoadError::MissingSymbols): it is a library, but lacks symbols of
    ///   [`Api::REQUIRED`]; all of them are listed.
    /// - [`LoadError::DevelopmentVersion`](crate::LoadError::DevelopmentVersion): its form is neither of the known ones.
    ///
    /// # Safety
    ///
    /// 1. Running the initialisation routines of the file and of the libraries it needs is sound.
    /// 2. Its symbols of the names in [`Api::REQUIRED`] and [`Api::OPTIONAL`] have the signatures of the fields, in the form that
    ///    its symbols show.
    /// 3. No other SYCL runtime than the one it needs is loaded in this process.
    pub unsafe fn load_from(path: &std::path::Path) -> Result<Self, crate::LoadError> {
        // SAFETY: the caller's promises 1 and 3 are those of `open`.
        let library = unsafe { crate::dl::open(path) }
            .map_err(|reason| crate::LoadError::Open { path: path.to_owned(), reason })?;
        // SAFETY: the caller's promise 2.
        unsafe { Self::from_library(library, path.to_owned()) }
    }

    /// Which signatures and numbers the library has, where versions of dpctl differ.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The file the functions came from.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Api")
            .field("form", &self.form)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
