//! Namespaces: an agent reaches loopback and nothing else, and what it leaves behind ends with it.

use std::process::{Command, Stdio};

/// How this machine makes namespaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confined {
    options: &'static [&'static str],
}

/// As root; and where users may make namespaces, as they.
const WAYS: &[&[&str]] = &[
    &["--net", "--pid", "--fork", "--kill-child", "--mount-proc"],
    &["--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"],
];

impl Confined {
    /// Finds out how.
    ///
    /// # Errors
    /// A sentence on why there are none.
    pub(crate) fn find() -> Result<Self, String> {
        let mut why = String::new();
        for options in WAYS {
            let mut unshare = Command::new("unshare");
            // What is needed inside, too: loopback has to be brought up.
            let tried = unshare.args(*options).args(["ip", "link", "set", "lo", "up"]).stdin(Stdio::null()).output();
            match tried {
                Ok(output) if output.status.success() => return Ok(Self { options }),
                Ok(output) => String::from_utf8_lossy(&output.stderr).trim().clone_into(&mut why),
                Err(error) => why = format!("unshare: {error}"),
            }
        }
        Err(format!("no network namespace can be made here, and without one an agent would reach its vendor ({why})"))
    }

    /// A command that runs this program in namespaces of its own, without the caller's environment.
    pub(crate) fn command(self, program: &std::path::Path) -> Command {
        let mut command = Command::new("unshare");
        command.args(self.options).arg(program).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }
}

/// Brings loopback up, inside.
///
/// # Errors
/// A sentence where it cannot.
pub(crate) fn loopback_up() -> Result<(), String> {
    match Command::new("ip").args(["link", "set", "lo", "up"]).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("loopback cannot be brought up: ip ended with {status}")),
        Err(error) => Err(format!("loopback cannot be brought up: ip: {error}")),
    }
}
