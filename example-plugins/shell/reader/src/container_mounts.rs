//! Finds the directories of this machine that are mounted in a new container: `docker run -v "$PWD":/src -w /src`.

use super::ascii::Ascii as _;
use super::path::{below, clean};
use super::path_class::Class;
use super::path_context::MADE_UP;
use super::read::Reader;
use super::word::{UNKNOWN, Word};
use super::wrappers::{List, Location, Wrapper};

const MOUNTS: List = List("-v\n--volume\n--mount");
const DIRECTORIES: List = List("-w\n--workdir");

/// A directory in a container, and its source on this machine.
pub(super) struct Mount {
    target: String,
    source: String,
}

impl Reader<'_> {
    /// Enters a new container. This applies only to a container that is removed afterwards and in which no directory of this machine except
    /// the workspace is mounted.
    pub(super) fn enter_disposable(&mut self, wrapper: &Wrapper, args: &[Word], cwd: Option<&str>) {
        // These are the wrapper's own words and the name of the image.
        let own = &args[..args.len() - wrapper.words(args).len()];
        if !wrapper.makes_new() || !own.iter().any(|word| word.text == "--rm") {
            return;
        }
        let values = wrapper.values_of(args, MOUNTS);
        // A word with an unknown part may mount any directory.
        if values.len() != args.iter().filter(|word| may_mount(&word.text)).count() {
            return;
        }
        let mounts: Option<Vec<Mount>> = values.iter().map(|value| self.mount(value, cwd)).collect();
        let Some(mounts) = mounts else { return };
        self.scope.cwd = match wrapper.values_of(args, DIRECTORIES).pop() {
            Some(directory) => Some(directory).filter(Word::is_known).map(|word| seen(&mounts, &word.text)),
            // The start directory of an image is unknown, but everything in it is removed with the container.
            None if mounts.is_empty() => Some(MADE_UP[0].to_owned()),
            None => None,
        };
        self.surroundings.mounts = mounts;
        self.surroundings.location = Location::Disposable;
    }

    /// Returns a mount of the workspace, of a path in the workspace, or of a volume. Returns `None` for any other mount.
    fn mount(&self, value: &Word, cwd: Option<&str>) -> Option<Mount> {
        let field = |names: [&str; 3]| {
            let mut fields = value.text.split(',').filter_map(|field| field.halves(b'='));
            fields.find(|(name, _)| names.contains(name)).map(|(_, value)| value)
        };
        let (source, target) = match field(["target", "dst", "destination"]) {
            Some(target) => (field(["source", "src", ""])?, target),
            None => match value.text.halves(b':') {
                Some((source, rest)) => (source, rest.split(':').next()?),
                None => ("", value.text.as_str()),
            },
        };
        // The source is a volume, with or without a name. The volume's content is unknown.
        if !source.has_one_of(&[b'/', b'.', UNKNOWN as u8]) {
            return Some(Mount { target: clean(target), source: UNKNOWN.to_string() });
        }
        let source = Word { home: value.home && source.starts_with('~'), ..Word::literal(source) };
        let is_path = source.text.starts_with(['/', '.']) && value.is_known();
        let class = self.context.class(&source, cwd);
        if !is_path || !matches!(class, Class::Workspace | Class::Inside) {
            return None;
        }
        Some(Mount { target: clean(target), source: self.context.path(&source, cwd)? })
    }

    /// In the words of a command that runs in a container, replaces paths in mounts with paths on this machine.
    pub(super) fn mounted(&self, mut words: Vec<Word>) -> Vec<Word> {
        if self.surroundings.location == Location::Disposable && !self.surroundings.mounts.is_empty() {
            for word in words.iter_mut().filter(|word| word.text.starts_with('/')) {
                word.text = seen(&self.surroundings.mounts, &word.text);
            }
        }
        words
    }
}

/// Returns true if an option may mount something: `-v`, `-itv`, `--volumes-from`.
fn may_mount(option: &str) -> bool {
    let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.is_some_and(|letters| letters.has(b'v')) || option.starts_with("--volume") || option.starts_with("--mount")
}

/// Returns the path on this machine for a path in the container. If the path lies in no mount, it is returned unchanged.
fn seen(mounts: &[Mount], path: &str) -> String {
    let path_of = |mount: &Mount| {
        let inner = below(path, &mount.target)?;
        Some(if inner.is_empty() { mount.source.clone() } else { format!("{}/{inner}", mount.source) })
    };
    mounts.iter().find_map(path_of).unwrap_or_else(|| path.to_owned())
}
