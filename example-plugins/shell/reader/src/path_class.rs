//! The classes of paths. A path is classified only by its text, without access to a file system.

use super::wrappers::Location;

/// The kind of place that a path names, seen from the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The root of a file system.
    Root,
    /// A directory of the system: `/usr`, `/etc`, `C:\Windows`.
    System,
    /// A home directory, or a path in a home directory that is outside of the workspace.
    Home,
    /// One of hookhost's own directories in a home: configuration, state, keys, cache. Rules about homes also apply to these directories.
    Host,
    /// A directory that contains the workspace.
    Above,
    /// The workspace itself, with everything in it.
    Workspace,
    /// The workspace's `.git`.
    Repository,
    /// A path in the workspace.
    Inside,
    /// A path in a directory for temporary files.
    Temporary,
    /// A path below `/dev`.
    Device,
    /// Any other path.
    Outside,
    /// A path that cannot be classified.
    Unknown,
}

impl Class {
    /// Parses the name that rules use.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "root" => Self::Root,
            "system" => Self::System,
            "home" => Self::Home,
            "host" => Self::Host,
            "above" => Self::Above,
            "workspace" => Self::Workspace,
            "repository" => Self::Repository,
            "inside" => Self::Inside,
            "temporary" => Self::Temporary,
            "device" => Self::Device,
            "outside" => Self::Outside,
            "unknown" => Self::Unknown,
            _ => return None,
        })
    }

    /// Returns the class of a path on another machine or in a container. The path of the workspace is unknown there. In a container, the
    /// content of directories is unknown, too.
    pub(crate) fn seen_from(self, location: Location) -> Self {
        match (location, self) {
            (Location::Here, class) => class,
            (Location::Disposable, Self::Workspace | Self::Repository | Self::Inside | Self::Unknown) => self,
            (Location::Disposable, Self::System | Self::Home | Self::Host | Self::Outside) => Self::Temporary,
            (_, Self::Root | Self::Temporary | Self::Device) => self,
            (Location::Machine, Self::System | Self::Home) => self,
            (Location::Machine, Self::Host) => Self::Home,
            _ => Self::Unknown,
        }
    }
}
