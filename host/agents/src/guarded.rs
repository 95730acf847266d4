//! The files that decide under which rules an agent runs, as a table for the host. The plugins have the same table: a test generates this
//! one from `guarded.toml`, whose comment describes each key.

mod table;

pub use table::OWNERS;

/// The files of one owner: hookhost, an agent, the editors, or the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The name, such as `claude-code`.
    pub name: &'static str,
    /// Files of the user, of the project and of any other directory; with a slash in front, files of the machine. `/**` at the end means a
    /// directory with everything in it.
    pub files: &'static [&'static str],
    /// Files of a home directory.
    pub in_home: &'static [&'static str],
    /// Further files, which are guarded only themselves.
    pub alone: &'static [&'static str],
    /// Files that are guarded because a variable can be set in them.
    pub variables_in: &'static [&'static str],
    /// Variables that lead the owner to other files. The second value is the directory in its home that the variable replaces, or empty.
    pub variables: &'static [(&'static str, &'static str)],
    /// The guarded files that the owner writes itself.
    pub written: &'static [Written],
}

/// A guarded file that its owner writes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The path, spelled as in [`Owner::files`] and [`Owner::in_home`].
    pub file: &'static str,
    /// Treatment of the file while the agent runs.
    pub treatment: WrittenTreatment,
    /// The keys that are restored, each as a path joined by dots. `*` stands for any key.
    pub keys: &'static [&'static str],
    /// What does not work because of the treatment, or empty.
    pub note: &'static str,
}

/// The treatment of a guarded file that its owner writes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenTreatment {
    /// The owner may write it.
    Free,
    /// The owner may write it, and its keys are restored.
    Restored,
    /// Nobody may write it, unless the user chooses to have its keys restored.
    ReadOnly,
}

/// Returns the owner with this name.
pub fn owner(name: &str) -> Option<&'static Owner> {
    OWNERS.iter().find(|owner| owner.name == name)
}
