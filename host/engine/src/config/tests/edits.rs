//! `allow` writes an entry and leaves all other bytes of the file unchanged.

use std::fs;

use serde_json::json;

use super::{SHA256, World, entry};
use crate::config::edit::{Change, Edited, allow, replace_audit_modes};
use crate::config::{Config, ConfigError, Digest, Entry};

const OTHER: &str = "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752";

fn new(world: &World, name: &str, digest: &str) -> Entry {
    Entry::new(name, world.project.join(format!("{name}.wasm")), digest.parse().unwrap())
}

fn write(world: &World, entry: &Entry) -> Result<Edited, ConfigError> {
    allow(&world.project.join("hookhost.toml"), entry, &world.places, &["agent"])
}

#[test]
fn a_first_entry_makes_the_file_and_its_directory() {
    let world = World::new();
    let file = world.project.join("made/here/hookhost.toml");
    let written = allow(&file, &new(&world, "a", SHA256), &world.places, &[]).unwrap();
    let expected = format!(
        "[[plugin]]\nname = \"a\"\npath = \"{}\"\nsha256 = \"{SHA256}\"\n",
        world.project.join("a.wasm").display()
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    let after = Digest::of_bytes(expected.as_bytes());
    assert_eq!(written, Edited { file, line: 1, text: expected, change: Change::Added, before: None, after });
}

#[test]
fn a_new_entry_is_appended_and_all_that_was_there_stays_byte_for_byte() {
    let world = World::new();
    let old = format!("# mine\n\n{}\n  [ settings ]  # odd\tspacing\nstream-unfinalised=false", entry("b"));
    let file = world.write_project("", &old);
    let mut asked = new(&world, "a", SHA256);
    asked.config = json!({"protected": ["infra/**", "it's \"quoted\""], "deep": {"n": 1}}).as_object().unwrap().clone();
    asked.grants.env = vec!["CI".into()];
    let written = write(&world, &asked).unwrap();
    assert_eq!(written.line, 11);

    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, format!("{old}\n\n{}", written.text));
    let config = Config::open(&file, &world.places, &[]).unwrap();
    let found = config.entry("a").unwrap();
    assert_eq!(found.origin.as_ref().unwrap().line, written.line);
    assert_eq!(Entry { origin: None, ..found.clone() }, asked);
    assert!(written.text.contains("path = \"a.wasm\""), "relative to the file where it can be: {}", written.text);
}

#[test]
fn a_file_with_windows_line_ends_keeps_them() {
    let world = World::new();
    for old in ["# mine\r\n", "# mine\r\n# end"] {
        let file = world.write_project("", old);
        write(&world, &new(&world, "a", SHA256)).unwrap();
        let text = fs::read_to_string(file).unwrap();
        assert!(text.starts_with(old), "{text:?}");
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text:?}");
    }
}

#[test]
fn the_same_name_and_path_gets_the_new_digest_and_keeps_its_grants_and_comments() {
    let world = World::new();
    let old = format!("{}# why\ngrants = {{ clock = true }}\n", entry("a").replace('\n', " # kept\n"));
    let file = world.write_project("", &old);
    let written = write(&world, &new(&world, "a", OTHER)).unwrap();
    assert_eq!(written.change, Change::DigestUpdated { from: SHA256.parse().unwrap() });
    assert_eq!(written.text, format!("sha256 = \"{OTHER}\" # kept"));
    assert_eq!(fs::read_to_string(&file).unwrap(), old.replace(SHA256, OTHER));
}

#[test]
fn the_same_digest_changes_nothing() {
    let world = World::new();
    let file = world.write_project("", &entry("a"));
    let written = write(&world, &new(&world, "a", SHA256)).unwrap();
    assert_eq!((written.change, written.before), (Change::Unchanged, Some(written.after)));
    assert_eq!(fs::read_to_string(file).unwrap(), entry("a"));
}

#[test]
fn a_name_or_a_file_that_is_taken_is_refused_with_its_place() {
    let world = World::new();
    let file = world.write_project("", &entry("a"));
    let other_path = Entry::new("a", world.project.join("b.wasm"), SHA256.parse().unwrap());
    let other_name = Entry { name: "b".into(), ..new(&world, "a", SHA256) };
    for (asked, expected) in [(other_path, "has that name for"), (other_name, "has that file, under the name `a`")] {
        let error = write(&world, &asked).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(&format!("{}:2", file.display())), "{error}");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), entry("a"));
}

#[test]
fn a_file_with_a_mistake_is_not_touched() {
    let world = World::new();
    let old = entry("a") + "prio = 3\n";
    let file = world.write_project("", &old);
    assert!(matches!(write(&world, &new(&world, "b", SHA256)), Err(ConfigError::Invalid(_))));
    assert_eq!(fs::read_to_string(file).unwrap(), old);
}

#[test]
fn an_entry_that_breaks_a_rule_is_not_written() {
    let world = World::new();
    let mut null = new(&world, "a", SHA256);
    null.config = json!({"x": null}).as_object().unwrap().clone();
    for bad in [new(&world, "no good", SHA256), null] {
        assert!(write(&world, &bad).is_err());
    }
    assert!(!world.project.join("hookhost.toml").exists());
}
#[test]
fn a_linked_file_is_written_where_it_really_is_and_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let real = world.write_project("dotfiles", "");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = world.project.join("hookhost.toml");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let written = write(&world, &new(&world, "a", SHA256)).unwrap();
    assert_eq!(written.file, real);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(real.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn entries_that_are_written_at_the_same_time_lose_none() {
    let world = World::new();
    let names: Vec<_> = (0..16).map(|n| format!("p{n}")).collect();
    let file = world.write_project("", "# mine\n");
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| write(&world, &new(&world, name, SHA256)).unwrap());
        }
    });
    let config = Config::open(&file, &world.places, &[]).unwrap();
    assert_eq!(config.entries().len(), names.len());
}

#[test]
fn the_mode_audit_of_an_older_file_becomes_observe_and_all_else_stays() {
    let world = World::new();
    let old = format!(
        "# mine\n{}mode = 'audit' # for now\n[plugin.config]\nmode = 'audit'\n\n[mcp-proxy]\nmode = \"audit\"\n[mcp-proxy.servers.a]\n\
         mode = \"audit\"\n[settings.audit]\nmask = ['audit']\n",
        entry("a")
    );
    let replace = |text: &str| {
        let file = world.write_user(text);
        (replace_audit_modes(&file, &world.places, &["mcp-proxy"]), fs::read_to_string(&file).unwrap())
    };
    let (count, new) = replace(&old);
    let expected =
        old.replacen("mode = 'audit' #", "mode = \"observe\" #", 1).replace("mode = \"audit\"", "mode = \"observe\"");
    assert_eq!((count.unwrap(), &new), (3, &expected));
    assert_eq!(replace(&new).0.unwrap(), 0);
    let broken = entry("a") + "mode = 'audit'\nno = 1\n";
    let (refused, kept) = replace(&broken);
    assert!(matches!(refused, Err(ConfigError::Invalid(_))));
    assert_eq!(kept, broken);
}
