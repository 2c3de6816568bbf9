//! Moves bytes from each kind of memory to each other on the default device.

use usm_memory::UsmBuffer;
use usm_memory::usm_core::{Runtime, UsmKind};

fn main() -> usm_memory::Result<()> {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(&runtime.default_device()?)?;
    for from in UsmKind::ALL {
        let source = UsmBuffer::allocate(&queue, from, 5)?;
        source.copy_from_host(b"hello", 0)?;
        for to in UsmKind::ALL {
            let target = UsmBuffer::allocate(&queue, to, 5)?;
            target.copy_from(&source)?;
            println!("{from:6} to {to:6}: {}", String::from_utf8_lossy(&target.to_vec()?));
        }
    }
    Ok(())
}
