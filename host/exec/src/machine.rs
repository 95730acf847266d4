//! What belongs to the whole machine, and is out of reach whatever the plan says.

/// Parts of `/proc` that change the whole machine if root writes them. The kernel compares the identity there, and
/// not the capabilities.
pub(crate) const MACHINE_WIDE: [&str; 6] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/scsi"];

/// The devices inside, if they exist. No disks, memory, terminals of others or input devices.
pub(crate) const DEVICES: [&str; 12] =
    ["null", "zero", "full", "random", "urandom", "tty", "fuse", "kvm", "dri", "net", "shm", "log"];

/// Returns true for the name of a device of a graphics processor, of which there may be any number.
pub(crate) fn is_graphics_processor(name: &str) -> bool {
    name.starts_with("nvidia")
}
