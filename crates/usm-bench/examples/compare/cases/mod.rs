//! The table of the Rust cases, for the comparison and for criterion.

mod allocate;
mod calls;
mod copies;
mod elements;
mod index;
mod live;
mod loops;
mod memory;
mod places;
mod scale;
mod stage;
mod views;

use stage::Case;

pub(crate) fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => stage::serve(&compared()),
        ["resident", count] => live::print_resident(count.parse().unwrap()),
        ["--bench", pattern, ..] => {
            let alone =
                [places::cases(), views::cases(), index::cases(), elements::cases()].into_iter().flatten();
            stage::by_criterion(compared().into_iter().chain(alone), pattern);
        }
        _ => println!("arguments: none, to answer requests; or `--bench PATTERN` and options of criterion"),
    }
}

/// The cases that the comparison has, too.
fn compared() -> Vec<Case> {
    [copies::cases(), memory::cases(), calls::cases(), live::cases(), scale::cases(), allocate::cases()]
        .into_iter()
        .flatten()
        .collect()
}
