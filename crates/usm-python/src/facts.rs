//! Classes most of whose attributes tell one fact.

/// The methods of a class, which PyO3 wants in one block: attributes read from what `|self| …` gives, and others. `__eq__` and the
/// like cannot be among them: PyO3 does not take them from a macro.
macro_rules! class_of_facts {
    (
        $class:ident: |$this:ident| $source:expr;
        facts { $($(#[$doc:meta])* $fact:ident: $ty:ty = |$found:ident| $value:expr;)* }
        methods { $($methods:tt)* }
    ) => {
        #[pymethods]
        impl $class {
            $($(#[$doc])* #[getter] fn $fact(&self) -> $ty {
                let $this = self;
                let $found = &$source;
                $value
            })*
            $($methods)*
        }
    };
}
