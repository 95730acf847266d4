//! Landlock: scopes beside the namespaces, and the whole protection where there are no namespaces.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::channel::ProgramNetwork;
use crate::failure::{AtStep as _, Failure, Step};
use crate::machine::{DEVICES, MACHINE_WIDE, is_graphics_processor};
use crate::plan::{MountPlan, Treatment};

/// The first version that separates signals and abstract sockets.
const NEEDED: ABI = ABI::V6;

/// Restricts this process and all that it starts. With a plan, there are no namespaces, so Landlock enforces the plan
/// and the limit of the network too. Returns what is not protected, in words.
pub(crate) fn restrict(plan: Option<(&MountPlan, ProgramNetwork)>) -> Result<Vec<String>, Failure> {
    let failed = |error: &dyn std::error::Error| io::Error::other(error.to_string());
    let Some((plan, network)) = plan else {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort).scope(Scope::from_all(NEEDED));
        let status = ruleset.and_then(|ruleset| ruleset.create()?.restrict_self());
        let status = status.map_err(|error| failed(&error)).step(Step::Landlock)?;
        return Ok(if status.ruleset == RulesetStatus::FullyEnforced {
            Vec::new()
        } else {
            vec!["abstract sockets can be reached, because this kernel has no Landlock of version 6".to_owned()]
        });
    };
    let all = AccessFs::from_all(NEEDED);
    let read = AccessFs::from_read(NEEDED);
    let write = all & !read;
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)
        .and_then(|ruleset| match network {
            ProgramNetwork::Proxy(_) => ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp),
            // The filter of system calls lets the program make no socket of a network.
            ProgramNetwork::Nothing | ProgramNetwork::Shared => Ok(ruleset),
        })
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEEDED))?.create())
        .and_then(|ruleset| match network {
            ProgramNetwork::Proxy(port) => ruleset.add_rule(NetPort::new(port, AccessNet::ConnectTcp)),
            ProgramNetwork::Nothing | ProgramNetwork::Shared => Ok(ruleset),
        })
        .map_err(|error| failed(&error))
        .step(Step::Landlock)?;
    let mut granted = BTreeMap::<PathBuf, BitFlags<AccessFs>>::new();
    let machine = machine_guards();
    let machine = machine.iter().map(|(path, treatment)| (path.as_path(), *treatment));
    let treatments: BTreeMap<&Path, Treatment> = machine.chain(plan.guarded()).collect();
    let is_open_to_write = |treatment| treatment == Treatment::Writable;
    for path in open_paths(&treatments, is_open_to_write) {
        *granted.entry(path).or_default() |= write;
    }
    let is_open_to_read = |treatment| matches!(treatment, Treatment::Writable | Treatment::ReadOnly);
    for path in open_paths(&treatments, is_open_to_read) {
        *granted.entry(path).or_default() |= read;
    }
    // Otherwise no directory on the way to a hidden path could be listed.
    *granted.entry(PathBuf::from("/")).or_default() |= AccessFs::ReadDir;
    let rules = granted.into_iter().filter_map(|(path, access)| {
        // What disappears meanwhile needs no rule.
        let opened = PathFd::new(&path).ok()?;
        let is_directory = fs::metadata(&path).ok()?.is_dir();
        let access = if is_directory { access } else { access & AccessFs::from_file(NEEDED) };
        (!access.is_empty()).then(|| Ok::<_, landlock::RulesetError>(PathBeneath::new(opened, access)))
    });
    let status = ruleset.add_rules(rules).and_then(landlock::RulesetCreated::restrict_self);
    status.map_err(|error| failed(&error)).step(Step::Landlock)?;
    let mut lacks = vec![
        "nothing new can be made directly in a directory that contains a guarded path".to_owned(),
        "sockets at paths can be reached".to_owned(),
        "names in hidden directories can be listed".to_owned(),
        "modes and times of guarded paths can be changed".to_owned(),
        "processes outside can be seen".to_owned(),
        "a sandbox inside that mounts something fails".to_owned(),
    ];
    match network {
        ProgramNetwork::Shared => {}
        ProgramNetwork::Nothing => lacks.push("programs inside do not reach each other by network".to_owned()),
        ProgramNetwork::Proxy(port) => {
            lacks.push(format!("every host can be reached at its port {port}"));
            lacks.push("no program inside can serve a port".to_owned());
        }
    }
    Ok(lacks)
}

/// What belongs to the machine, of which root could write everything.
fn machine_guards() -> BTreeMap<PathBuf, Treatment> {
    let dev = Path::new("/dev");
    let mut guards =
        BTreeMap::from([(PathBuf::from("/sys"), Treatment::ReadOnly), (dev.to_owned(), Treatment::Hidden)]);
    guards.extend(MACHINE_WIDE.map(|path| (PathBuf::from(path), Treatment::ReadOnly)));
    let entries = fs::read_dir(dev).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_open = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        DEVICES.contains(&name) || ["pts", "ptmx", "mqueue"].contains(&name) || is_graphics_processor(name)
    };
    guards.extend(entries.filter(is_open).map(|path| (path, Treatment::Writable)));
    guards
}

/// The shallowest paths that contain nothing closed. Landlock can only grant, so the way to each closed path is walked,
/// and what lies beside the way is granted.
fn open_paths(treatments: &BTreeMap<&Path, Treatment>, is_open: impl Fn(Treatment) -> bool) -> Vec<PathBuf> {
    let mut open = Vec::new();
    let mut pending = vec![(PathBuf::from("/"), true)];
    while let Some((path, inherited)) = pending.pop() {
        let is_open_here = treatments.get(path.as_path()).map_or(inherited, |treatment| is_open(*treatment));
        let differs = treatments.iter().any(|(below, treatment)| {
            *below != path && below.starts_with(&path) && is_open(*treatment) != is_open_here
        });
        if !differs {
            if is_open_here {
                open.push(path);
            }
            continue;
        }
        // Symbolic links are not followed: their targets are granted, or not, where they are.
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
        pending.extend(entries.map(|entry| (entry.path(), is_open_here)));
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beside_the_way_to_a_closed_path_is_open() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        for directory in ["closed/exception", "home/agent", "work"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["home/agent/settings", "home/agent/history", "home/notes"] {
            fs::write(root.join(file), "").unwrap();
        }
        let (settings, closed) = (root.join("home/agent/settings"), root.join("closed"));
        let exception = root.join("closed/exception");
        let treatments = BTreeMap::from([
            (settings.as_path(), Treatment::ReadOnly),
            (closed.as_path(), Treatment::ReadOnly),
            (exception.as_path(), Treatment::Writable),
        ]);
        let open = open_paths(&treatments, |treatment| treatment == Treatment::Writable);
        let mut below: Vec<_> = open.iter().filter_map(|path| path.strip_prefix(&root).ok()).collect();
        below.sort();
        assert_eq!(below, ["closed/exception", "home/agent/history", "home/notes", "work"].map(Path::new));
        assert!(!open.contains(&root) && open.contains(&PathBuf::from("/proc")));
        assert_eq!(open_paths(&treatments, |treatment| treatment != Treatment::Hidden), [PathBuf::from("/")]);
    }
}
