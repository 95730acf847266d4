//! Facts about the world of the agent, which the host reads: the branch of a repository, the context of a cluster, the
//! mode of the session. This capability needs the grant `facts` with the names of the facts.
//!
//! The interface belongs to version 0.2 of the contract, which is a draft.

#[cfg(target_arch = "wasm32")]
use crate::generated::v0_2::facts as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::facts as host;

pub use crate::generated::v0_2::facts::Fact;

/// Returns the fact `name`, such as `git.branch`, about the directory or the file `at`. With `None`, it is the session's
/// working directory. If the grant does not list the name, the call of the plugin ends with an error.
///
/// ```
/// use hookhost_guest::{facts, testing};
///
/// testing::prime(|host| drop(host.facts.insert("git.branch".into(), facts::Fact::Text("main".into()))));
/// let branch = facts::read("git.branch", None);
/// assert!(branch.is("main"));
/// assert_eq!(facts::read("kube.context", Some("infra")), facts::Fact::Absent);
/// ```
#[must_use]
pub fn read(name: &str, at: Option<&str>) -> Fact {
    host::read(name, at)
}

impl Fact {
    /// Returns true if the fact is this text.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.as_text() == Some(text)
    }

    /// Returns the text, if the fact is a text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the flag, if the fact is a flag.
    #[must_use]
    pub fn as_flag(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    /// Returns the reason if the fact exists and cannot be read. A rule should then decide as if the fact were the worst
    /// one.
    #[must_use]
    pub fn unreadable(&self) -> Option<&str> {
        match self {
            Self::Unreadable(why) => Some(why),
            _ => None,
        }
    }
}
