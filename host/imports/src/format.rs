//! The list of formats, and the files of each.

use crate::import::{Import, Owner, SourceFile, Unreadable};
use crate::{claude_code, codex, cursor, gemini_cli, hookify};

/// The rules of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The files that the agent reads, in the order of its documentation.
    pub places: &'static [Place],
    reader: fn(&[SourceFile]) -> Result<Import, Unreadable>,
}

/// A place of an agent's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whether the directory is below the user's home or below the project.
    pub owner: Owner,
    /// The directory.
    pub directory: &'static str,
    /// The environment variable that names another directory of the user.
    pub variable: Option<&'static str>,
    /// The directory below the one that the variable names.
    pub below: &'static str,
    /// The name of the file, which may contain one `*`.
    pub file: &'static str,
}

impl Format {
    /// Reads the agent's files.
    ///
    /// # Errors
    /// If a file is not in the agent's format.
    pub fn read(&self, files: &[SourceFile]) -> Result<Import, Unreadable> {
        (self.reader)(files)
    }

    /// Returns the format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }
}

impl Place {
    const fn users(
        directory: &'static str,
        variable: Option<&'static str>,
        below: &'static str,
        file: &'static str,
    ) -> Self {
        Self { owner: Owner::User, directory, variable, below, file }
    }

    const fn projects(directory: &'static str, file: &'static str) -> Self {
        Self { owner: Owner::Project, directory, variable: None, below: "", file }
    }

    /// Returns true if a file of this name is meant.
    #[must_use]
    pub fn is_file(&self, name: &str) -> bool {
        match self.file.split_once('*') {
            Some((begin, end)) => {
                name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
            }
            None => name == self.file,
        }
    }
}

/// All formats, sorted by name.
pub const FORMATS: &[Format] = &[
    Format {
        name: "claude-code",
        title: "Claude Code",
        places: &[
            Place::users(".claude", Some("CLAUDE_CONFIG_DIR"), "", "settings.json"),
            Place::projects(".claude", "settings.json"),
            Place::projects(".claude", "settings.local.json"),
        ],
        reader: claude_code::read,
    },
    Format {
        name: "codex",
        title: "Codex",
        places: &[
            Place::users(".codex/rules", Some("CODEX_HOME"), "rules", "*.rules"),
            Place::projects(".codex/rules", "*.rules"),
        ],
        reader: codex::read,
    },
    Format {
        name: "cursor",
        title: "Cursor",
        places: &[
            Place::users(".cursor", Some("CURSOR_CONFIG_DIR"), "", "cli-config.json"),
            Place::projects(".cursor", "cli.json"),
        ],
        reader: cursor::read,
    },
    Format {
        name: "gemini-cli",
        title: "Gemini CLI",
        places: &[Place::users(".gemini/policies", None, "", "*.toml"), Place::projects(".gemini/policies", "*.toml")],
        reader: gemini_cli::read,
    },
    Format {
        name: "hookify",
        title: "hookify",
        places: &[Place::projects(".claude", "hookify.*.local.md")],
        reader: hookify::read,
    },
];

#[cfg(test)]
mod tests {
    use super::{FORMATS, Format};
    use crate::import::{Owner, SourceFile};
    use proptest::prelude::{any, prop_oneof, proptest};
    use proptest::sample::select;
    use proptest::strategy::Strategy as _;

    #[test]
    fn a_place_names_its_files() {
        let hookify = Format::named("hookify").unwrap().places[0];
        assert!(
            hookify.is_file("hookify.no-rm.local.md")
                && !hookify.is_file("hookify.md")
                && !hookify.is_file("hookify.local.md")
        );
        assert!(FORMATS.is_sorted_by_key(|format| format.name));
    }

    /// The parts of which files of all formats consist.
    const PARTS: &[&str] = &[
        "{\"permissions\": {\"deny\": [\"",
        "\"]}}",
        "Bash(",
        "Shell(",
        "Read(",
        "Edit(",
        ":*)",
        "*)",
        ")",
        "git push",
        " -rf",
        "//",
        "~/",
        "./",
        "**",
        "mcp__",
        "__",
        "domain:",
        "prefix_rule(",
        "pattern = [",
        "decision = \"forbidden\"",
        "match = [",
        "]",
        ",",
        "'",
        "\"\"\"",
        "\n",
        "#",
        "(",
        "|",
        "[[rule]]\n",
        "toolName = \"run_shell_command\"\n",
        "commandPrefix = \"",
        "commandRegex = '",
        "decision = \"deny\"\n",
        "---\n",
        "event: bash\n",
        "event: file\n",
        "pattern: ",
        "conditions:\n  - field: file_path\n",
        "    operator: contains\n",
        "    pattern: ",
        "\\s+",
        ".*",
        "$",
        "^",
        "€",
        "[",
        "\\",
    ];

    proptest! {
        #[test]
        fn no_file_is_a_reason_to_panic(
            parts in proptest::collection::vec(prop_oneof![9 => select(PARTS).prop_map(str::to_owned), 1 => any::<String>()], 0..24)
        ) {
            let text = parts.concat();
            for format in FORMATS {
                for owner in [Owner::User, Owner::Project] {
                    let _ = format.read(&[SourceFile::new("f".into(), owner, &text)]);
                }
            }
        }
    }
}
