//! Reads how much memory this process uses: <https://man7.org/linux/man-pages/man5/proc_pid_status.5.html>.

/// Resident memory, in MiB.
pub fn resident_mib() -> f64 {
    kib("VmRSS:") / 1024.0
}

/// Reserved address space, in GiB. Not all of it is backed by memory.
pub fn address_space_gib() -> f64 {
    kib("VmSize:") / (1024.0 * 1024.0)
}

/// Returns a field of the kernel's report, in units of 1024 bytes, which the report calls kB.
fn kib(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_end_matches("kB").trim().parse().unwrap()
}
