//! System calls that reach other processes or the session around them, whatever the namespaces.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
use std::collections::BTreeMap;
use std::io;

use crate::failure::{AtStep as _, Failure, Step};

/// `ioctl` requests that write into the input of a terminal or a console.
const TERMINAL_INPUT_REQUESTS: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// Calls that the filter refuses whatever their arguments: they share keyrings with the session outside, or do input
/// and output past filters.
const REFUSED_CALLS: [i64; 6] = [
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Calls that change the scheduling of a process, with the argument that names the process. Zero is the caller.
const SCHEDULING_CALLS: [(i64, u8); 6] = [
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// Refuses the calls with `EPERM`, in this process and all that it starts. A call of another architecture ends the
/// process, because its numbers mean other calls; so 32-bit programs do not run.
pub(crate) fn apply() -> Result<(), Failure> {
    let program = build().map_err(io::Error::other).step(Step::Filter)?;
    apply_filter(&program).map_err(io::Error::other).step(Step::Filter)
}

fn build() -> Result<BpfProgram, seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED_CALLS {
        rules.insert(call, Vec::new());
    }
    for (call, argument) in SCHEDULING_CALLS {
        rules.insert(call, vec![SeccompRule::new(vec![is_other(argument)?])?]);
    }
    // Reading the limits of another process is harmless: the third argument, the new limits, is a null pointer then.
    let sets_limits = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![is_other(0)?, sets_limits])?]);
    let requests = TERMINAL_INPUT_REQUESTS.into_iter().map(|request| {
        let is_request = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)?;
        SeccompRule::new(vec![is_request])
    });
    rules.insert(libc::SYS_ioctl, requests.collect::<Result<_, _>>()?);
    #[cfg(target_arch = "x86_64")]
    add_x32(&mut rules);
    let architecture = std::env::consts::ARCH.try_into()?;
    let errno = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, errno, architecture)?.try_into()?)
}

/// The process in an argument is not the caller itself.
fn is_other(argument: u8) -> Result<SeccompCondition, seccompiler::Error> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?)
}

/// Adds the same rules for the x32 interface, which has the same architecture and other numbers.
#[cfg(target_arch = "x86_64")]
fn add_x32(rules: &mut BTreeMap<i64, Vec<SeccompRule>>) {
    const X32_BIT: i64 = 0x4000_0000;
    const X32_IOCTL: i64 = 514;
    let same: Vec<_> = rules.iter().map(|(call, rules)| (call | X32_BIT, rules.clone())).collect();
    if let Some(ioctl) = rules.get(&libc::SYS_ioctl).cloned() {
        rules.insert(X32_IOCTL | X32_BIT, ioctl);
    }
    rules.extend(same);
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_filter_is_a_valid_program() {
        let program = super::build().unwrap();
        assert!(program.len() > 20 && program.len() < 4096);
    }
}
