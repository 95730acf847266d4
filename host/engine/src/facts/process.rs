//! The agent's process, as the kernel describes it.

use super::agent::AgentProcess;
use super::file;
use std::path::Path;

/// This process, as the agent's process.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnProcess;

impl AgentProcess for OwnProcess {
    fn variable(&self, name: &str) -> Result<Option<String>, String> {
        match std::env::var(name) {
            Ok(value) => Ok(Some(value)),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => Err(format!("the variable {name} is not UTF-8")),
        }
    }

    fn user(&self) -> Result<Option<String>, String> {
        user_name(rustix::process::geteuid().as_raw()).map(Some)
    }

    /// A process cannot know from which others its namespaces isolate it.
    fn is_sandboxed(&self) -> Result<Option<bool>, String> {
        Ok(None)
    }
}

/// A process that is not known, for example because the agent has sent its event over the network.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnknownProcess;

impl UnknownProcess {
    fn unknown<T>() -> Result<T, String> {
        Err("the agent's process is not known".to_owned())
    }
}

impl AgentProcess for UnknownProcess {
    fn variable(&self, _: &str) -> Result<Option<String>, String> {
        Self::unknown()
    }

    fn user(&self) -> Result<Option<String>, String> {
        Self::unknown()
    }

    fn is_sandboxed(&self) -> Result<Option<bool>, String> {
        Self::unknown()
    }
}

/// Returns the name of a user, according to `/etc/passwd`.
fn user_name(user: u32) -> Result<String, String> {
    let number = user.to_string();
    let users = file::text(Path::new("/etc/passwd"))?.unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1) == Some(number.as_str())).then(|| name.to_owned())
    });
    Ok(name.unwrap_or(number))
}

#[cfg(target_os = "linux")]
pub use other::OtherProcess;

#[cfg(target_os = "linux")]
mod other {
    use super::{AgentProcess, user_name};
    use crate::facts::file;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::PathBuf;
    use std::sync::OnceLock;

    /// Maximum size of a process's environment, in bytes. Linux allows 6 MiB with the default size of the stack.
    const MAX_ENVIRONMENT: u64 = 8 << 20;

    /// Another process of the machine, such as the hook that an agent has started. Its environment is read from `/proc`
    /// at the first use.
    #[derive(Debug)]
    pub struct OtherProcess {
        id: u32,
        is_sandboxed: bool,
        environment: OnceLock<Result<Vec<u8>, String>>,
    }

    impl OtherProcess {
        /// Describes the process with this number. `is_sandboxed` is true if the host knows that it runs in `hookhost exec`.
        #[must_use]
        pub fn new(id: u32, is_sandboxed: bool) -> Self {
            Self { id, is_sandboxed, environment: OnceLock::new() }
        }

        fn file(&self, name: &str) -> PathBuf {
            PathBuf::from(format!("/proc/{}/{name}", self.id))
        }

        fn gone(&self) -> String {
            format!("the agent's process {} cannot be looked at: it has ended, or belongs to somebody else", self.id)
        }
    }

    impl AgentProcess for OtherProcess {
        fn variable(&self, name: &str) -> Result<Option<String>, String> {
            let read = || match file::bytes(&self.file("environ"), MAX_ENVIRONMENT) {
                Ok(Some(bytes)) => Ok(bytes),
                Ok(None) | Err(_) => Err(self.gone()),
            };
            let environment = self.environment.get_or_init(read).as_ref().map_err(Clone::clone)?;
            let value_of =
                |variable: &[u8]| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
            let value = environment.split(|byte| *byte == 0).find_map(value_of);
            value.map(String::from_utf8).transpose().map_err(|_| format!("the variable {name} is not UTF-8"))
        }

        fn user(&self) -> Result<Option<String>, String> {
            let metadata = std::fs::metadata(self.file("")).map_err(|_| self.gone())?;
            user_name(metadata.uid()).map(Some)
        }

        fn is_sandboxed(&self) -> Result<Option<bool>, String> {
            Ok(Some(self.is_sandboxed))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::user_name;

    #[test]
    fn root_has_its_name_and_an_unknown_user_a_number() {
        assert_eq!(user_name(0).unwrap(), "root");
        assert_eq!(user_name(4_000_000_001).unwrap(), "4000000001");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_environment_of_another_process_is_read_and_a_process_that_is_gone_is_unreadable() {
        use super::{AgentProcess as _, OtherProcess};
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .env_clear()
            .envs([("PATH", "/usr/bin:/bin"), ("KUBECONFIG", "/k"), ("EMPTY", "")])
            .spawn()
            .unwrap();
        let process = OtherProcess::new(child.id(), false);
        // Between `fork` and `exec`, the child has the environment of this process.
        while std::fs::read_link(format!("/proc/{}/exe", child.id())).unwrap() == std::env::current_exe().unwrap() {
            std::thread::yield_now();
        }
        assert_eq!(process.variable("KUBECONFIG"), Ok(Some("/k".to_owned())));
        assert_eq!(process.variable("EMPTY"), Ok(Some(String::new())));
        assert_eq!(process.variable("KUBE"), Ok(None));
        assert_eq!(process.is_sandboxed(), Ok(Some(false)));
        assert_eq!(process.user(), super::OwnProcess.user());
        child.kill().unwrap();
        child.wait().unwrap();
        let gone = OtherProcess::new(child.id(), true);
        assert!(gone.variable("KUBECONFIG").unwrap_err().contains("has ended"));
        assert!(gone.user().is_err());
        assert_eq!(gone.is_sandboxed(), Ok(Some(true)));
    }
}
