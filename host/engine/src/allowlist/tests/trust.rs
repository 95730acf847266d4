//! A project's file counts only while it is exactly what the user approved.

use std::fs;

use super::{World, entry};
use crate::allowlist::{Approved, Config, Digest, Error, Inert, ProjectFile, TrustStore};

#[test]
fn a_change_makes_an_approved_file_inert_and_undoing_it_does_not_need_a_new_approval() {
    let world = World::new();
    let file = world.write_project("", &entry("a"));
    world.approve(&file);
    assert_eq!(world.names(), ["a"]);

    world.write_project("", &(entry("a") + "# harmless\n"));
    let found = world.discover().unwrap();
    assert_eq!(found.config.entries().len(), 0);
    assert_eq!(found.inert[0].why, Inert::Changed { approved: Digest::of_bytes(entry("a").as_bytes()) });
    assert!(found.inert[0].to_string().ends_with("it has changed since you approved it"));

    world.write_project("", &entry("a"));
    assert_eq!(world.names(), ["a"]);
}

#[test]
fn what_is_approved_is_what_was_shown_not_what_the_file_has_become() {
    let world = World::new();
    let path = world.write_project("", &entry("shown"));
    let shown = ProjectFile::read(&path).unwrap();
    world.write_project("", &entry("swapped"));
    TrustStore::of(&world.places).approve(&shown).unwrap();
    assert!(world.names().is_empty());
}

#[test]
fn the_same_content_in_another_place_is_not_approved() {
    let world = World::new();
    world.approve(&world.write_project("", &entry("a")));
    let copy = world.write_project("copy", &entry("a"));
    let found = Config::discover(copy.parent().unwrap(), &world.places, &[]).unwrap();
    assert_eq!(found.inert[0].path, copy);
    assert_eq!(found.inert[0].why, Inert::NeverApproved);
}

#[test]
fn an_approval_can_be_taken_back_also_of_a_file_that_is_gone() {
    let world = World::new();
    let file = world.write_project("", &entry("a"));
    world.approve(&file);
    let store = TrustStore::of(&world.places);
    let digest = Digest::of_bytes(entry("a").as_bytes());
    assert_eq!(store.approved().unwrap(), [Approved { path: file.clone(), digest }]);
    fs::remove_file(&file).unwrap();
    assert!(store.revoke(&file).unwrap());
    assert!(!store.revoke(&file).unwrap());
    assert!(store.approved().unwrap().is_empty());
}

#[test]
fn an_edit_at_the_users_command_renews_an_approval_and_never_makes_one() {
    let world = World::new();
    let file = world.write_project("", &entry("a"));
    let (before, after) = (Digest::of_bytes(entry("a").as_bytes()), Digest::of_bytes(entry("b").as_bytes()));
    let store = TrustStore::of(&world.places);
    assert!(!store.renew(&file, before, after).unwrap());
    world.approve(&file);
    assert!(!store.renew(&file, after, before).unwrap(), "another content was approved");
    assert!(store.renew(&file, before, after).unwrap());
    world.write_project("", &entry("b"));
    assert_eq!(world.names(), ["b"]);
}

#[cfg(unix)]
#[test]
fn a_project_reached_through_a_symbolic_link_is_the_same_project() {
    let world = World::new();
    let link = world.root.path().join("link");
    std::os::unix::fs::symlink(&world.project, &link).unwrap();
    world.write_project("", &entry("a"));
    world.approve(&link.join("hookhost.toml"));
    for cwd in [&link, &world.project] {
        let found = Config::discover(cwd, &world.places, &[]).unwrap();
        assert_eq!(found.config.entries()[0].path, world.project.join("a.wasm"));
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_an_approved_file_counts_as_that_file_and_its_paths_stay_in_that_files_folder() {
    let world = World::new();
    world.approve(&world.write_project("", &entry("a")));
    let clone = world.root.path().join("clone");
    fs::create_dir(&clone).unwrap();
    std::os::unix::fs::symlink(world.project.join("hookhost.toml"), clone.join("hookhost.toml")).unwrap();
    let found = Config::discover(&clone, &world.places, &[]).unwrap();
    assert_eq!(found.config.entries()[0].path, world.project.join("a.wasm"));
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_announced_and_waited_for_by_nobody() {
    let world = World::new();
    let file = world.project.join("hookhost.toml");
    std::os::unix::fs::symlink("nowhere", &file).unwrap();
    let why = || world.discover().unwrap().inert[0].clone();
    assert!(matches!(why().why, Inert::Unreadable(_)) && why().digest.is_none());
    fs::remove_file(&file).unwrap();
    // A socket stands for a named pipe: opening either would hang or fail.
    let _socket = std::os::unix::net::UnixListener::bind(&file).unwrap();
    assert!(why().to_string().contains("it is not a regular file"), "{}", why());
}

#[cfg(unix)]
#[test]
fn the_store_is_the_users_alone_whatever_its_folder_was_before() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    fs::create_dir(&world.places.state).unwrap();
    fs::set_permissions(&world.places.state, fs::Permissions::from_mode(0o777)).unwrap();
    world.approve(&world.write_project("", &entry("a")));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&world.places.state), 0o700);
    assert_eq!(mode(&world.places.state.join("trust.json")), 0o600);
}

#[cfg(unix)]
#[test]
fn a_store_that_others_can_write_proves_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.approve(&world.write_project("", &entry("a")));
    fs::set_permissions(world.places.state.join("trust.json"), fs::Permissions::from_mode(0o666)).unwrap();
    let error = world.discover().unwrap_err().to_string();
    assert!(error.contains("other users can write it") && error.contains("`hookhost trust`"), "{error}");
}

#[test]
fn a_damaged_store_is_an_error_and_never_an_approval() {
    let world = World::new();
    world.approve(&world.write_project("", &entry("a")));
    let store = world.places.state.join("trust.json");
    let whole = fs::read_to_string(&store).unwrap();
    for damaged in ["", "{}", &whole[..whole.len() / 2], &whole.replace("approved", "aproved")] {
        fs::write(&store, damaged).unwrap();
        assert!(matches!(world.discover(), Err(Error::TrustStore { .. })), "{damaged}");
    }
}

#[test]
fn approvals_at_the_same_time_lose_none() {
    let world = World::new();
    let files: Vec<_> = (0..16).map(|n| world.write_project(&n.to_string(), &entry("a"))).collect();
    std::thread::scope(|scope| {
        for file in &files {
            scope.spawn(|| world.approve(file));
        }
    });
    assert_eq!(TrustStore::of(&world.places).approved().unwrap().len(), files.len());
}
