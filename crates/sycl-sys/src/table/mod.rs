//! The function table: one field per symbol, filled from one opened library.

mod symbols;

pub use symbols::Api;

/// Writes the struct, the lists of names and the loader from one list of symbols, so that they cannot disagree.
macro_rules! api {
    (
        required { $($(#[$doc:meta])* $name:ident: $abi:literal fn($($arg:ident: $ty:ty),*) $(-> $ret:ty)?;)* }
        optional { $($(#[$opt_doc:meta])* $opt:ident: $opt_abi:literal fn($($opt_arg:ident: $opt_ty:ty),*) $(-> $opt_ret:ty)?;)* }
    ) => {
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
            $($(#[$opt_doc])* pub $opt: Option<unsafe extern $opt_abi fn($($opt_arg: $opt_ty),*) $(-> $opt_ret)?>,)*
            /// The file the functions came from.
            pub(super) path: std::path::PathBuf,
        }

        impl Api {
            /// The symbols a library must have.
            pub const REQUIRED: &'static [&'static str] = &[$(stringify!($name)),*];
            /// The symbols a library may have; each is an `Option` field.
            pub const OPTIONAL: &'static [&'static str] = &[$(stringify!($opt)),*];

            /// Looks up every symbol in an opened library.
            ///
            /// # Safety
            ///
            /// 1. Every symbol of [`Api::REQUIRED`] and [`Api::OPTIONAL`] that `library` has is a function of the
            ///    signature written in the list.
            pub(crate) unsafe fn from_library(
                library: $crate::dl::Kept,
                path: std::path::PathBuf,
            ) -> Result<Self, $crate::LoadError> {
                let mut missing = Vec::new();
                $(
                    // SAFETY: condition 1 of this function: the symbol has the type of the field.
                    let $name = unsafe { library.get::<unsafe extern $abi fn($($ty),*) $(-> $ret)?>(concat!(stringify!($name), "\0")) }
                        .map(|symbol| *symbol)
                        .map_err(|_| missing.push(stringify!($name)));
                )*
                $(
                    // SAFETY: condition 1 of this function: the symbol has the type of the field.
                    let $opt = unsafe { library.get::<unsafe extern $opt_abi fn($($opt_ty),*) $(-> $opt_ret)?>(concat!(stringify!($opt), "\0")) }
                        .map(|symbol| *symbol)
                        .ok();
                )*
                // The pattern matches exactly when no symbol is missing, since each `Err` pushed its name.
                if let ($(Ok($name),)*) = ($($name,)*) {
                    return Ok(Self { $($name,)* $($opt,)* path });
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
    ///
    /// # Safety
    ///
    /// 1. Running the initialisation routines of the file and of the libraries it needs is sound.
    /// 2. Its symbols of the names in [`Api::REQUIRED`] and [`Api::OPTIONAL`] have the signatures of the fields.
    /// 3. No other SYCL runtime than the one it needs is loaded in this process.
    pub unsafe fn load_from(path: &std::path::Path) -> Result<Self, crate::LoadError> {
        // SAFETY: conditions 1 and 3 of this function are the conditions of `open`.
        let library = unsafe { crate::dl::open(path) }
            .map_err(|reason| crate::LoadError::Open { path: path.to_owned(), reason })?;
        // SAFETY: condition 2 of this function.
        unsafe { Self::from_library(library, path.to_owned()) }
    }

    /// The file the functions came from.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Api").field("path", &self.path).finish_non_exhaustive()
    }
}
