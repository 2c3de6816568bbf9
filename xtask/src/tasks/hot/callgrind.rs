//! How often each function of a library was called, from a profile of callgrind.
//!
//! Source: the Valgrind manual, "Callgrind Format Specification".

use std::collections::HashMap;

/// How often a function was called, and what it took itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) calls: u64,
    pub(super) instructions: u64,
}

/// Functions of the object whose path ends with `object`, by their names in the profile.
pub(super) fn calls(profile: &str, object: &str) -> HashMap<String, Count> {
    let mut found: HashMap<String, Count> = HashMap::new();
    let (mut objects, mut functions) = (Names::default(), Names::default());
    let (mut here, mut function, mut callee, mut called) =
        (String::new(), String::new(), String::new(), None);
    let mut is_cost_of_call = false;
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            here = objects.full(name);
        } else if let Some(name) = line.strip_prefix("fn=") {
            function = functions.full(name);
            called = None;
        } else if let Some(name) = line.strip_prefix("cob=") {
            called = Some(objects.full(name));
        } else if let Some(name) = line.strip_prefix("cfn=") {
            callee = functions.full(name);
        } else if let Some(numbers) = line.strip_prefix("calls=") {
            // A callee without an object is in that of its caller.
            if called.take().as_ref().unwrap_or(&here).ends_with(object) {
                found.entry(callee.clone()).or_default().calls += number(numbers, 0);
            }
            is_cost_of_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let is_own = !std::mem::take(&mut is_cost_of_call);
            if is_own && here.ends_with(object) {
                found.entry(function.clone()).or_default().instructions += number(line, 1);
            }
        }
    }
    found
}

fn number(line: &str, place: usize) -> u64 {
    line.split(' ').nth(place).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Names are written out once, as `(3) name`, and then are `(3)`.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    fn full(&mut self, text: &str) -> String {
        match text.split_once(' ') {
            Some((number, name)) if number.starts_with('(') => {
                self.0.insert(number.to_owned(), name.to_owned());
                name.to_owned()
            }
            _ => self.0.get(text).cloned().unwrap_or_else(|| text.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
events: Ir
ob=(1) /lib/libpython.so
fn=(1) eval
10 5
cob=(2) /site/usm/_usm.abi3.so
cfn=(2) getter
calls=7 20
11 700

ob=(2)
fn=(2)
20 3
+1 4
cfn=(3) view
calls=7 30
* 70
cob=(1)
cfn=(4) decref
calls=9 40
-1 18

fn=(3)
30 60
cfn=(3)'2
calls=1 30
30 2
";

    #[test]
    fn calls_and_own_instructions_are_those_of_the_object() {
        let found = calls(PROFILE, "_usm.abi3.so");
        assert_eq!(found["getter"], Count { calls: 7, instructions: 7 });
        assert_eq!(found["view"], Count { calls: 7, instructions: 60 });
        assert!(!found.contains_key("eval") && !found.contains_key("decref"));
    }
}
