//! Parsing of filter selectors. Errors name the wrong part and its position.

use std::str::FromStr;

use super::{BACKENDS, Filter, FilterSelector, TYPES};
use crate::Error;

impl FromStr for FilterSelector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut position = 0;
        let mut filters = Vec::new();
        for filter in text.split(',') {
            filters.push(parse(text, position, filter)?);
            position += filter.len() + 1;
        }
        Ok(Self { filters })
    }
}

/// One alternative, without a comma.
impl FromStr for Filter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text, 0, text)
    }
}

/// The parts of a filter before the next one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Start,
    AfterBackend,
    AfterType,
    AfterNumber,
}

impl Part {
    /// The reason in the error about a part that is not allowed here.
    fn reason(self) -> String {
        let (backends, types) = (BACKENDS.join(", "), TYPES.map(|(name, _)| name).join(", "));
        match self {
            Self::Start => {
                format!("is neither a backend ({backends}), nor a device type ({types}), nor a number")
            }
            Self::AfterBackend => {
                format!("follows a backend, where a device type ({types}) or a number is allowed")
            }
            Self::AfterType => "follows a device type, where a number is allowed".to_owned(),
            Self::AfterNumber => {
                "follows a number, where only a comma and another filter are allowed".to_owned()
            }
        }
    }
}

/// Parses `filter`, which starts at `position` in `text`.
fn parse(text: &str, mut position: usize, filter: &str) -> Result<Filter, Error> {
    let mut parsed = Filter { backend: None, device_type: None, number: None };
    let mut part_before = Part::Start;
    for part in filter.split(':') {
        let wrong =
            |reason| Error::InvalidFilter { found: text.to_owned(), part: part.to_owned(), position, reason };
        let backend = BACKENDS.into_iter().find(|name| *name == part);
        let device_type = TYPES.into_iter().find(|(name, _)| *name == part).map(|(_, ty)| ty);
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if backend.is_some() && part_before == Part::Start {
            parsed.backend = backend;
            part_before = Part::AfterBackend;
        } else if device_type.is_some() && part_before <= Part::AfterBackend {
            parsed.device_type = device_type;
            part_before = Part::AfterType;
        } else if part == "host" && part_before == Part::AfterBackend && parsed.backend == Some("host") {
            // The extension lists `host` as a device type, too. The one device of this backend has it.
            part_before = Part::AfterType;
        } else if is_number && part_before <= Part::AfterType {
            let number = part.parse().map_err(|_| wrong(format!("is larger than {}", usize::MAX)))?;
            parsed.number = Some(number);
            part_before = Part::AfterNumber;
        } else {
            let lower = part.to_ascii_lowercase();
            let known = BACKENDS.iter().chain(TYPES.iter().map(|(name, _)| name)).any(|name| **name == lower);
            let case = if known && lower != part { "; names are in lower case" } else { "" };
            return Err(wrong(part_before.reason() + case));
        }
        position += part.len() + 1;
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BACKENDS, TYPES};
    use crate::{Error, Filter, FilterSelector};

    #[test]
    fn selectors_parse_and_display_alike() {
        for text in [
            "opencl:cpu:0",
            "level_zero:gpu",
            "gpu:3",
            "host",
            "7",
            "hip:2",
            "cuda:gpu,opencl:cpu",
            "0,1,cpu",
        ] {
            assert_eq!(text.parse::<FilterSelector>().unwrap().to_string(), text);
        }
        assert_eq!("host:host:1".parse::<FilterSelector>().unwrap().to_string(), "host:1");
    }

    #[test]
    fn errors_name_the_part_its_place_and_what_is_allowed() {
        for (text, part, at, allowed) in [
            ("", "", 0, "neither a backend (host, opencl, level_zero, cuda, hip)"),
            ("opencl:", "", 7, "follows a backend, where a device type (cpu, gpu, accelerator, custom)"),
            ("cpu:opencl", "opencl", 4, "follows a device type, where a number is allowed"),
            ("gpu,opencl:tpu:0", "tpu", 11, "where a device type"),
            ("opencl:cpu:-1", "-1", 11, "where a number is allowed"),
            ("opencl:cpu:0:0", "0", 13, "follows a number"),
            ("opencl:host", "host", 7, "where a device type"),
            ("gpu,", "", 4, "neither a backend"),
            (" gpu", " gpu", 0, "neither a backend"),
            ("GPU", "GPU", 0, "names are in lower case"),
            ("opencl:*", "*", 7, "where a device type"),
            (
                "cpu:99999999999999999999999",
                "99999999999999999999999",
                4,
                "is larger than 18446744073709551615",
            ),
            ("Größe:0", "Größe", 0, "neither a backend"),
        ] {
            let error = text.parse::<FilterSelector>().unwrap_err();
            let message = error.to_string();
            let Error::InvalidFilter { found, part: wrong, position, .. } = error else { unreachable!() };
            assert_eq!((found.as_str(), wrong.as_str(), position), (text, part, at), "{message}");
            assert!(text[position..].starts_with(part) && message.contains(allowed), "{message}");
        }
    }

    fn filters() -> impl Strategy<Value = Filter> {
        let backend = proptest::option::of(proptest::sample::select(&BACKENDS));
        let device_type = proptest::option::of(proptest::sample::select(&TYPES));
        let parts = (backend, device_type, proptest::option::of(any::<usize>()));
        parts.prop_filter_map("a filter has a part", |(backend, device_type, number)| {
            let filter = Filter { backend, device_type: device_type.map(|(_, ty)| ty), number };
            (filter != Filter { backend: None, device_type: None, number: None }).then_some(filter)
        })
    }

    proptest! {
        #[test]
        fn what_is_displayed_parses_to_the_same(filters in proptest::collection::vec(filters(), 1..5)) {
            let selector = FilterSelector { filters };
            prop_assert_eq!(selector.to_string().parse::<FilterSelector>().unwrap(), selector);
        }

        #[test]
        fn junk_is_an_error_with_a_place_in_it(text in "([a-z_:,0-9]|host|opencl|gpu|:|,|\\PC){0,12}") {
            match text.parse::<FilterSelector>() {
                Ok(selector) => prop_assert_eq!(selector.to_string().parse::<FilterSelector>().unwrap(), selector),
                Err(Error::InvalidFilter { part, position, .. }) => {
                    prop_assert!(text[position..].starts_with(&part));
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }
}
