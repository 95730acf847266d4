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

/// The sockets that a program can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketFilter {
    /// All that the kernel has.
    All,
    /// Those of families that belong to a network namespace, or to no network. Others, such as the sockets between a
    /// virtual machine and its host, lead out of it.
    Usual,
    /// Those that Landlock limits: TCP without its variants, and those that lead to no network.
    Tcp,
    /// Those that lead to no network.
    Local,
}

/// Families of sockets that lead to no other machine. The second one talks to the kernel.
const LOCAL_FAMILIES: [i32; 2] = [libc::AF_UNIX, libc::AF_NETLINK];

const INTERNET_FAMILIES: [i32; 2] = [libc::AF_INET, libc::AF_INET6];

/// Calls that send, with the argument of their flags. One of the flags connects
/// too, past Landlock.
const SENDING_CALLS: [(i64, u8); 3] = [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)];

/// The bits of a socket's type that are its type. The others are flags.
const SOCKET_TYPE_BITS: u64 = 0xf;

/// Refuses the calls with `EPERM`, in this process and all that it starts. A call of another architecture ends the
/// process, because its numbers mean other calls; so 32-bit programs do not run.
pub(crate) fn apply(sockets: SocketFilter) -> Result<(), Failure> {
    let program = build(sockets).map_err(io::Error::other).step(Step::Filter)?;
    apply_filter(&program).map_err(io::Error::other).step(Step::Filter)
}

fn build(sockets: SocketFilter) -> Result<BpfProgram, seccompiler::Error> {
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
    add_sockets(&mut rules, sockets)?;
    #[cfg(target_arch = "x86_64")]
    add_x32(&mut rules);
    let architecture = std::env::consts::ARCH.try_into()?;
    let errno = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, errno, architecture)?.try_into()?)
}

/// Refuses the sockets that a filter excludes.
fn add_sockets(rules: &mut BTreeMap<i64, Vec<SeccompRule>>, sockets: SocketFilter) -> Result<(), seccompiler::Error> {
    let condition = |argument, operator, value: i32| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, u64::from(value.cast_unsigned()))
    };
    let families = match sockets {
        SocketFilter::All => return Ok(()),
        SocketFilter::Local => LOCAL_FAMILIES.to_vec(),
        SocketFilter::Usual | SocketFilter::Tcp => [LOCAL_FAMILIES, INTERNET_FAMILIES].concat(),
    };
    let is_of_other_family = families.iter().map(|family| condition(0, SeccompCmpOp::Ne, *family));
    let mut refused = vec![SeccompRule::new(is_of_other_family.collect::<Result<_, _>>()?)?];
    if sockets == SocketFilter::Tcp {
        for family in INTERNET_FAMILIES {
            for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP] {
                let is_kind = condition(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE_BITS), kind)?;
                refused.push(SeccompRule::new(vec![condition(0, SeccompCmpOp::Eq, family)?, is_kind])?);
            }
            // Landlock does not know the variants of TCP, such as MPTCP, nor other streams.
            let is_other = [0, libc::IPPROTO_TCP].map(|protocol| condition(2, SeccompCmpOp::Ne, protocol));
            let is_family = condition(0, SeccompCmpOp::Eq, family);
            let conditions = [is_family].into_iter().chain(is_other).collect::<Result<_, _>>()?;
            refused.push(SeccompRule::new(conditions)?);
        }
        for (call, flags) in SENDING_CALLS {
            let bit = u64::from(libc::MSG_FASTOPEN.cast_unsigned());
            let connects = condition(flags, SeccompCmpOp::MaskedEq(bit), libc::MSG_FASTOPEN)?;
            rules.insert(call, vec![SeccompRule::new(vec![connects])?]);
        }
    }
    rules.insert(libc::SYS_socket, refused);
    Ok(())
}

/// The process in an argument is not the caller itself.
fn is_other(argument: u8) -> Result<SeccompCondition, seccompiler::Error> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?)
}

/// Adds the same rules for the x32 interface, which has the same architecture and other numbers.
#[cfg(target_arch = "x86_64")]
fn add_x32(rules: &mut BTreeMap<i64, Vec<SeccompRule>>) {
    const X32_BIT: i64 = 0x4000_0000;
    // Calls whose numbers differ there.
    const X32_CALLS: [(i64, i64); 3] = [(libc::SYS_ioctl, 514), (libc::SYS_sendmsg, 518), (libc::SYS_sendmmsg, 538)];
    let same: Vec<_> = rules.iter().map(|(call, rules)| (call | X32_BIT, rules.clone())).collect();
    for (call, x32) in X32_CALLS {
        if let Some(same) = rules.get(&call).cloned() {
            rules.insert(x32 | X32_BIT, same);
        }
    }
    rules.extend(same);
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_filter_is_a_valid_program() {
        use super::SocketFilter::{All, Local, Tcp, Usual};
        for sockets in [All, Usual, Tcp, Local] {
            let program = super::build(sockets).unwrap();
            assert!(program.len() > 20 && program.len() < 4096);
        }
    }
}
