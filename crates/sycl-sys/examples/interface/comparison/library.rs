//! The functions that a shared library exports: the dynamic symbol table of a 64-bit ELF file in little-endian order.

use std::path::Path;

use super::Interface;

/// What the names of the interface begin with. Names of C++ and of the project's tests do not.
const PREFIX: &str = "DPCTL";
const DYNAMIC_SYMBOLS: u64 = 11;
const SYMBOL_BYTES: usize = 24;

pub(super) fn read(path: &Path) -> Result<Interface, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let names = exported(&bytes).ok_or("is no 64-bit ELF library, and no folder")?;
    let functions = names.into_iter().filter(|name| name.starts_with(PREFIX)).map(|name| (name, None));
    Ok(Interface { functions: functions.collect(), ..Interface::default() })
}

/// The names of the defined dynamic symbols; `None` for another file.
fn exported(bytes: &[u8]) -> Option<Vec<String>> {
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, len: usize| {
        let mut word = [0; 8];
        word[..len].copy_from_slice(bytes.get(at..at.checked_add(len)?)?);
        Some(u64::from_le_bytes(word))
    };
    let place = |at: usize, len: usize| usize::try_from(number(at, len)?).ok();
    // e_shoff, e_shentsize, e_shnum; of a section: sh_type, sh_offset, sh_size, sh_link.
    let (table, entry, count) = (place(40, 8)?, place(58, 2)?, place(60, 2)?);
    let section = |index: usize| table.checked_add(index.checked_mul(entry)?);
    let symbols = (0..count).filter_map(section).find(|&at| number(at + 4, 4) == Some(DYNAMIC_SYMBOLS))?;
    let strings = place(section(place(symbols + 40, 4)?)? + 24, 8)?;
    let (first, len) = (place(symbols + 24, 8)?, place(symbols + 32, 8)?);
    let mut names = Vec::new();
    for symbol in (first..first.checked_add(len)?).step_by(SYMBOL_BYTES) {
        // st_name, st_shndx: 0 is an undefined symbol.
        let (name, is_defined) = (place(symbol, 4)?, number(symbol + 6, 2)? != 0);
        let text = bytes.get(strings.checked_add(name)?..)?.split(|byte| *byte == 0).next()?;
        if is_defined {
            names.push(String::from_utf8_lossy(text).into_owned());
        }
    }
    Some(names)
}
