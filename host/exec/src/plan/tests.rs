use super::*;
use proptest::prelude::*;
use std::os::unix::fs::symlink;

/// Arranges guards below `/`, with the working directory `/work`.
fn arranged(guards: &[(&str, Treatment)]) -> Vec<(String, MountKind)> {
    let guards: Vec<_> = guards.iter().map(|(path, treatment)| (PathBuf::from(path), *treatment, true)).collect();
    let plan = arrange(&guards, BTreeSet::new(), Path::new("/work"), None).expect("a plan");
    plan.mounts.into_iter().map(|mount| (mount.path.display().to_string(), mount.kind)).collect()
}

fn guard(path: &Path, treatment: Treatment) -> Guard {
    Guard { path: path.to_owned(), treatment, reason: String::new() }
}

#[test]
fn every_directory_above_a_guard_is_pinned() {
    let expected = [
        ("/home".to_owned(), MountKind::Pin),
        ("/home/me".to_owned(), MountKind::Pin),
        ("/home/me/settings".to_owned(), MountKind::Guard(Treatment::ReadOnly)),
        ("/work".to_owned(), MountKind::Pin),
    ];
    assert_eq!(arranged(&[("/home/me/settings", Treatment::ReadOnly)]), expected);
}

#[test]
fn nothing_below_a_read_only_directory_is_pinned_but_below_an_exception() {
    let mounts = arranged(&[
        ("/a", Treatment::ReadOnly),
        ("/a/b/c", Treatment::Writable),
        ("/a/b/c/d/e", Treatment::ReadOnly),
        ("/a/x", Treatment::ReadOnly),
    ]);
    let paths: Vec<_> = mounts.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/a", "/a/b/c", "/a/b/c/d", "/a/b/c/d/e", "/work"]);
}

#[test]
fn the_stricter_of_two_treatments_wins() {
    let mounts = arranged(&[("/k", Treatment::ReadOnly), ("/k", Treatment::Hidden), ("/k", Treatment::ReadOnly)]);
    assert_eq!(mounts[0], ("/k".to_owned(), MountKind::Guard(Treatment::Hidden)));
}

#[test]
fn a_hidden_directory_must_not_contain_the_working_directory() {
    let guards = [(PathBuf::from("/work"), Treatment::Hidden, true)];
    let error = arrange(&guards, BTreeSet::new(), Path::new("/work/project"), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/work is hidden, but the program needs /work/project below it: run it elsewhere, or hide less"
    );
}

#[test]
fn the_root_and_relative_paths_are_refused() {
    let relative = MountPlan::new(&[guard(Path::new("x"), Treatment::Hidden)], Path::new("/"), Path::new("/"));
    assert_eq!(relative.unwrap_err().to_string(), "the guarded path x is not absolute: name it from / on");
    let root = MountPlan::new(&[guard(Path::new("/"), Treatment::ReadOnly)], Path::new("/"), Path::new("/"));
    assert!(matches!(root, Err(PlanError::Root)));
}

#[test]
fn a_missing_path_is_left_out_and_links_on_the_way_are_kept() {
    let scratch = tempfile::tempdir().unwrap();
    let scratch = scratch.path().canonicalize().unwrap();
    std::fs::create_dir(scratch.join("real")).unwrap();
    std::fs::write(scratch.join("real/settings"), "").unwrap();
    symlink("real", scratch.join("link")).unwrap();
    symlink("link/settings", scratch.join("other")).unwrap();
    let guards = [
        guard(&scratch.join("missing"), Treatment::ReadOnly),
        guard(&scratch.join("real/settings/below"), Treatment::ReadOnly),
        guard(&scratch.join("other"), Treatment::ReadOnly),
    ];
    let plan = MountPlan::new(&guards, &scratch, &scratch).unwrap();
    let guarded: Vec<_> = plan.guarded().collect();
    assert_eq!(guarded, [(scratch.join("real/settings").as_path(), Treatment::ReadOnly)]);
    let mut links: Vec<_> = plan.links().iter().map(|link| link.path.clone()).collect();
    links.sort();
    assert_eq!(links, [scratch.join("link"), scratch.join("other")]);
}

#[test]
fn links_in_a_circle_are_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    symlink("b", scratch.path().join("a")).unwrap();
    symlink("a", scratch.path().join("b")).unwrap();
    let plan = MountPlan::new(&[guard(&scratch.path().join("a"), Treatment::ReadOnly)], Path::new("/"), Path::new("/"));
    assert!(plan.unwrap_err().to_string().contains("too many symbolic links"));
}

#[test]
fn a_plan_survives_its_transport_even_if_a_path_is_not_text() {
    use std::os::unix::ffi::OsStringExt as _;
    let path = PathBuf::from(OsString::from_vec(b"/caf\xe9".to_vec()));
    let plan = arrange(&[(path, Treatment::Hidden, false)], BTreeSet::new(), Path::new("/work"), None).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<MountPlan>(&text).unwrap(), plan);
}

fn any_treatment() -> impl Strategy<Value = Treatment> {
    prop_oneof![
        4 => Just(Treatment::ReadOnly),
        2 => Just(Treatment::Hidden),
        1 => Just(Treatment::Masked),
        2 => Just(Treatment::Writable),
    ]
}

fn any_path() -> impl Strategy<Value = PathBuf> {
    proptest::collection::vec("[ab]{1,2}", 1..5).prop_map(|parts| Path::new("/").join(parts.join("/")))
}

proptest! {
    #[test]
    fn plans_are_shallow_first_pinned_and_empty_below_hidden(
        guards in proptest::collection::vec((any_path(), any_treatment(), Just(true)), 0..12),
        links in proptest::collection::btree_set(any_path(), 0..3),
    ) {
        let plan = arrange(&guards, links, Path::new("/work/project"), Some(Path::new("/home"))).unwrap();
        let kind = |path: &Path| plan.mounts.iter().find(|mount| mount.path == path).map(|mount| mount.kind);
        let is_closed = |path: &Path| {
            let nearest = path.ancestors().find_map(|above| match kind(above) {
                Some(MountKind::Guard(treatment)) => Some(treatment),
                _ => None,
            });
            nearest.is_some_and(|treatment| treatment != Treatment::Writable)
        };
        for (index, mount) in plan.mounts.iter().enumerate() {
            for above in mount.path.ancestors().skip(1) {
                let is_hidden = matches!(kind(above), Some(MountKind::Guard(Treatment::Hidden | Treatment::Masked)));
                prop_assert!(!is_hidden, "{:?} is below a hidden path", mount.path);
                if above.parent().is_some() {
                    prop_assert!(kind(above).is_some() || is_closed(above), "{above:?} can be renamed");
                }
                if let Some(at) = plan.mounts.iter().position(|mount| mount.path == above) {
                    prop_assert!(at < index, "{above:?} is mounted after {:?}", mount.path);
                }
            }
        }
        for (path, treatment, _) in &guards {
            if *treatment != Treatment::Writable {
                prop_assert!(is_closed(path), "{path:?} is open");
            }
        }
        let mut paths: Vec<_> = plan.mounts.iter().map(|mount| &mount.path).collect();
        paths.dedup();
        prop_assert_eq!(paths.len(), plan.mounts.len());
    }
}
