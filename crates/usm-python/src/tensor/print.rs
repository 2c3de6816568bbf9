//! Arrays as text, and the print options of the process.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat};
use usm_array::{PrintOptions, UsmArray, Work};

use crate::errors::{OrRaise, wrong_type};
use crate::imported;
use crate::interrupt;
use crate::number::{self, index};
use crate::objects::UsmNdarray;

/// Those that `set_print_options` has set.
static OPTIONS: RwLock<Option<PrintOptions>> = RwLock::new(None);

fn current() -> PrintOptions {
    OPTIONS.read().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
}

/// Changes to print options; `None` changes nothing.
#[derive(Default)]
struct Changes<'a, 'py> {
    /// `linewidth`, `edgeitems`, `threshold` and `precision`.
    numbers: [Option<&'a Bound<'py, PyAny>>; 4],
    floatmode: Option<&'a str>,
    suppress: Option<bool>,
    nanstr: Option<&'a str>,
    infstr: Option<&'a str>,
    sign: Option<&'a str>,
    numpy: bool,
}

impl Changes<'_, '_> {
    /// The current options of the process, or NumPy's, with the changes.
    fn apply(&self, py: Python<'_>) -> PyResult<PrintOptions> {
        let mut options = if self.numpy { of_numpy(py)? } else { current() };
        let numbers = [
            ("linewidth", &mut options.linewidth),
            ("edgeitems", &mut options.edgeitems),
            ("threshold", &mut options.threshold),
            ("precision", &mut options.precision),
        ];
        for ((name, option), change) in numbers.into_iter().zip(self.numbers) {
            if let Some(change) = change {
                *option = index(name, change)?;
            }
        }
        if let Some(word) = self.floatmode {
            options.floatmode = number::of_text("floatmode", word)?;
        }
        if let Some(word) = self.sign {
            options.sign = number::of_text("sign", word)?;
        }
        options.suppress = self.suppress.unwrap_or(options.suppress);
        if let Some(text) = self.nanstr {
            options.nanstr = Cow::Owned(text.to_owned());
        }
        if let Some(text) = self.infstr {
            options.infstr = Cow::Owned(text.to_owned());
        }
        Ok(options)
    }
}

fn of_numpy(py: Python<'_>) -> PyResult<PrintOptions> {
    let theirs = imported::import(py, intern!(py, "numpy"))?.call_method0("get_printoptions")?;
    let number = |name: &str| {
        let found = theirs.get_item(name)?;
        // A threshold may be infinite.
        match found.cast::<PyFloat>() {
            Ok(real) => Ok(real.value() as usize),
            Err(_) => index(name, &found),
        }
    };
    let word = |name: &str| theirs.get_item(name)?.extract::<String>();
    Ok(PrintOptions {
        precision: number("precision")?,
        threshold: number("threshold")?,
        edgeitems: number("edgeitems")?,
        linewidth: number("linewidth")?,
        suppress: theirs.get_item("suppress")?.is_truthy()?,
        sign: number::of_text("sign", &word("sign")?)?,
        nanstr: Cow::Owned(word("nanstr")?),
        infstr: Cow::Owned(word("infstr")?),
        floatmode: number::of_text("floatmode", &word("floatmode")?)?,
    })
}

/// set_print_options(linewidth=None, edgeitems=None, threshold=None, precision=None, floatmode=None, suppress=None, nanstr=None, infstr=None, sign=None, numpy=False)
///
/// Change how arrays are written, with NumPy's names and meanings; None leaves an option as it is. `numpy` True takes NumPy's
/// options first. They hold for the whole process.
///
/// Raises TypeError or ValueError that starts with the name of the option.
///
/// >>> import usm.tensor as ut
/// >>> with ut.print_options():
/// ...     ut.set_print_options(precision=2, suppress=True)
/// ...     print(ut.asarray(memoryview(b"\x00\x00\x80\x3e\x00\x00\x00\x40").cast("f")))
/// [0.25 2.  ]
#[pyfunction]
#[pyo3(signature = (linewidth=None, edgeitems=None, threshold=None, precision=None, floatmode=None, suppress=None, nanstr=None,
    infstr=None, sign=None, numpy=false))]
#[expect(clippy::too_many_arguments, reason = "NumPy's options")]
pub(crate) fn set_print_options(
    py: Python<'_>,
    linewidth: Option<&Bound<'_, PyAny>>,
    edgeitems: Option<&Bound<'_, PyAny>>,
    threshold: Option<&Bound<'_, PyAny>>,
    precision: Option<&Bound<'_, PyAny>>,
    floatmode: Option<&str>,
    suppress: Option<bool>,
    nanstr: Option<&str>,
    infstr: Option<&str>,
    sign: Option<&str>,
    numpy: bool,
) -> PyResult<()> {
    let numbers = [linewidth, edgeitems, threshold, precision];
    let options = Changes { numbers, floatmode, suppress, nanstr, infstr, sign, numpy }.apply(py)?;
    *OPTIONS.write().unwrap_or_else(PoisonError::into_inner) = Some(options);
    Ok(())
}

/// get_print_options()
///
/// How arrays are written, as a new dict of NumPy's options: `linewidth`, `edgeitems`, `threshold`, `precision`, `floatmode`,
/// `suppress`, `nanstr`, `infstr` and `sign`.
///
/// >>> import usm.tensor as ut
/// >>> ut.get_print_options()["precision"]
/// 8
#[pyfunction]
pub(crate) fn get_print_options(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let options = current();
    let dict = PyDict::new(py);
    dict.set_item("linewidth", options.linewidth)?;
    dict.set_item("edgeitems", options.edgeitems)?;
    dict.set_item("threshold", options.threshold)?;
    dict.set_item("precision", options.precision)?;
    dict.set_item("floatmode", options.floatmode.as_str())?;
    dict.set_item("suppress", options.suppress)?;
    dict.set_item("nanstr", options.nanstr)?;
    dict.set_item("infstr", options.infstr)?;
    dict.set_item("sign", options.sign.as_str())?;
    Ok(dict)
}

/// usm_ndarray_str(x, line_width=None, edge_items=None, threshold=None, precision=None, floatmode=None, suppress=None, sign=None, numpy=False, separator=" ", prefix="", suffix="")
///
/// The elements of an array as text, as NumPy's array2string writes them: with the print options, and those given here instead.
/// Lines after the first begin as far to the right as `prefix` is long, and leave columns for `suffix`.
///
/// >>> import usm.tensor as ut
/// >>> ut.usm_ndarray_str(ut.zeros((2, 2), dtype="u1"), separator=", ")
/// '[[0, 0],\n [0, 0]]'
#[pyfunction]
#[pyo3(signature = (x, line_width=None, edge_items=None, threshold=None, precision=None, floatmode=None, suppress=None, sign=None,
    numpy=false, separator=" ", prefix="", suffix=""))]
#[expect(clippy::too_many_arguments, reason = "NumPy's options")]
pub(crate) fn usm_ndarray_str(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    line_width: Option<&Bound<'_, PyAny>>,
    edge_items: Option<&Bound<'_, PyAny>>,
    threshold: Option<&Bound<'_, PyAny>>,
    precision: Option<&Bound<'_, PyAny>>,
    floatmode: Option<&str>,
    suppress: Option<bool>,
    sign: Option<&str>,
    numpy: bool,
    separator: &str,
    prefix: &str,
    suffix: &str,
) -> PyResult<String> {
    let array = array_argument(x)?;
    let numbers = [line_width, edge_items, threshold, precision];
    let options = Changes { numbers, floatmode, suppress, sign, numpy, ..Changes::default() }.apply(py)?;
    let (prefix, suffix) = (prefix.chars().count(), suffix.chars().count());
    let separator = separator.to_owned();
    written(py, array, options, move |array, options| array.array2string(options, &separator, prefix, suffix))
}

/// usm_ndarray_repr(x, line_width=None, precision=None, suppress=None, prefix="usm_ndarray")
///
/// An array as text that names its dtype where the elements do not tell it, as repr does: with the print options, and those given
/// here instead.
///
/// >>> import usm.tensor as ut
/// >>> ut.usm_ndarray_repr(ut.zeros(2, dtype="u1"), prefix="x")
/// 'x([0, 0], dtype=uint8)'
#[pyfunction]
#[pyo3(signature = (x, line_width=None, precision=None, suppress=None, prefix="usm_ndarray"))]
pub(crate) fn usm_ndarray_repr(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    line_width: Option<&Bound<'_, PyAny>>,
    precision: Option<&Bound<'_, PyAny>>,
    suppress: Option<bool>,
    prefix: &str,
) -> PyResult<String> {
    let array = array_argument(x)?;
    let numbers = [line_width, None, None, precision];
    let options = Changes { numbers, suppress, ..Changes::default() }.apply(py)?;
    let prefix = prefix.to_owned();
    written(py, array, options, move |array, options| array.repr(&prefix, options))
}

fn array_argument<'a>(x: &'a Bound<'_, PyAny>) -> PyResult<&'a UsmArray> {
    match x.cast::<UsmNdarray>() {
        Ok(array) => Ok(array.get().array()),
        Err(_) => Err(wrong_type("x", x, "is a usm_ndarray")),
    }
}

/// `str(array)`.
pub(super) fn text(py: Python<'_>, array: &UsmArray) -> PyResult<String> {
    written(py, array, current(), |array, options| array.array2string(options, " ", 0, 0))
}

/// `repr(array)`.
pub(super) fn repr(py: Python<'_>, array: &UsmArray) -> PyResult<String> {
    written(py, array, current(), |array, options| array.repr("usm_ndarray", options))
}

fn written(
    py: Python<'_>,
    array: &UsmArray,
    options: PrintOptions,
    write: impl FnOnce(&UsmArray, &PrintOptions) -> usm_array::Result<String> + Send + 'static,
) -> PyResult<String> {
    let source = array.clone();
    // The text of an element takes as long as a copy of some hundred bytes.
    interrupt::run(py, Work::of_text(array), move || write(&source, &options))?.or_raise()
}
