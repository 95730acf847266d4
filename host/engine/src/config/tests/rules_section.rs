//! `[rules]`: observing, leaving out, modes, and further files with rules.

use std::fs;
use std::path::PathBuf;

use super::{World, parse};
use crate::config::edit_rules::RulesEdit;
use crate::config::project_file::ProjectFile;
use crate::config::trust::TrustStore;
use crate::config::{Code, Config, ConfigError, Digest, Entry, Found, Rule, discover::rule_files};

const EXAMPLES: &str = "program = 'x'\nstops = ['x']\npasses = ['y']\n";

/// A rule about a command, with this answer.
fn rule(id: &str, answer: &str) -> String {
    format!("[[rule]]\nid = '{id}'\non = 'shell'\n{answer} = '{id}'\n{EXAMPLES}")
}

fn answers(rules: &[Rule]) -> Vec<String> {
    let answer = |rule: &Rule| format!("{} {}", rule.row.id, rule.row.answers()[0].name());
    rules.iter().map(answer).collect()
}

fn error(result: Result<Config, ConfigError>) -> String {
    result.unwrap_err().to_string()
}

impl World {
    fn config(&self) -> Result<Config, ConfigError> {
        self.discover().map(|found| found.config)
    }

    /// Writes a file beside the user's own hookhost.toml.
    fn write_beside(&self, name: &str, text: &str) -> PathBuf {
        let file = self.places.config.join(name);
        fs::write(&file, text).unwrap();
        file
    }

    /// Approves a project's file, and returns the configuration with it.
    fn with_project(&self, text: &str) -> Result<Config, ConfigError> {
        let file = self.write_project("", text);
        let file = ProjectFile::read(&file)?.with_rule_files()?;
        TrustStore::of(&self.places).approve(&file)?;
        self.config()
    }
}

#[test]
fn observe_is_about_the_rules_of_its_own_file() {
    let world = World::new();
    world.write_user(&format!("[rules]\nobserve = true\nfiles = ['b.rules.toml']\n{}", rule("a", "ask")));
    world.write_beside("b.rules.toml", &rule("b", "ask"));
    let config = world.with_project(&format!("{}[rules]\nobserve = true\n", rule("c", "reject"))).unwrap();
    let observed: Vec<_> = config.rules().iter().map(|rule| (rule.row.id.as_str(), rule.row.observe)).collect();
    assert_eq!(observed, [("a", true), ("b", false), ("c", true)]);
    world.write_user("");
    world.write_beside("b.rules.toml", &format!("rules.observe = true\n{}", rule("b", "ask")));
    world.write_user("rules.files = ['b.rules.toml']");
    assert!(world.config().unwrap().rules()[0].row.observe, "a file of rules can be observed, too");
}

#[test]
fn off_leaves_out_rules_of_the_user_and_of_the_profile() {
    let world = World::new();
    fs::write(world.places.profile_file(), rule("drop", "ask") + &rule("kept", "ask")).unwrap();
    let user = world.write_user(&format!("[rules]\noff = ['drop', 'mine']\n{}", rule("mine", "reject")));
    let config = world.config().unwrap();
    assert_eq!(answers(config.rules()), ["kept ask"]);
    assert_eq!(answers(config.rules_off()), ["drop ask", "mine reject"]);
    // The file alone is valid, although the profile has one of the ids.
    Config::open(&user, &world.places, &[]).unwrap();
    let project = rule("drop", "reject");
    assert!(error(world.with_project(&project)).contains("the id `drop` is taken"), "an id stays taken");
    world.with_project("").unwrap();
    world.write_user(&format!("[rules]\noff = ['kep']\n{}", rule("mine", "reject")));
    let found = error(world.config());
    assert!(found.contains(":2:8: `rules.off`: none of your rules has the id `kep`: did you mean `kept`?"), "{found}");
    world.write_user(&format!("[rules]\noff = ['theirs']\n{}", rule("mine", "reject")));
    let found = error(world.with_project(&rule("theirs", "reject")));
    assert!(found.contains("none of your rules has the id `theirs`: take it out"), "{found}");
}

#[test]
fn the_priority_is_that_of_the_plugin_that_judges_the_rules() {
    let priority = |text: &str| {
        let code = Code::File { path: "/rules.wasm".into(), digest: Digest::of_bytes(b"") };
        parse(text).unwrap().with_rules_plugin(code).unwrap().entry(Entry::RULES).unwrap().priority
    };
    assert_eq!(priority(&rule("a", "ask")), 50);
    assert_eq!(priority(&format!("rules.priority = -3\n{}", rule("a", "ask"))), -3);
}

#[test]
fn a_mode_puts_one_answer_in_the_place_of_another() {
    let rows = rule("a", "ask") + "instead = 'i'\n" + &rule("b", "reject") + &rule("c", "note") + &rule("d", "label");
    let of = |rules: &str| answers(parse(&format!("{rows}{rules}")).unwrap().rules());
    assert_eq!(of("[rules.modes.night]\nask = 'reject'\n"), ["a ask", "b reject", "c note", "d label"]);
    let night = "[rules]\nmode = 'night'\n[rules.modes.night]\nask = 'reject'\nreject = 'note'\nnote = 'ask'\n";
    assert_eq!(of(night), ["a reject", "b note", "c ask", "d label"]);
    let config = parse(&format!("{rows}{night}")).unwrap();
    let [a, b, ..] = config.rules() else { panic!() };
    assert_eq!(
        (a.row.reject.as_deref(), a.row.instead.as_deref(), a.row.mode.as_deref()),
        (Some("a"), Some("i"), Some("night"))
    );
    assert_eq!((b.row.note.as_deref(), &b.row.reject), (Some("b"), &None));
    let own = rule("a", "ask") + "mode = 'day'\n" + &rule("b", "ask");
    let modes = "[rules]\nmode = 'night'\n[rules.modes]\nnight = { ask = 'reject' }\nday = { ask = 'remind' }\n";
    assert_eq!(answers(parse(&(own + modes)).unwrap().rules()), ["a remind", "b reject"]);
}

#[test]
fn a_mode_gives_a_rule_only_an_answer_that_is_possible() {
    let found = |text: &str| error(parse(text));
    let night = "[rules]\nmode = 'night'\n[rules.modes.night]\n";
    for (text, expected) in [
        (
            format!("{night}reject = 'ask'\n[[rule]]\nid = 'a'\non = 'prompt'\nreject = 'r'\n"),
            ":4:10: `rules.modes.night.reject`: the rule `a` at /etc/hookhost.toml:5 would answer with `ask`, which is not possible for `on = \"prompt\"`",
        ),
        (
            format!("{night}note = 'reject'\n[[rule]]\nid = 'a'\non = 'shell'\nprogram = 'x'\nnote = 'n'\n"),
            "would answer with `reject`, for which it needs `stops` and `passes`",
        ),
        (
            format!("rules.mode = 'nihgt'\n[rules.modes.night]\n{}", rule("a", "ask")),
            ":1:14: `rules.mode`: no mode has the name `nihgt`: did you mean `night`?",
        ),
        (
            format!("{}mode = 'night'\n", rule("a", "ask")),
            ":8:8: `rule.mode`: no mode has the name `night`: there are no modes here",
        ),
        (
            format!("rules.modes.night.ask = 'reject'\n{}mode = 'night'\n", rule("a", "reject")),
            ":9:8: `rule.mode`: the mode `night` does not change the answer",
        ),
        ("[rules.modes.night]\nredact = 'note'".to_owned(), "unknown key `redact` in `rules.modes.night`"),
        ("[rules.modes.night]\nask = 'change'".to_owned(), "unknown word \"change\""),
        ("[[rules]]\nid = 'a'".to_owned(), "a rule is written `[[rule]]`"),
        ("[rules]\nobsrve = true".to_owned(), "unknown key `obsrve` in `rules`: did you mean `observe`?"),
    ] {
        let found = found(&text);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn further_files_belong_to_the_layer_of_the_file_that_names_them() {
    let world = World::new();
    let user = world.write_user(&format!("[rules]\nfiles = ['more/b.rules.toml']\n{}", rule("a", "ask")));
    fs::create_dir(world.places.config.join("more")).unwrap();
    let own = world.write_beside("more/b.rules.toml", &rule("b", "remind"));
    let team = world.project.join("team.rules.toml");
    fs::write(&team, rule("c", "reject")).unwrap();
    let config = world.with_project("rules.files = ['./team.rules.toml']").unwrap();
    let found: Vec<_> = config.rules().iter().map(|rule| (rule.row.id.as_str(), rule.origin.file.as_path())).collect();
    assert_eq!(found, [("a", user.as_path()), ("b", own.as_path()), ("c", team.as_path())]);
    assert_eq!(config.rule_files(), [own.as_path(), team.as_path()]);
    assert_eq!(config.files(), [user.clone(), world.project.join("hookhost.toml")]);
    assert_eq!(rule_files(&world.project, None, &world.places), [own.clone(), team.clone()]);
    assert_eq!(rule_files(&world.project, Some(&user), &world.places), [own]);
    // The answers of a file of a project are those of the project.
    fs::write(&team, rule("c", "remind")).unwrap();
    let found = error(world.with_project("rules.files = ['team.rules.toml']"));
    assert!(found.contains("a rule in a project's file can only `reject`, `ask` or `note`"), "{found}");
    fs::write(&team, rule("b", "reject")).unwrap();
    assert!(error(world.with_project("rules.files = ['team.rules.toml']")).contains("the id `b` is taken"));
}

#[test]
fn a_file_of_rules_has_only_rules_and_a_mistake_in_it_has_its_position() {
    let world = World::new();
    let user = world.write_user("rules.files = ['a.rules.toml']");
    for (text, expected) in [
        (super::entry("a"), ":1:3: `plugin`: only `[[rule]]` tables are possible here"),
        ("[settings]".to_owned(), ":1:2: `settings`: only `[[rule]]` tables are possible here"),
        ("rules.off = ['a']".to_owned(), ":1:7: `rules.off`: a file of rules can only set `rules.observe`"),
        ("rules.files = ['b.rules.toml']".to_owned(), "a file of rules can only set `rules.observe`"),
        (rule("a", "ask") + "no = 1", ":8:1: unknown key `no` in `rule`"),
    ] {
        let file = world.write_beside("a.rules.toml", &text);
        let found = error(world.config());
        assert!(found.contains(&file.display().to_string()) && found.contains(expected), "{found}");
    }
    fs::remove_file(world.places.config.join("a.rules.toml")).unwrap();
    world.write_beside("b.rules.toml", "");
    let found = error(world.config());
    assert!(found.starts_with(&format!("{}:1:16: `rules.files`: there is no file ", user.display())), "{found}");
    assert!(found.contains("did you mean `b.rules.toml`?"), "{found}");
    world.write_user("rules.files = ['a.toml']");
    assert!(error(world.config()).contains("the name of a file of rules ends with `.rules.toml`"));
    let many: Vec<String> = (0..99).map(|number| format!("'{number}.rules.toml'")).collect();
    world.write_user(&format!("rules.files = [{}]", many.join(", ")));
    assert!(error(world.config()).contains("a file names at most 32 files of rules"));
}

#[test]
fn a_projects_files_of_rules_are_below_its_directory_and_are_no_links() {
    let world = World::new();
    fs::write(world.project.join("../out.rules.toml"), rule("a", "reject")).unwrap();
    let out = world.project.join("../out.rules.toml").canonicalize().unwrap();
    for written in ["../out.rules.toml", "a/../../out.rules.toml", "~/out.rules.toml", out.to_str().unwrap()] {
        let found = error(world.with_project(&format!("rules.files = ['{written}']")));
        assert!(
            found.contains("a file of rules of a project is in the directory of its hookhost.toml or below"),
            "{found}"
        );
    }
    let link = |from: &str, to: &str| std::os::unix::fs::symlink(to, world.project.join(from)).unwrap();
    link("link.rules.toml", "../out.rules.toml");
    link("dir", "..");
    for written in ["link.rules.toml", "dir/out.rules.toml"] {
        let found = error(world.with_project(&format!("rules.files = ['{written}']")));
        assert!(found.contains("is a symbolic link"), "{found}");
    }
}

#[test]
fn an_approval_covers_the_files_of_rules_until_their_change_is_approved() {
    let world = World::new();
    let (team, gone) = (world.project.join("team.rules.toml"), world.project.join("gone.rules.toml"));
    fs::write(&team, rule("a", "reject")).unwrap();
    fs::write(&gone, rule("b", "reject")).unwrap();
    let main = "rules.files = ['team.rules.toml', 'gone.rules.toml']";
    world.with_project(main).unwrap();
    let path = world.project.join("hookhost.toml");
    let store = TrustStore::of(&world.places);
    let file = || ProjectFile::read(&path).unwrap().with_rule_files();
    assert!(store.is_approved(&file().unwrap()).unwrap());
    fs::write(&team, rule("a", "note")).unwrap();
    fs::remove_file(&gone).unwrap();
    let found = world.discover().unwrap();
    assert_eq!(answers(found.config.rules()), ["a reject", "b reject"], "the approved content applies");
    let changes: Vec<_> = found.changes.iter().map(|change| (&change.path, &change.named_by, &change.found)).collect();
    let digest = Digest::of_bytes(rule("a", "note").as_bytes());
    assert_eq!(changes, [(&gone, &path, &Found::Nothing), (&team, &path, &Found::Changed { digest })]);
    assert!(matches!(file(), Err(ConfigError::Invalid(_))), "a missing file cannot be approved");
    fs::write(&gone, rule("b", "reject")).unwrap();
    assert!(!store.is_approved(&file().unwrap()).unwrap());
    store.approve(&file().unwrap()).unwrap();
    let found = world.discover().unwrap();
    assert_eq!(
        (answers(found.config.rules()), found.changes.len()),
        (vec!["a note".to_owned(), "b reject".to_owned()], 0)
    );
    // An approval of the main file alone does not make a file of rules count.
    store.approve(&ProjectFile::read(&path).unwrap()).unwrap();
    assert!(error(world.config()).contains("team.rules.toml is not approved"));
    // A change of the main file at the user's command keeps the approval of the others.
    store.approve(&file().unwrap()).unwrap();
    let before = ProjectFile::read(&path).unwrap().digest;
    world.write_project("", &format!("{main}\n# more"));
    assert!(store.renew(before, &ProjectFile::read(&path).unwrap()).unwrap());
    assert_eq!(world.config().unwrap().rules().len(), 2);
}

#[test]
fn a_rule_is_removed_from_the_file_that_has_it() {
    let world = World::new();
    world.write_user("rules.files = ['a.rules.toml']");
    let file = world.write_beside("a.rules.toml", &format!("{}\n{}", rule("a", "ask"), rule("b", "ask")));
    RulesEdit::remove("a", &file, &world.places, &[]).unwrap().write().unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), rule("b", "ask"));
    // A file of rules can also be read alone.
    assert_eq!(answers(Config::open(&file, &world.places, &[]).unwrap().rules()), ["b ask"]);
}

#[test]
fn a_project_cannot_loosen_shadow_or_rename_the_rules_of_the_user() {
    let world = World::new();
    let user = format!(
        "rules.modes.night.ask = 'reject'\nrules.modes.night.reject = 'note'\n{}{}",
        rule("a", "ask"),
        rule("b", "reject")
    );
    world.write_user(&user);
    let before = world.config().unwrap();
    for (text, expected) in [
        (rule("a", "note"), "the id `a` is taken"),
        (rule("c", "remind"), "can only `reject`, `ask` or `note`"),
        (rule("c", "label"), "can only `reject`, `ask` or `note`"),
        (
            "[[rule]]\nid = 'c'\non = 'Bash'\nchange = { command = 'x' }\n".to_owned(),
            "can only `reject`, `ask` or `note`",
        ),
        (
            "[[rule]]\nid = 'c'\non = 'result'\ntext = 'x'\nredact = ''\n".to_owned(),
            "can only `reject`, `ask` or `note`",
        ),
        (rule("c", "ask") + "mode = 'night'\n", "a rule in a project's file has no mode"),
        ("rules.off = ['a']".to_owned(), "a project's file cannot set `rules.off`"),
        ("rules.priority = 1".to_owned(), "a project's file cannot set `rules.priority`"),
        ("rules.mode = 'night'".to_owned(), "a project's file cannot set `rules.mode`"),
        ("rules.modes.night.reject = 'note'".to_owned(), "a project's file cannot set `rules.modes`"),
        ("settings.observe = true".to_owned(), "a project's file cannot loosen a setting"),
    ] {
        let found = error(world.with_project(&text));
        assert!(found.contains(expected), "{found}");
        // The same in a file of rules of the project.
        if text.starts_with("[[rule]]") {
            fs::write(world.project.join("c.rules.toml"), &text).unwrap();
            let found = error(world.with_project("rules.files = ['c.rules.toml']"));
            assert!(found.contains(expected), "{found}");
        }
    }
    let rows = |config: &Config| config.rules().iter().map(|rule| rule.row.clone()).collect::<Vec<_>>();
    let with = world.with_project(&format!("rules.observe = true\n{}", rule("c", "ask"))).unwrap();
    assert_eq!(rows(&with)[..2], rows(&before), "the rules of the user come first and stay as they are");
    assert!(with.rules()[2].row.observe);
}

#[test]
fn a_mode_of_the_user_makes_a_projects_rule_only_stricter() {
    let world = World::new();
    let project = rule("a", "ask") + &rule("b", "reject") + "[[rule]]\nid = 'c'\non = 'session'\nnote = 'n'\n";
    world.write_user("[rules]\nmode = 'night'\n[rules.modes.night]\nask = 'reject'\nreject = 'note'\nnote = 'ask'\n");
    assert_eq!(answers(world.with_project(&project).unwrap().rules()), ["a reject", "b reject", "c note"]);
}
