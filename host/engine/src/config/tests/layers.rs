//! The user's file and a project's file are combined. A project's file cannot remove anything from the user's file.

use std::fs;

use super::{World, entry};
use crate::config::{Config, ConfigError, Inert, Layer};

#[test]
fn without_any_file_nothing_loads_and_nothing_is_inert() {
    let found = World::new().discover().unwrap();
    assert!(found.config.entries().is_empty() && found.inert.is_empty() && found.config.files().is_empty());
}

#[test]
fn the_users_file_and_an_approved_project_file_add_up() {
    let world = World::new();
    let user = world.write_user(&entry("mine"));
    let project = world.write_project("", &entry("theirs"));
    assert_eq!(world.names(), ["mine"]);
    world.approve(&project);
    let config = world.discover().unwrap().config;
    let found: Vec<_> = config
        .entries()
        .iter()
        .map(|entry| (entry.name.as_str(), entry.code.path().unwrap().to_owned(), entry.origin.as_ref().unwrap().layer))
        .collect();
    let expected = [
        ("mine", user.with_file_name("mine.wasm"), Layer::User),
        ("theirs", project.with_file_name("theirs.wasm"), Layer::Project),
    ];
    assert_eq!(found, expected);
    assert_eq!(config.files(), [user, project]);
}

#[test]
fn an_unapproved_project_file_is_announced_and_not_even_parsed() {
    let world = World::new();
    world.write_project("", "this is [not TOML");
    let found = world.discover().unwrap();
    assert_eq!(found.config.entries().len(), 0);
    assert_eq!(found.inert.len(), 1);
    assert_eq!(found.inert[0].why, Inert::NeverApproved);
    assert_eq!(found.inert[0].path, world.project.join("hookhost.toml"));
}

#[test]
fn a_project_file_is_found_from_any_directory_below_it() {
    let world = World::new();
    let file = world.write_project("", &entry("a"));
    world.approve(&file);
    let deep = world.project.join("src/deep");
    fs::create_dir_all(&deep).unwrap();
    let found = Config::discover(&deep, &world.places, &[]).unwrap();
    assert_eq!(found.config.entries()[0].code.path().unwrap(), world.project.join("a.wasm"));
}

#[test]
fn a_file_further_down_takes_away_nothing_from_one_further_up() {
    let world = World::new();
    let outer = world.write_project("", &entry("outer"));
    let inner = world.write_project("sub", &entry("inner"));
    world.approve(&outer);
    let discover = || Config::discover(&world.project.join("sub"), &world.places, &[]).unwrap();
    let names = |config: &Config| config.entries().iter().map(|entry| entry.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&discover().config), ["outer"]);
    assert_eq!(discover().inert[0].path, inner);
    world.approve(&inner);
    assert_eq!(names(&discover().config), ["outer", "inner"]);
}

#[test]
fn a_project_cannot_reuse_a_name_or_a_file_of_the_users() {
    let world = World::new();
    let user = world.write_user(&entry("guard"));
    let same_name = entry("guard").replace("path = \"", "path = \"elsewhere/") + "mode = 'observe'\n";
    let same_file = entry("other").replace("other.wasm", user.with_file_name("guard.wasm").to_str().unwrap());
    for (text, line, expected) in [
        (same_name, 2, format!("the name `guard` is taken: the entry at {}:2 has it", user.display())),
        (same_file, 3, format!("`guard`, at {}:3, is an entry of the same file", user.display())),
    ] {
        let project = world.write_project("", &text);
        world.approve(&project);
        let error = world.discover().unwrap_err().to_string();
        assert!(
            error.contains(&expected) && error.starts_with(&format!("{}:{line}:8: ", project.display())),
            "{error}"
        );
    }
}
#[test]
fn two_names_for_one_file_are_found_through_symbolic_links() {
    let world = World::new();
    fs::write(world.project.join("a.wasm"), "").unwrap();
    std::os::unix::fs::symlink("a.wasm", world.project.join("b.wasm")).unwrap();
    let file = world.write_project("", &(entry("a") + &entry("b")));
    let error = Config::open(&file, &world.places, &[]).unwrap_err().to_string();
    assert!(error.contains("is an entry of the same file"), "{error}");
}

#[test]
fn a_project_can_tighten_a_setting_and_not_loosen_it() {
    let streams = |value: bool| format!("[settings]\nstream-unfinalised = {value}\n");
    let settle = |user: Option<bool>, project: Option<bool>| {
        let world = World::new();
        let user = world.write_user(&user.map(streams).unwrap_or_default());
        let project = world.write_project("", &project.map(streams).unwrap_or_default());
        world.approve(&project);
        let found = world.discover().map(|found| found.config.settings().stream_unfinalised);
        found.map_err(|error| {
            let error = error.to_string();
            assert!(
                error.starts_with(&format!("{}:2:22: a project's file cannot loosen", project.display())),
                "{error}"
            );
            error.contains(&format!("{}:2", user.display()))
        })
    };
    assert_eq!(settle(None, None), Ok(false));
    assert_eq!(settle(Some(true), None), Ok(true));
    assert_eq!(settle(Some(true), Some(false)), Ok(false));
    assert_eq!(settle(Some(true), Some(true)), Ok(true));
    assert_eq!(settle(Some(false), Some(true)), Err(true), "the user's line is named");
    assert_eq!(settle(None, Some(true)), Err(false), "there is no line to name");
}

#[test]
fn a_project_can_hide_more_variables_and_pass_none_on() {
    #[derive(serde::Deserialize, Debug, PartialEq)]
    #[serde(rename_all = "kebab-case")]
    struct Agent {
        hidden_variables: Vec<String>,
        passed_variables: Vec<String>,
    }
    let world = World::new();
    let user = "[agent]\nhidden-variables = ['A']\n";
    world.write_user(&format!("{user}passed-variables = ['B']\n"));
    let project = world.write_project("", "[agent]\nhidden-variables = ['C']\n");
    world.approve(&project);
    let agent: Agent = world.discover().unwrap().config.section("agent").unwrap().unwrap();
    assert_eq!(agent.hidden_variables, ["A", "C"]);
    assert_eq!(agent.passed_variables, ["B"]);
    for user in [user, ""] {
        world.write_user(user);
        for text in ["[agent]\npassed-variables = []\n", "agent = { passed-variables = ['A'] }\n"] {
            let project = world.write_project("", text);
            world.approve(&project);
            let error = world.discover().unwrap_err().to_string();
            assert!(error.contains("a project's file cannot set `agent.passed-variables`"), "{error}");
        }
    }
    world.write_user("[agent]\nmodels = ['a']\n");
    let project = world.write_project("", "[agent]\nmodels = ['b']\n");
    world.approve(&project);
    assert!(world.discover().unwrap_err().to_string().contains("is already set"), "no other list is added to");
}

#[test]
fn an_embedders_section_adds_up_and_no_key_is_overridden() {
    #[derive(serde::Deserialize, Debug, PartialEq)]
    struct Agent {
        model: Option<String>,
        provider: Option<Provider>,
    }
    #[derive(serde::Deserialize, Debug, PartialEq)]
    struct Provider {
        name: Option<String>,
        url: Option<String>,
    }
    let world = World::new();
    let user = world.write_user("[agent]\nprovider = { url = 'http://mine' }\n");
    world.approve(&world.write_project("", "[agent]\nmodel = 'm'\nprovider = { name = 'n' }"));
    let agent: Agent = world.discover().unwrap().config.section("agent").unwrap().unwrap();
    let provider = Provider { name: Some("n".into()), url: Some("http://mine".into()) };
    assert_eq!(agent, Agent { model: Some("m".into()), provider: Some(provider) });

    let project = world.write_project("", "[agent]\n[agent.provider]\nurl = 'http://theirs'");
    world.approve(&project);
    let error = world.discover().unwrap_err().to_string();
    let expected = format!("{}:3:1: `agent.provider.url` is already set at {}:2", project.display(), user.display());
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn a_chosen_file_counts_alone_and_needs_no_approval() {
    let world = World::new();
    world.write_user(&entry("mine"));
    let file = world.write_project("", &entry("chosen"));
    let config = Config::open(&file, &world.places, &[]).unwrap();
    let origins: Vec<_> = config.entries().iter().map(|entry| entry.origin.as_ref().unwrap().layer).collect();
    assert_eq!(origins, [Layer::Chosen]);
}

#[test]
fn a_mistake_in_any_file_that_counts_stops_everything() {
    let world = World::new();
    world.write_user(&(entry("mine") + "mod = 'observe'"));
    world.approve(&world.write_project("", &(entry("theirs") + "prio = 1")));
    let Err(ConfigError::Invalid(problems)) = world.discover() else { panic!("it is accepted") };
    assert_eq!(problems.iter().count(), 2);
}

#[test]
fn the_users_own_file_is_not_a_projects_for_those_who_work_in_its_directory() {
    let world = World::new();
    world.write_user(&entry("mine"));
    let found = Config::discover(&world.places.config, &world.places, &[]).unwrap();
    assert_eq!((found.config.entries().len(), found.inert.len()), (1, 0));
}

#[test]
fn an_entry_is_found_by_any_spelling_of_its_path() {
    let world = World::new();
    fs::write(world.project.join("a.wasm"), "").unwrap();
    let config = Config::open(&world.write_project("", &entry("a")), &world.places, &[]).unwrap();
    assert!(config.entry_at(&world.project.join("../project/./a.wasm")).is_some());
    assert!(config.entry_at(&world.project.join("b.wasm")).is_none());
}

#[test]
fn what_cannot_be_a_configuration_is_refused_with_its_name() {
    let world = World::new();
    let file = world.project.join("x.toml");
    fs::write(&file, [b'#', 0xff]).unwrap();
    let open = |path| Config::open(path, &world.places, &[]).unwrap_err().to_string();
    assert_eq!(open(&file), format!("{} cannot be a configuration: it is not UTF-8 text", file.display()));
    assert!(open(&world.project).contains("it is not a regular file"));
    let missing = world.project.join("missing.toml");
    assert!(open(&missing).starts_with(&format!("cannot read {}: ", missing.display())));
    fs::write(&file, vec![b'#'; (4 << 20) + 1]).unwrap();
    assert!(open(&file).contains("larger than 4 MiB"));
}

#[test]
fn rules_that_cannot_be_looked_for_are_not_no_rules() {
    let world = World::new();
    // The user has no configuration directory, so there are no entries.
    fs::remove_dir(&world.places.config).unwrap();
    assert!(world.discover().unwrap().config.entries().is_empty());
    fs::write(&world.places.config, "a file in the place of the directory").unwrap();
    let error = world.discover().unwrap_err();
    assert!(matches!(error, ConfigError::Io { .. }), "{error}");
    fs::remove_file(&world.places.config).unwrap();
    std::os::unix::fs::symlink("nowhere", &world.places.config).unwrap();
    let error = world.discover().unwrap_err();
    assert!(matches!(error, ConfigError::Io { action: "look into", .. }), "{error}");
}
