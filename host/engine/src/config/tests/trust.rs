//! Exactly the content of a project's file that the user has approved applies, until a change is approved or the
//! approval is revoked.

use std::collections::BTreeMap;
use std::fs;

use super::{World, entry};
use crate::config::project_file::ProjectFile;
use crate::config::trust::{Approved, TrustStore};
use crate::config::{Config, ConfigError, Digest, Found, Inert};

#[test]
fn what_was_approved_counts_whatever_happens_to_the_file() {
    let world = World::new();
    let file = world.write_project(
        "",
        &(entry("a") + "[[rule]]\nid = \"b\"\non = \"bash\"\nask = \"Sure?\"\n[agent]\nmodel = \"m\"\n"),
    );
    world.approve(&file);
    let approved = ProjectFile::read(&file).unwrap().digest;
    let counts_in_place_of = |found: Found| {
        let discovered = world.discover().unwrap();
        let names: Vec<_> = discovered.config.entries().iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["a"]);
        assert_eq!((discovered.config.rules().len(), discovered.config.files()), (1, &[file.clone()][..]));
        assert!(discovered.config.section::<toml::Table>("agent").unwrap().is_some());
        assert!(discovered.inert.is_empty());
        let [change] = &discovered.changes[..] else { panic!("{:?}", discovered.changes) };
        assert_eq!((&change.path, change.approved, &change.found), (&file, approved, &found));
        assert!(
            change
                .to_string()
                .ends_with("the approved content is used until you approve the change or revoke the approval")
        );
    };
    for text in ["", "# harmless\n", "[[plugin]]\nname = 1\n", &entry("b")] {
        world.write_project("", text);
        counts_in_place_of(Found::Changed { digest: Digest::of_bytes(text.as_bytes()) });
    }
    fs::remove_file(&file).unwrap();
    counts_in_place_of(Found::Nothing);
    fs::create_dir(&file).unwrap();
    counts_in_place_of(Found::Unreadable("it is not a regular file".to_owned()));
    fs::remove_dir(&file).unwrap();
    fs::remove_dir(&world.project).unwrap();
    fs::create_dir(&world.project).unwrap();
    counts_in_place_of(Found::Nothing);

    // The approved content applies until the change is approved or the approval is revoked.
    world.approve(&world.write_project("", &entry("b")));
    assert_eq!(world.names(), ["b"]);
    assert!(world.discover().unwrap().changes.is_empty());
    world.write_project("", "");
    assert!(TrustStore::of(&world.places).revoke(&file).unwrap());
    assert!(world.names().is_empty());
    assert_eq!(world.discover().unwrap().inert[0].why, Inert::NeverApproved);
}

#[test]
fn an_approval_of_a_digest_alone_counts_while_the_file_has_it_and_is_completed_with_the_next_one() {
    let world = World::new();
    let file = world.write_project("", &entry("a"));
    let digest = Digest::of_bytes(entry("a").as_bytes());
    let store = world.places.state.join("trust.json");
    fs::create_dir_all(&world.places.state).unwrap();
    let earlier = format!("{{\"approved\": {{{:?}: \"{digest}\"}}}}", file.to_str().unwrap());
    fs::write(&store, &earlier).unwrap();
    assert_eq!(world.names(), ["a"]);
    for change in [Some("# edited\n"), None] {
        match change {
            Some(text) => drop(world.write_project("", text)),
            None => fs::remove_file(&file).unwrap(),
        }
        let found = world.discover().unwrap();
        assert!(found.config.entries().is_empty() && found.changes.is_empty());
        assert_eq!(found.inert[0].why, Inert::Lost { approved: digest });
        let said = found.inert[0].to_string();
        assert!(said.contains("an earlier hookhost kept only the digest"), "{said}");
    }
    world.write_project("", &entry("a"));
    world.approve(&world.write_project("other", &entry("b")));
    world.write_project("", "# edited\n");
    assert_eq!(world.names(), ["a"]);
}

#[test]
fn a_store_whose_content_has_another_digest_is_damaged() {
    let world = World::new();
    world.approve(&world.write_project("", &entry("a")));
    let store = world.places.state.join("trust.json");
    let text = fs::read_to_string(&store).unwrap().replace("a.wasm", "b.wasm");
    fs::write(&store, text).unwrap();
    assert!(matches!(world.discover(), Err(ConfigError::TrustStore { .. })));
}

#[test]
fn the_store_holds_sixteen_mebibytes_and_says_what_to_do_beyond() {
    let world = World::new();
    let comment = format!("# {}\n", "x".repeat((4 << 20) - 8));
    for name in ["a", "b", "c"] {
        world.approve(&world.write_project(name, &comment));
    }
    let store = TrustStore::of(&world.places);
    let fourth = ProjectFile::read(&world.write_project("d", &comment)).unwrap();
    let error = store.approve(&fourth).unwrap_err();
    assert!(
        matches!(error, ConfigError::TrustStoreFull { .. }) && error.to_string().contains("--revoke PATH"),
        "{error}"
    );
    assert_eq!(store.approved().unwrap().len(), 3);
}

#[test]
fn what_is_approved_is_what_was_shown_not_what_the_file_has_become() {
    let world = World::new();
    let path = world.write_project("", &entry("shown"));
    let shown = ProjectFile::read(&path).unwrap();
    world.write_project("", &entry("swapped"));
    TrustStore::of(&world.places).approve(&shown).unwrap();
    assert_eq!(world.names(), ["shown"]);
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
    let content = Some(entry("a"));
    assert_eq!(
        store.approved().unwrap(),
        [Approved { path: file.clone(), digest, content, rule_files: BTreeMap::new() }]
    );
    fs::remove_file(&file).unwrap();
    assert!(store.revoke(&file).unwrap());
    assert!(!store.revoke(&file).unwrap());
    assert!(store.approved().unwrap().is_empty());
}

#[test]
fn an_edit_at_the_users_command_renews_an_approval_and_never_makes_one() {
    let world = World::new();
    let file = world.write_project("", &entry("a"));
    let before = ProjectFile::read(&file).unwrap();
    let after = ProjectFile::read(&world.write_project("", &entry("b"))).unwrap();
    let store = TrustStore::of(&world.places);
    assert!(!store.renew(before.digest, &after).unwrap());
    store.approve(&before).unwrap();
    assert!(!store.renew(after.digest, &after).unwrap(), "another content was approved");
    assert_eq!(world.names(), ["a"]);
    assert!(store.renew(before.digest, &after).unwrap());
    assert_eq!(world.names(), ["b"]);
    fs::remove_file(&file).unwrap();
    assert_eq!(world.names(), ["b"], "the new content is kept as the old was");
}
#[test]
fn a_project_reached_through_a_symbolic_link_is_the_same_project() {
    let world = World::new();
    let link = world.root.path().join("link");
    std::os::unix::fs::symlink(&world.project, &link).unwrap();
    world.write_project("", &entry("a"));
    world.approve(&link.join("hookhost.toml"));
    for cwd in [&link, &world.project] {
        let found = Config::discover(cwd, &world.places, &[]).unwrap();
        assert_eq!(found.config.entries()[0].code.path().unwrap(), world.project.join("a.wasm"));
    }
}
#[test]
fn a_link_to_an_approved_file_counts_for_nothing_where_it_lies() {
    let world = World::new();
    let approved = world.write_project("", &(entry("a") + "[agent]\nmodel = \"m\"\n"));
    world.approve(&approved);
    let clone = world.root.path().join("work/clone").join("inner");
    fs::create_dir_all(&clone).unwrap();
    let clone = clone.canonicalize().unwrap();
    let link = clone.join("hookhost.toml");
    for target in [approved.clone(), "../../project/hookhost.toml".into()] {
        std::os::unix::fs::symlink(target, &link).unwrap();
        let found = Config::discover(&clone, &world.places, &["agent"]).unwrap();
        assert!(found.config.entries().is_empty() && found.config.files().is_empty());
        assert!(found.config.section::<toml::Table>("agent").unwrap().is_none());
        assert_eq!((&found.inert[0].path, &found.inert[0].why), (&link, &Inert::Link));
        assert!(found.inert[0].to_string().contains("it is a symbolic link"), "{}", found.inert[0]);
        assert!(matches!(ProjectFile::read(&link), Err(ConfigError::Link { .. })), "it cannot be approved either");
        // The path of the link does not revoke the approval of the file that the link leads to.
        assert!(!TrustStore::of(&world.places).revoke(&link).unwrap());
        fs::remove_file(&link).unwrap();
    }
    // A hard link is not a symbolic link, but it has a path that the user has not approved.
    fs::hard_link(&approved, &link).unwrap();
    let found = Config::discover(&clone, &world.places, &["agent"]).unwrap();
    assert_eq!(found.inert[0].why, Inert::NeverApproved);
    assert!(found.config.entries().is_empty());
}
#[test]
fn an_approved_file_that_becomes_a_link_leaves_what_was_approved() {
    let world = World::new();
    let file = world.write_project("", &entry("a"));
    world.approve(&file);
    let other = world.write_project("other", &entry("b"));
    world.approve(&other);
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(other, &file).unwrap();
    assert_eq!(world.names(), ["a"]);
    assert_eq!(world.discover().unwrap().changes[0].found, Found::Unreadable("it is a symbolic link".to_owned()));
}
#[test]
fn the_users_own_file_may_be_a_link_and_needs_no_approval_beside_it_or_where_it_leads() {
    let world = World::new();
    let dotfiles = world.write_project("dotfiles", &entry("a"));
    std::os::unix::fs::symlink(&dotfiles, world.places.user_file()).unwrap();
    for cwd in [dotfiles.parent().unwrap(), &world.places.config] {
        let found = Config::discover(cwd, &world.places, &[]).unwrap();
        assert_eq!(found.config.entries()[0].code.path().unwrap(), dotfiles.with_file_name("a.wasm"));
        assert!(found.inert.is_empty(), "{:?}", found.inert);
    }
}
#[test]
fn a_directory_that_a_project_grants_does_not_lead_out_of_it_by_a_link() {
    let world = World::new();
    let outside = world.root.path().canonicalize().unwrap().join("home");
    fs::create_dir_all(world.project.join("real")).unwrap();
    for key in ["read-dirs", "write-dirs"] {
        let text = format!("{}[plugin.grants]\n{key} = {{ \"/policy\" = \"./policy\" }}\n", entry("a"));
        world.approve(&world.write_project("", &text));
        let policy = world.project.join("policy");
        std::os::unix::fs::symlink(&outside, &policy).unwrap();
        let error = world.discover().unwrap_err().to_string();
        assert!(error.contains(&format!("of its `{key}` is a symbolic link that leads out of the project")), "{error}");
        fs::remove_file(&policy).unwrap();
        std::os::unix::fs::symlink("real", &policy).unwrap();
        assert_eq!(world.names(), ["a"], "a link within the project");
        fs::remove_file(&policy).unwrap();
    }
    // A directory outside of the project that the file names is allowed, because the user has approved this path.
    let text =
        format!("{}[plugin.grants]\nread-dirs = {{ \"/home\" = {:?} }}\n", entry("a"), outside.to_str().unwrap());
    world.approve(&world.write_project("", &text));
    assert_eq!(world.names(), ["a"]);
}
#[test]
fn a_file_that_others_can_write_is_not_the_users_word() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let chosen = world.write_project("chosen", &entry("c"));
    let user = world.write_user(&entry("a"));
    let refused = |result: Result<(), ConfigError>, path: &std::path::Path| match result {
        Err(ConfigError::Refused(refused)) => {
            assert_eq!(refused.path, path);
            assert!(
                refused.fault.contains("other users can write it") && refused.remedy.contains("`chmod go-w"),
                "{refused}"
            );
        }
        other => panic!("{other:?}"),
    };
    let open = || Config::open(&chosen, &world.places, &[]).map(drop);
    for path in [&*user, user.parent().unwrap()] {
        mode(path, 0o777);
        refused(world.discover().map(drop), path);
        mode(path, 0o755);
    }
    for path in [&*chosen, chosen.parent().unwrap()] {
        mode(path, 0o777);
        refused(open(), path);
        mode(path, 0o755);
    }
    open().unwrap();
    // A project's file is approved by its content, so it does not matter who can write it.
    let project = world.write_project("", &entry("b"));
    world.approve(&project);
    mode(&project, 0o666);
    assert_eq!(world.names(), ["a", "b"]);
}
#[test]
fn what_cannot_be_read_is_announced_and_waited_for_by_nobody() {
    let world = World::new();
    let file = world.project.join("hookhost.toml");
    std::os::unix::fs::symlink("nowhere", &file).unwrap();
    let why = || world.discover().unwrap().inert[0].clone();
    assert_eq!((why().why, why().digest), (Inert::Link, None));
    fs::remove_file(&file).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(&file).unwrap();
    assert!(matches!(why().why, Inert::Unreadable(_)), "{}", why());
    fs::remove_file(&file).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    assert!(why().to_string().ends_with("is not used: it is not a regular file"), "{}", why());
}
#[test]
fn the_store_is_the_users_alone_whatever_its_directory_was_before() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    fs::create_dir(&world.places.state).unwrap();
    fs::set_permissions(&world.places.state, fs::Permissions::from_mode(0o777)).unwrap();
    world.approve(&world.write_project("", &entry("a")));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&world.places.state), 0o700);
    assert_eq!(mode(&world.places.state.join("trust.json")), 0o600);
}
#[test]
fn a_store_that_others_can_write_proves_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.approve(&world.write_project("", &entry("a")));
    fs::set_permissions(world.places.state.join("trust.json"), fs::Permissions::from_mode(0o666)).unwrap();
    let error = world.discover().unwrap_err().to_string();
    assert!(error.contains("other users can write it (mode 666)") && error.contains("`chmod go-w"), "{error}");
}

#[test]
fn a_damaged_store_is_an_error_and_never_an_approval() {
    let world = World::new();
    world.approve(&world.write_project("", &entry("a")));
    let store = world.places.state.join("trust.json");
    let whole = fs::read_to_string(&store).unwrap();
    for damaged in ["", "{}", &whole[..whole.len() / 2], &whole.replace("approved", "aproved")] {
        fs::write(&store, damaged).unwrap();
        assert!(matches!(world.discover(), Err(ConfigError::TrustStore { .. })), "{damaged}");
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
