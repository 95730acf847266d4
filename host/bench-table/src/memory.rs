//! What this process has in memory.

const MIB: f64 = 1024.0 * 1024.0;

/// Resident memory: <https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html>.
pub fn resident_mib() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as f64 / MIB
}
