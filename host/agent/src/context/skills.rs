//! Skills. A skill is a directory with a file `SKILL.md`, whose front matter describes the skill:
//! <https://agentskills.io/specification>.

use super::files::{FileText, ProjectDirectory, own_names, own_text};
use super::{Project, Sources};
use saphyr_parser::{Event, Parser};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const FILE_NAME: &str = "SKILL.md";
/// Maximum size of a skill's file, in bytes.
pub(super) const MAX_FILE: u64 = 64 * 1024;
/// Maximum length of a description in characters, from the specification.
const MAX_DESCRIPTION: usize = 1024;
/// Maximum length of a name in characters, from the specification.
const MAX_NAME: usize = 64;
/// Maximum number of skills.
const MAX_SKILLS: usize = 100;
/// Maximum number of directories that are checked in each directory of skills.
const MAX_DIRECTORIES: usize = 500;
/// Maximum number of files that are listed with a skill.
const MAX_FILES: usize = 50;

/// One skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skill {
    /// Name of the skill.
    pub name: String,
    /// Description on one line.
    pub description: String,
    /// Path of the skill's `SKILL.md`.
    pub path: PathBuf,
    /// Text after the front matter.
    pub text: String,
    /// Names of the other files in the skill's directory.
    pub files: Vec<String>,
}

/// Gathers skills, sorted by name. If several skills have the same name, the first of them is used. The user's own
/// skills come before a project's skills, so a repository cannot replace a skill of the user. In a project, skills of
/// inner directories come before skills of outer directories.
pub(super) fn gather(sources: &Sources, project: &Project, notices: &mut Vec<String>) -> Vec<Skill> {
    let mut gathered = SkillCollection { skills: Vec::new(), files: HashSet::new(), notices, left_out: 0 };
    let config = sources.config.iter().map(|config| config.join("skills"));
    let home = sources.home.iter().flat_map(|home| DIRECTORIES.map(|place| home.join(place)));
    for directory in config.chain(home) {
        for name in own_names(&directory, MAX_DIRECTORIES) {
            let skill = directory.join(name);
            gathered.add(&skill, own_text(&skill.join(FILE_NAME), MAX_FILE), || own_names(&skill, MAX_FILES + 1));
        }
    }
    if let Some(within) = ProjectDirectory::open(&project.root) {
        for directory in
            project.directories.iter().rev().flat_map(|directory| DIRECTORIES.map(|place| directory.join(place)))
        {
            for name in within.names(&directory, MAX_DIRECTORIES) {
                let skill = directory.join(name);
                let text = within.text(&skill.join(FILE_NAME), MAX_FILE);
                gathered.add(&project.root.join(&skill), text, || within.names(&skill, MAX_FILES + 1));
            }
        }
    }
    let SkillCollection { mut skills, left_out, .. } = gathered;
    if left_out > 0 {
        notices.push(format!("the model gets at most {MAX_SKILLS} skills: {left_out} were left out"));
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

/// Directories of skills, relative to the home or to a directory of the project.
const DIRECTORIES: [&str; 3] = [".agents/skills", ".claude/skills", ".harness/skills"];

struct SkillCollection<'a> {
    skills: Vec<Skill>,
    /// Canonical paths of the files. With these paths, a skill to which several links lead is listed only once.
    files: HashSet<PathBuf>,
    notices: &'a mut Vec<String>,
    left_out: usize,
}

impl SkillCollection<'_> {
    fn add(&mut self, directory: &Path, read: Option<Result<FileText, String>>, beside: impl Fn() -> Vec<String>) {
        let Some(read) = read else { return };
        let path = directory.join(FILE_NAME);
        if !self.files.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            return;
        }
        let (name, description, text) = match read.and_then(|text| parse(&text)) {
            Ok(parsed) => parsed,
            Err(reason) => {
                self.notices.push(format!("{} is no skill: {reason}", path.display()));
                return;
            }
        };
        if let Some(other) = self.skills.iter().find(|skill| skill.name == name) {
            let (path, other) = (path.display(), other.path.display());
            self.notices.push(format!("{path} is left out: there is another skill named {name}, {other}"));
            return;
        }
        if self.skills.len() >= MAX_SKILLS {
            self.left_out += 1;
            return;
        }
        let mut files = beside();
        files.retain(|file| file != FILE_NAME);
        files.truncate(MAX_FILES);
        self.skills.push(Skill { name, description, path, text, files });
    }
}

/// Returns name, description and text of a skill, or the reason why the file is invalid.
fn parse(FileText { text, size }: &FileText) -> Result<(String, String, String), String> {
    if *size > MAX_FILE {
        return Err(format!("it has {size} bytes, and a skill at most {} KiB", MAX_FILE / 1024));
    }
    let text = text.replace("\r\n", "\n");
    let lacks = "it has no front matter with `name` and `description` between two lines `---`";
    let rest = text.strip_prefix('\u{feff}').unwrap_or(&text).strip_prefix("---\n").ok_or(lacks)?;
    let (front, body) = match rest.split_once("\n---\n") {
        Some(parts) => parts,
        None => (rest.strip_suffix("\n---").ok_or(lacks)?, ""),
    };
    let fields = fields(front)?;
    let field = |key: &str| fields.iter().find(|(known, _)| known == key).map(|(_, value)| value.trim());
    let name = field("name").ok_or("its front matter has no `name`")?;
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
        return Err(format!("its name must have 1 to {MAX_NAME} of a–z, 0–9 and `-`"));
    }
    let description =
        field("description").filter(|text| !text.is_empty()).ok_or("its front matter has no `description`")?;
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    if description.chars().count() > MAX_DESCRIPTION {
        return Err(format!("its description has more than {MAX_DESCRIPTION} characters"));
    }
    Ok((name.to_owned(), description, body.trim_matches('\n').to_owned()))
}

/// Returns the top-level keys of a YAML mapping whose keys and values are scalars.
fn fields(yaml: &str) -> Result<Vec<(String, String)>, String> {
    let mut fields = Vec::new();
    let mut depth = 0_usize;
    // The last key, if its value is still to come. The outer `None` means that a key comes next. The inner `None`
    // stands for a key that is not a scalar.
    let mut before: Option<Option<String>> = None;
    for event in Parser::new_from_str(yaml) {
        let (event, _) = event.map_err(|error| format!("its front matter is no YAML: {error}"))?;
        let at = depth;
        let node = match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                depth += 1;
                None
            }
            Event::MappingEnd | Event::SequenceEnd => {
                depth = depth.saturating_sub(1);
                continue;
            }
            Event::Scalar(value, ..) => Some(value.into_owned()),
            Event::Alias(_) => None,
            _ => continue,
        };
        if at != 1 {
            continue;
        }
        match before.take() {
            None => before = Some(node),
            Some(key) => fields.extend(key.zip(node)),
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: String) -> FileText {
        let size = u64::try_from(text.len()).unwrap();
        FileText { text, size }
    }

    proptest! {
        #[test]
        fn any_content_of_a_skill_is_read_or_refused(any: String, yaml in "[ \n:>|&*!%@`'\"{}\\[\\]#a-c\\-]{0,60}") {
            for whole in [any.clone(), format!("---\n{any}\n---\n"), format!("---\nname: a\n{yaml}\n---\n{any}")] {
                let parsed = parse(&text(whole));
                prop_assert!(parsed.is_err() || parsed.is_ok_and(|(name, ..)| !name.contains(char::is_whitespace)));
            }
        }
    }

    #[test]
    fn what_is_nested_counts_for_nothing_and_what_is_deep_does_no_harm() {
        let nested = "---\nmetadata: {name: no, deep: [[name]]}\nname: yes\n? [a]\n: b\ndescription: |\n  Two\n  lines.\n---\nText.";
        let expected = ("yes".to_owned(), "Two lines.".to_owned(), "Text.".to_owned());
        assert_eq!(parse(&text(nested.into())), Ok(expected));
        let deep = format!("---\nname: a\nx: {}\n---\n", "[".repeat(60_000));
        assert!(parse(&text(deep)).is_err());
    }
}
