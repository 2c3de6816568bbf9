//! Kernels that users bring: PTX, whose parameters are read for drivers that do not report them, and SPIR-V.

use arbitrary::{Result, Unstructured};
use usm_core::testing::parsers::{check_spirv, ptx_parameters};

use crate::texts::text;

/// Types of elements in PTX, with their sizes.
const TYPES: [(&str, usize); 8] =
    [(".u8", 1), (".b8", 1), (".s16", 2), (".f16", 2), (".f32", 4), (".u64", 8), (".f64", 8), (".b128", 16)];
/// What may be between two words, with what a careless reader would take for code.
const GAPS: [&str; 6] =
    [" ", "\n\t", " /* , ) { .entry k0( */ ", " // ], .param .u8 x)\n", "/**/ ", " /* // */\r\n"];
const NAMES: [&str; 4] = ["k", "k0", "k_1", "$entry"];

/// Kernels in a text with comments have the parameters that were written. Other texts do no harm.
pub fn ptx(bytes: &mut Unstructured<'_>) -> Result<()> {
    if bytes.ratio(1, 2)? {
        let name = *bytes.choose(&NAMES)?;
        let _ = ptx_parameters(text(bytes)?, name);
        return Ok(());
    }
    let mut code = ".version 6.3".to_owned();
    let num_kernels = bytes.int_in_range(1..=NAMES.len())?;
    let mut all = Vec::new();
    for name in &NAMES[..num_kernels] {
        let gap = |bytes: &mut Unstructured<'_>, code: &mut String| {
            bytes.choose(&GAPS).map(|gap| code.push_str(gap))
        };
        gap(bytes, &mut code)?;
        code.push_str(".visible .entry");
        gap(bytes, &mut code)?;
        code.push_str(name);
        let mut expected = Vec::new();
        let num_parameters = bytes.int_in_range(0..=5)?;
        if num_parameters > 0 || bytes.arbitrary()? {
            code.push('(');
            for number in 0..num_parameters {
                code.push_str(if number > 0 { ",.param" } else { ".param" });
                gap(bytes, &mut code)?;
                let (element, len_bytes) = *bytes.choose(&TYPES)?;
                let count: Option<u16> = bytes.arbitrary()?;
                code.push_str(element);
                gap(bytes, &mut code)?;
                code.push_str(&format!("{name}_{number}"));
                gap(bytes, &mut code)?;
                if let Some(count) = count {
                    code.push_str(&format!("[{count}]"));
                }
                expected.push(len_bytes * count.map_or(1, usize::from));
            }
            code.push(')');
        }
        gap(bytes, &mut code)?;
        code.push_str("{ call (%r1), f, (%r2); { ret; } }");
        all.push((name, expected));
    }
    for (name, expected) in all {
        assert_eq!(ptx_parameters(&code, name), Some(expected), "{code}");
    }
    Ok(())
}

/// A module that passes is a header and whole instructions, none of them within a function that does not end.
pub fn modules(bytes: &mut Unstructured<'_>) -> Result<()> {
    let mut module = Vec::new();
    if bytes.ratio(7, 8)? {
        module.extend([0x0723_0203, 0x1_0000, 0, 9, 0_u32].into_iter().flat_map(u32::to_ne_bytes));
    }
    module.extend(bytes.bytes(bytes.len())?);
    if let Err(error) = check_spirv(&module) {
        assert!(!error.to_string().is_empty());
        return Ok(());
    }
    let words: Vec<u32> = module.chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
    assert!(words[0] == 0x0723_0203 && words.len() >= 5);
    let (mut next, mut ends) = (5, true);
    while next < words.len() {
        ends = match words[next] as u16 {
            54 => false,
            56 => true,
            _ => ends,
        };
        next += (words[next] >> 16) as usize;
    }
    assert!(next == words.len() && ends);
    Ok(())
}
