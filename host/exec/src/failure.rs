//! Failures of the steps that put a program inside, and the sentences for them.

use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

use crate::channel::KeptPath;

/// A step on the way inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    Message,
    Unshare,
    Map,
    Network,
    Private,
    Stage,
    Guard,
    Sys,
    Proc,
    Devices,
    Runtime,
    Seal,
    Directory,
    Terminal,
    Capabilities,
    Landlock,
    Filter,
    Keep,
}

impl Step {
    /// Returns true if the kernel or its settings lack something at this step, so that Landlock may serve instead.
    pub(crate) fn is_ability(self) -> bool {
        matches!(
            self,
            Self::Unshare | Self::Map | Self::Network | Self::Private | Self::Stage | Self::Proc | Self::Seal
        )
    }
}

/// A failed step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) path: Option<KeptPath>,
    errno: i32,
    text: String,
}

impl Failure {
    pub(crate) fn new(step: Step, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self { step, path: None, errno: error.raw_os_error().unwrap_or(0), text: error.to_string() }
    }

    pub(crate) fn at(step: Step, path: &Path, error: impl Into<io::Error>) -> Self {
        Self { path: Some(KeptPath(path.to_owned())), ..Self::new(step, error) }
    }

    /// The failure as the end of a sentence after "because".
    pub(crate) fn because(&self) -> String {
        let path = self.path.as_ref().map(|KeptPath(path)| path.display().to_string()).unwrap_or_default();
        match (self.step, self.errno) {
            (Step::Unshare, libc::ENOSPC | libc::EUSERS) => {
                "this system allows no further user namespaces (sysctl user.max_user_namespaces)".to_owned()
            }
            (Step::Unshare, libc::EPERM) => "this system forbids user namespaces to ordinary users (a container, or \
                 sysctl kernel.unprivileged_userns_clone)"
                .to_owned(),
            (Step::Unshare, libc::EINVAL | libc::ENOSYS) => "this kernel has no user namespaces".to_owned(),
            (Step::Map, _) => format!("the user's identity cannot be mapped ({})", self.text),
            (Step::Network, libc::ENOSPC) => {
                "this system allows no further network namespaces (sysctl user.max_net_namespaces)".to_owned()
            }
            (Step::Network, libc::EINVAL) => "this kernel has no network namespaces".to_owned(),
            (Step::Network, _) => format!("no network namespace can be set up ({})", self.text),
            (Step::Private | Step::Stage | Step::Seal, libc::EPERM | libc::EACCES) => {
                "this system forbids mounts in user namespaces (AppArmor: sysctl \
                 kernel.apparmor_restrict_unprivileged_userns)"
                    .to_owned()
            }
            (Step::Proc, libc::EPERM | libc::EACCES) => {
                "this container masks parts of /proc, so that no /proc can be mounted".to_owned()
            }
            (Step::Guard, _) => format!("{path} cannot be guarded ({})", self.text),
            (Step::Directory, _) => format!("the working directory {path} cannot be entered ({})", self.text),
            (Step::Sys, _) => format!("{path} cannot be made read-only ({})", self.text),
            (Step::Devices, _) => format!("the devices cannot be set up at {path} ({})", self.text),
            (Step::Runtime, _) => format!("{path} cannot be replaced ({})", self.text),
            (Step::Landlock, _) => format!("Landlock cannot restrict the program ({})", self.text),
            (Step::Filter, _) => format!("system calls cannot be filtered ({})", self.text),
            (step, _) => format!("the step {step:?} failed ({})", self.text),
        }
    }
}

/// Names the step of a system call's error.
pub(crate) trait AtStep<T> {
    fn step(self, step: Step) -> Result<T, Failure>;
    fn step_at(self, step: Step, path: &Path) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> AtStep<T> for Result<T, E> {
    fn step(self, step: Step) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(step, error))
    }

    fn step_at(self, step: Step, path: &Path) -> Result<T, Failure> {
        self.map_err(|error| Failure::at(step, path, error))
    }
}

/// A path for a message.
pub(crate) fn kept(path: impl Into<PathBuf>) -> KeptPath {
    KeptPath(path.into())
}
