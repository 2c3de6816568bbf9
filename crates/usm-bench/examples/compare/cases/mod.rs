//! The Rust side of the comparison of `cargo xtask bench`.

mod allocate;
mod calls;
mod copies;
mod live;
mod loops;
mod memory;
mod scale;
mod stage;

pub(crate) fn main() {
    if let Some(count) = std::env::args().nth(1) {
        return live::print_resident(count.parse().unwrap());
    }
    stage::serve(|stage| {
        copies::all(stage);
        memory::all(stage);
        calls::all(stage);
        live::all(stage);
        scale::all(stage);
        allocate::all(stage);
    });
}
