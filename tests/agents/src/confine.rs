//! Runs an agent in namespaces: it reaches only loopback, and its leftover processes end with it.

use std::process::{Command, Stdio};

/// The options by which this machine makes namespaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confined {
    options: &'static [&'static str],
}

/// The options for root, and those for a user where users may make namespaces.
const WAYS: &[&[&str]] = &[
    &["--net", "--pid", "--fork", "--kill-child", "--mount-proc"],
    &["--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"],
];

impl Confined {
    /// Finds the options that work here.
    ///
    /// # Errors
    /// A sentence on the reason if none work.
    pub(crate) fn find() -> Result<Self, String> {
        let mut why = String::new();
        for options in WAYS {
            let mut unshare = Command::new("unshare");
            // The same step is needed inside: loopback has to be brought up.
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

/// Brings loopback up, inside the namespaces.
///
/// # Errors
/// A sentence on the reason if this fails.
pub(crate) fn loopback_up() -> Result<(), String> {
    match Command::new("ip").args(["link", "set", "lo", "up"]).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("loopback cannot be brought up: ip ended with {status}")),
        Err(error) => Err(format!("loopback cannot be brought up: ip: {error}")),
    }
}
