//! Runs an agent in namespaces: it reaches only loopback, and its leftover processes end with it.

use std::process::{Command, Stdio};

/// The options of `unshare` that create namespaces on this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confined {
    options: &'static [&'static str],
}

/// The options for root, and the options for other users, who can create namespaces only on some machines.
const WAYS: &[&[&str]] = &[
    &["--net", "--pid", "--fork", "--kill-child", "--mount-proc"],
    &["--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"],
];

impl Confined {
    /// Finds the options that work here.
    ///
    /// # Errors
    /// If no options work. The error is a sentence with the reason.
    pub(crate) fn find() -> Result<Self, String> {
        let mut why = String::new();
        for options in WAYS {
            let mut unshare = Command::new("unshare");
            // Setting loopback up is tested too, because each case needs it inside the namespaces.
            let tried = unshare.args(*options).args(["ip", "link", "set", "lo", "up"]).stdin(Stdio::null()).output();
            match tried {
                Ok(output) if output.status.success() => return Ok(Self { options }),
                Ok(output) => String::from_utf8_lossy(&output.stderr).trim().clone_into(&mut why),
                Err(error) => why = format!("unshare: {error}"),
            }
        }
        Err(format!("no network namespace can be made here, and without one an agent would reach its vendor ({why})"))
    }

    /// Returns a command that runs this program in namespaces of its own, without the caller's environment.
    pub(crate) fn command(self, program: &std::path::Path) -> Command {
        let mut command = Command::new("unshare");
        command.args(self.options).arg(program).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }
}

/// Sets loopback up. This is called inside the namespaces.
///
/// # Errors
/// If this fails. The error is a sentence with the reason.
pub(crate) fn loopback_up() -> Result<(), String> {
    match Command::new("ip").args(["link", "set", "lo", "up"]).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("loopback cannot be brought up: ip ended with {status}")),
        Err(error) => Err(format!("loopback cannot be brought up: ip: {error}")),
    }
}
