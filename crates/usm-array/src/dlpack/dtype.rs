//! Dtypes as DLPack writes them

use crate::abi::{DLDataType, DLDataTypeCode};
use crate::dtype::Dtype;
use crate::error::DlpackError;

impl From<Dtype> for DLDataType {
    fn from(dtype: Dtype) -> Self {
        let code = match dtype {
            Dtype::Bool => DLDataTypeCode::BOOL,
            Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => DLDataTypeCode::INT,
            Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => DLDataTypeCode::UINT,
            Dtype::F16 | Dtype::F32 | Dtype::F64 => DLDataTypeCode::FLOAT,
            Dtype::C64 | Dtype::C128 => DLDataTypeCode::COMPLEX,
            Dtype::BF16 => DLDataTypeCode::BFLOAT,
            Dtype::F8E4M3Fn => DLDataTypeCode::FLOAT8_E4M3FN,
            Dtype::F8E4M3Fnuz => DLDataTypeCode::FLOAT8_E4M3FNUZ,
            Dtype::F8E5M2 => DLDataTypeCode::FLOAT8_E5M2,
            Dtype::F8E5M2Fnuz => DLDataTypeCode::FLOAT8_E5M2FNUZ,
        };
        // At most 128.
        Self { code, bits: (8 * dtype.itemsize_bytes()) as u8, lanes: 1 }
    }
}

impl TryFrom<DLDataType> for Dtype {
    type Error = DlpackError;

    /// # Errors
    /// [`DlpackError::Lanes`], [`DlpackError::Code`], [`DlpackError::Bits`], in this order
    fn try_from(found: DLDataType) -> Result<Self, DlpackError> {
        if found.lanes != 1 {
            return Err(DlpackError::Lanes { found: found.lanes });
        }
        let of_code = || Self::ALL.into_iter().filter(|&dtype| DLDataType::from(dtype).code == found.code);
        if let Some(dtype) = of_code().find(|&dtype| DLDataType::from(dtype).bits == found.bits) {
            return Ok(dtype);
        }
        let allowed: Vec<u8> = of_code().map(|dtype| DLDataType::from(dtype).bits).collect();
        Err(match allowed.is_empty() {
            true => DlpackError::Code { found: found.code },
            false => DlpackError::Bits { code: found.code, found: found.bits, allowed },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_our_dtypes_are_taken() {
        let mut taken = 0;
        for code in 0..=u8::MAX {
            for bits in 0..=u8::MAX {
                let found = DLDataType { code: DLDataTypeCode(code), bits, lanes: 1 };
                if let Ok(dtype) = Dtype::try_from(found) {
                    assert_eq!(DLDataType::from(dtype), found);
                    taken += 1;
                }
                for lanes in [0, 2, 4, u16::MAX] {
                    let refused = Dtype::try_from(DLDataType { lanes, ..found });
                    assert_eq!(refused, Err(DlpackError::Lanes { found: lanes }));
                }
            }
        }
        assert_eq!(taken, Dtype::ALL.len());
    }

    #[test]
    fn what_is_refused_is_named() {
        let message = |code, bits| {
            let found = DLDataType { code: DLDataTypeCode(code), bits, lanes: 1 };
            Dtype::try_from(found).unwrap_err().to_string()
        };
        assert!(message(4, 32).contains("found 32 bits of kDLBfloat (4), allowed are [16]"));
        assert!(message(14, 8).contains("kDLFloat8_e8m0fnu (14)"));
        assert!(message(3, 64).contains("kDLOpaqueHandle (3)"));
        assert!(message(7, 8).contains("kDLFloat8_e3m4 (7)"));
        assert!(message(17, 4).contains("kDLFloat4_e2m1fn (17)"));
        assert!(message(200, 8).contains("an unknown code (200)"));
        assert!(message(2, 128).contains("found 128 bits of kDLFloat (2), allowed are [16, 32, 64]"));
        assert!(message(6, 1).contains("allowed are [8]"));
    }
}
