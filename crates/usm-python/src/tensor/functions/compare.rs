//! Comparisons of elements.

use pyo3::prelude::*;

use super::elementwise::binary_functions;

binary_functions! {
    /// Where the elements of `x1` equal those of `x2`. Numbers are compared by value, whatever their dtypes.
    equal, equal: "", "a, 1" => "[False, True, False]";
    /// Where the elements of `x1` do not equal those of `x2`. Numbers are compared by value, whatever their dtypes.
    not_equal, not_equal: "", "a, 1" => "[True, False, True]";
    /// Where the elements of `x1` are less than those of `x2`. Numbers are compared by value, whatever their dtypes.
    less, greater: " and for complex numbers", "a, 1" => "[True, False, False]";
    /// Where the elements of `x1` are at most those of `x2`. Numbers are compared by value, whatever their dtypes.
    less_equal, greater_equal: " and for complex numbers", "a, 1" => "[True, True, False]";
    /// Where the elements of `x1` are greater than those of `x2`. Numbers are compared by value, whatever their dtypes.
    greater, less: " and for complex numbers", "1, a" => "[True, False, False]";
    /// Where the elements of `x1` are at least those of `x2`. Numbers are compared by value, whatever their dtypes.
    greater_equal, less_equal: " and for complex numbers", "a, 1" => "[False, True, True]";
}
