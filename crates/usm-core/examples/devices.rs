//! The device tree of this machine, and what the doctor has to say about it.

use usm_core::{Result, Runtime};

fn main() -> Result<()> {
    let runtime = Runtime::global();
    println!("{}", runtime.tree()?);
    println!("{}", runtime.doctor());
    Ok(())
}
