//! The memory of this process.

const MIB: f64 = 1024.0 * 1024.0;

/// Resident memory.
pub fn resident_mib() -> f64 {
    pages(1) / MIB
}

/// Reserved addresses, with or without memory behind them.
pub fn address_space_gib() -> f64 {
    pages(0) / MIB / 1024.0
}

/// Bytes in a column of <https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html>.
fn pages(column: usize) -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split(' ').nth(column).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as f64
}
