//! Finds the stacks of a workspace, such as `rust` or `python`. These are the stacks in the config or, if the config names none, the stacks
//! whose files exist.

use crate::rules::stack_name;
use std::path::Path;

/// The stacks, each with the files that show that the stack is in use.
const MARKS: [(&str, &[&str]); 6] = [
    ("rust", &["Cargo.toml"]),
    ("python", &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"]),
    ("typescript", &["package.json", "tsconfig.json"]),
    ("swift", &["Package.swift"]),
    ("harn", &["harn.toml"]),
    ("go", &["go.mod"]),
];

/// Returns true if the stack is in use. If `named` is given, it must contain `stack`. If `named` is `None`, `directory` must contain a file
/// of the stack.
pub(crate) fn uses(named: Option<&[String]>, directory: &Path, stack: &str) -> bool {
    let stack = stack_name(stack);
    match named {
        Some(named) => named.iter().any(|name| stack_name(name) == stack),
        None => {
            MARKS.iter().any(|(name, files)| *name == stack && files.iter().any(|file| directory.join(file).exists()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::uses;
    use std::path::Path;

    #[test]
    fn named_stacks_count_by_any_of_their_names() {
        let named = ["ts".to_owned(), "rust".to_owned()];
        assert!(uses(Some(&named), Path::new("/none"), "typescript"));
        assert!(uses(Some(&named), Path::new("/none"), "rust"));
        assert!(!uses(Some(&named), Path::new("/none"), "python"));
        assert!(!uses(Some(&[]), Path::new("/none"), "rust"));
    }

    #[test]
    fn where_none_are_named_files_tell_which_are_used() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("Cargo.toml"), "").unwrap();
        assert!(uses(None, directory.path(), "rust"));
        assert!(!uses(None, directory.path(), "python"));
    }
}
