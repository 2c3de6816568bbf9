//! A device as a table

use usm_core::{ByteCount, Device, UsmKind};

use super::{Escaped, facts, fragment};

/// Name, backend, memory and kinds of USM of a device as a table, as a fragment of HTML for notebooks.
///
/// ```
/// use usm_memory::device_html;
/// use usm_memory::usm_core::Runtime;
///
/// let html = device_html(Runtime::global().host_device());
/// assert!(html.contains("host:cpu:0") && html.contains("host, device, shared"));
/// ```
#[must_use]
pub fn device_html(device: &Device) -> String {
    let info = device.info();
    let has = |kind: &UsmKind| info.supports(*kind);
    let kinds: Vec<&str> = UsmKind::ALL.iter().filter(|kind| has(kind)).map(|kind| kind.as_str()).collect();
    let rows = [
        ("name", Escaped(&info.name).to_string()),
        ("vendor", Escaped(&info.vendor).to_string()),
        ("driver", Escaped(&info.driver_version).to_string()),
        (
            "memory",
            format!(
                "{}, at most {} in one piece",
                ByteCount(info.global_mem_bytes).rounded(),
                ByteCount(info.max_alloc_bytes).rounded()
            ),
        ),
        ("USM", kinds.join(", ")),
        ("compute units", info.compute_units.to_string()),
    ];
    let caption = format!("device {}", device.filter_string());
    fragment(&caption, "", &facts(&caption, &rows))
}
