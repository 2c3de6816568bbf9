//! extract and place: the elements for which a condition holds

use super::mask::Masked;
use super::nonzero::true_places;
use super::{Plan, Values};
use crate::array::{ArrayOrScalar, UsmArray};
use crate::error::{IndexError, Result};

impl UsmArray {
    /// The elements for which a condition of as many elements is not zero, both taken in row-major order: an array of one axis on
    /// the same queue, in memory of the kind that [follows](crate::coerced_kind) from both.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[1_i32, 2, 3, 4])?;
    /// let condition = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[0_u8, 1, 1, 0])?;
    /// assert_eq!(array.extract(&condition)?.to_vec::<i32>()?, [2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Index`](crate::Error::Index): another number of elements
    /// - the errors of [`get_index`](Self::get_index) that are about memory
    pub fn extract(&self, condition: &Self) -> Result<Self> {
        self.extracted(condition)?.in_kind(self.kind_with([condition.into()]))
    }

    /// As `extract`, in memory of the same kind.
    fn extracted(&self, condition: &Self) -> Result<Self> {
        self.check_condition(condition)?;
        if let Some(masked) = Masked::new(self, condition)?
            && let Some(result) = masked.gather()?
        {
            return Ok(result);
        }
        if let Some(plan) = self.device_mask_plan(condition)?
            && let Some(result) = plan.gather()?
        {
            return Ok(result);
        }
        self.condition_plan(condition)?.gather(self)
    }

    /// Changes the elements for which a condition of as many elements is not zero. Values are taken in row-major order and repeated
    /// as often as needed, so that the first value goes to the first such element.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[4], &[1_i32, 2, 3, 4])?;
    /// let condition = UsmArray::from_slice(&queue, UsmKind::Shared, &[4], &[0_u8, 1, 1, 1])?;
    /// let values = UsmArray::from_slice(&queue, UsmKind::Shared, &[2], &[8_i32, 9])?;
    /// array.place(&condition, &values)?;
    /// assert_eq!(array.to_vec::<i32>()?, [1, 8, 9, 8]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::ReadOnly`](crate::Error::ReadOnly): the array is read-only
    /// - [`Error::Index`](crate::Error::Index): another number of elements, or no value where one is needed
    /// - the errors of [`set_index`](Self::set_index) that are about values and memory
    pub fn place<'a>(&self, condition: &Self, values: impl Into<ArrayOrScalar<'a>>) -> Result<()> {
        self.check_writable()?;
        self.check_condition(condition)?;
        let values = values.into();
        if let Some(plan) = self.device_mask_plan(condition)?
            && plan.scatter_repeated(values)?.is_some()
        {
            return Ok(());
        }
        let plan = self.condition_plan(condition)?;
        let picked = plan.picked.len();
        match Values::repeated(self, values, picked)? {
            Some(values) => plan.scatter(self, &values),
            None if picked == 0 => Ok(()),
            None => Err(IndexError::NoValues { picked }.into()),
        }
    }

    fn check_condition(&self, condition: &Self) -> Result<()> {
        if condition.size() == self.size() {
            return Ok(());
        }
        Err(IndexError::ConditionSize { found: condition.size(), size: self.size() }.into())
    }

    fn condition_plan(&self, condition: &Self) -> Result<Plan> {
        let layout = self.layout_from_lowest()?;
        let contiguous = layout.is_c_contiguous();
        let places = true_places(condition)?;
        let displacement =
            |place: usize| if contiguous { place.cast_signed() } else { layout.offset_of_number(place) };
        let count = places.len();
        // In place: both are numbers of one word.
        Ok(Plan::of_places(&[count], places.into_iter().map(displacement).collect())?)
    }
}
