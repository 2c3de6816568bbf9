//! The Rust side of the comparison of `cargo xtask bench`.

mod allocate;
mod calls;
mod copies;
mod live;
mod loops;
mod memory;
mod scale;
mod stage;

use stage::Stage;

pub(crate) fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => stage::serve(all),
        ["table", pattern] => all(&Stage::table(pattern)),
        ["resident", count] => live::print_resident(count.parse().unwrap()),
        _ => println!("arguments: none, to answer requests; or `table PATTERN`, to print times of the cases"),
    }
}

fn all(stage: &Stage) {
    copies::all(stage);
    memory::all(stage);
    calls::all(stage);
    live::all(stage);
    scale::all(stage);
    allocate::all(stage);
}
