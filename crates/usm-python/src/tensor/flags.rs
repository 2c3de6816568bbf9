//! `usm_ndarray.flags`.

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};
use pyo3::{PyTraverseError, PyVisit};

use crate::objects::UsmNdarray;

/// How the elements of an array lie, and whether they can be changed; also by item, with NumPy's names and their short forms.
///
/// `writable` can be set to False, once and for all; views and memory objects that exist already stay as they are.
///
/// >>> import usm.tensor as ut
/// >>> flags = ut.zeros((2, 3)).flags
/// >>> flags.c_contiguous, flags.f_contiguous, flags["FORC"], flags["W"]
/// (True, False, True, True)
/// >>> flags.writable = False
/// >>> flags.writable
/// False
#[pyclass(frozen, module = "usm.tensor")]
#[derive(Debug)]
pub struct Flags {
    array: Py<UsmNdarray>,
}

impl Flags {
    pub(super) fn of(array: &Bound<'_, UsmNdarray>) -> Self {
        Self { array: array.clone().unbind() }
    }

    fn set(&self, value: &Bound<'_, PyBool>) -> PyResult<()> {
        match (value.is_true(), self.writable()) {
            (false, _) => {
                self.array.get().make_read_only();
                Ok(())
            }
            (true, true) => Ok(()),
            (true, false) => {
                Err(PyValueError::new_err("writable: found True, allowed for read-only memory is False"))
            }
        }
    }
}

#[pymethods]
impl Flags {
    /// True when the elements follow each other in row-major order.
    #[getter]
    fn c_contiguous(&self) -> bool {
        self.array.get().array().is_c_contiguous()
    }

    /// True when the elements follow each other in row-major order.
    #[getter]
    fn contiguous(&self) -> bool {
        self.c_contiguous()
    }

    /// True when the elements follow each other in column-major order.
    #[getter]
    fn f_contiguous(&self) -> bool {
        self.array.get().array().is_f_contiguous()
    }

    /// True when the elements follow each other in row-major and in column-major order.
    #[getter]
    fn fc(&self) -> bool {
        self.c_contiguous() && self.f_contiguous()
    }

    /// True when the elements follow each other in row-major or in column-major order.
    #[getter]
    fn forc(&self) -> bool {
        self.array.get().array().is_contiguous()
    }

    /// True when the elements follow each other in column-major, but not in row-major order.
    #[getter]
    fn fnc(&self) -> bool {
        self.array.get().array().is_f_contiguous_only()
    }

    /// True when the elements can be changed through the array.
    #[getter]
    fn writable(&self) -> bool {
        self.array.get().array().is_writable()
    }

    #[setter]
    fn set_writable(&self, value: &Bound<'_, PyBool>) -> PyResult<()> {
        self.set(value)
    }

    /// All of them as a number: 1 for C-contiguous, 2 for F-contiguous, 4 for writable.
    #[getter]
    fn flags(&self) -> u8 {
        u8::from(self.c_contiguous()) | u8::from(self.f_contiguous()) << 1 | u8::from(self.writable()) << 2
    }

    fn __getitem__(&self, name: &str) -> PyResult<bool> {
        Ok(match name {
            "C_CONTIGUOUS" | "C" | "CONTIGUOUS" => self.c_contiguous(),
            "F_CONTIGUOUS" | "F" => self.f_contiguous(),
            "WRITABLE" | "W" => self.writable(),
            "FC" => self.fc(),
            "FNC" => self.fnc(),
            "FORC" => self.forc(),
            _ => {
                return Err(PyKeyError::new_err(format!(
                    "found {name:?}, allowed are C_CONTIGUOUS, F_CONTIGUOUS, WRITABLE, FC, FNC, FORC, C, F and W"
                )));
            }
        })
    }

    fn __setitem__(&self, name: &str, value: &Bound<'_, PyBool>) -> PyResult<()> {
        if let "WRITABLE" | "W" = name {
            return self.set(value);
        }
        self.__getitem__(name)?;
        Err(type_error!("{name}: follows from the strides, allowed to be set is WRITABLE"))
    }

    /// Flags are equal when all of them are; also to their number.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Self>() {
            Ok(other) => Ok(self.flags() == other.get().flags()),
            Err(_) => Ok(other.is_instance_of::<PyInt>() && other.eq(self.flags())?),
        }
    }

    fn __repr__(&self) -> String {
        let word = |flag| if flag { "True" } else { "False" };
        let (c, f, w) = (word(self.c_contiguous()), word(self.f_contiguous()), word(self.writable()));
        format!("  C_CONTIGUOUS : {c}\n  F_CONTIGUOUS : {f}\n  WRITABLE : {w}")
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.array)
    }
}
