//! The linker script: functions in the order of how often they are called.

use std::collections::HashMap;

use super::callgrind::Count;

const HEAD: &str = "\
/* The functions that small calls go through, next to each other, those first that most calls have in common. Written by
   `cargo xtask hot`; build.rs hands it to the linker. Names end where the hash of their crate begins. A name that no function has
   any more does nothing; a function that is not named is where the linker puts it. */
";

/// The functions, by name, that are called in one case or more each time, where a case has so many calls.
pub(super) fn chosen(functions: HashMap<String, Count>, count: u64) -> Vec<String> {
    let mut merged: HashMap<String, Count> = HashMap::new();
    for (name, found) in functions {
        let merged = merged.entry(stem(&name).to_owned()).or_default();
        merged.calls += found.calls;
        merged.instructions += found.instructions;
    }
    let mut chosen: Vec<(String, Count)> =
        merged.into_iter().filter(|(_, found)| found.calls >= count * 9 / 10).collect();
    // The shorter ones first, among those that are called together.
    chosen.sort_by(|(a, x), (b, y)| {
        y.calls.cmp(&x.calls).then(x.instructions.cmp(&y.instructions)).then(a.cmp(b))
    });
    chosen.into_iter().map(|(name, _)| name).collect()
}

/// A mangled name without the hash of its crate, which is another one in each build, and without what the compiler and the profiler
/// append.
fn stem(name: &str) -> &str {
    let is_hash = |at: usize| name[at + 3..].bytes().take(16).filter(u8::is_ascii_hexdigit).count() == 16;
    match name.match_indices("17h").map(|(at, _)| at).find(|&at| is_hash(at)) {
        Some(at) => &name[..at],
        None => name.split('\'').next().unwrap_or(name),
    }
}

/// How the script names the section of a function.
pub(super) fn pattern(name: &str) -> String {
    format!("*(.text.{name}*)")
}

pub(super) fn text(names: &[String]) -> String {
    let lines: String = names.iter().map(|name| format!("    {}\n", pattern(name))).collect();
    format!("{HEAD}SECTIONS\n{{\n  .text.usm_hot :\n  {{\n{lines}  }}\n}}\nINSERT BEFORE .text;\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, calls: u64, instructions: u64) -> (String, Count) {
        (name.to_owned(), Count { calls, instructions })
    }

    #[test]
    fn what_most_calls_have_in_common_comes_first() {
        let functions = HashMap::from([
            function("_ZN3usm4view17h0123456789abcdefE", 600, 9_000),
            function("_ZN3usm4view17h00000000000000aaE.llvm.77'2", 500, 9_000),
            function("_ZN3usm4long17h0123456789abcdefE", 3_000, 90_000),
            function("_ZN3usm5short17h0123456789abcdefE", 3_000, 9_000),
            function("_ZN3usm4once17h0123456789abcdefE", 1, 9),
            function("PyInit_usm", 1, 90_000_000),
        ]);
        let chosen = chosen(functions, 1_000);
        assert_eq!(chosen, ["_ZN3usm5short", "_ZN3usm4long", "_ZN3usm4view"]);
        let text = text(&chosen);
        assert!(text.contains("    *(.text._ZN3usm5short*)\n    *(.text._ZN3usm4long*)\n"));
        assert!(text.ends_with("  }\n}\nINSERT BEFORE .text;\n"));
    }
}
