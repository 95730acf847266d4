//! Tests of which rules are active, and of when changed rules become active.

use crate::support::{Lab, bash, decision, of_rule};
use hookhost::config::{Entry, FILE_NAME, Layer, Source};
use hookhost::contract::{Escalation, Refusal, ToolCall};
use hookhost::native::Rule;
use hookhost::{Config, Host};
use hookhost_agents::{Message, by_name};
use hookhost_resident::{ConfigurationSource, FoundConfiguration, Settler};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

fn denies() -> Rule {
    Rule::new().before_tool_call(|_, _: &ToolCall| Some(Refusal::new("no")))
}

#[tokio::test]
async fn changed_rules_count_from_the_next_event_on_and_those_that_cannot_be_loaded_change_nothing() {
    let lab = Lab::new(Rule::new()).await;
    assert_eq!(lab.said(&bash("PreToolUse", "1", "ls")).await, Value::Null);
    *lab.configuration.config.lock().unwrap() = Ok(of_rule(denies()));
    assert_eq!(lab.said(&bash("PreToolUse", "2", "ls")).await, Value::Null, "its file is as it was");
    fs::write(&lab.configuration.file, "22").unwrap();
    assert_eq!(decision(&lab.said(&bash("PreToolUse", "3", "ls")).await), "deny");
    *lab.configuration.config.lock().unwrap() = Err("line 3 is wrong".to_owned());
    fs::remove_file(&lab.configuration.file).unwrap();
    let said = lab.said(&bash("PreToolUse", "4", "ls")).await;
    assert_eq!(decision(&said), "deny");
    assert!(said["systemMessage"].as_str().unwrap().contains("line 3 is wrong"), "{said}");
}

#[tokio::test]
async fn where_no_rules_could_ever_be_loaded_nothing_runs() {
    let lab = Lab::new(Rule::new()).await;
    *lab.configuration.config.lock().unwrap() = Err("line 3 is wrong".to_owned());
    let said = lab.said(&bash("PreToolUse", "1", "ls")).await;
    assert_eq!(decision(&said), "deny");
    assert!(said.to_string().contains("line 3 is wrong"), "{said}");
    *lab.configuration.config.lock().unwrap() = Ok(of_rule(Rule::new()));
    fs::write(&lab.configuration.file, "333").unwrap();
    assert_eq!(lab.said(&bash("PreToolUse", "2", "ls")).await, Value::Null);
}

#[tokio::test]
async fn the_user_is_told_of_plugins_that_a_changed_configuration_has_no_more() {
    let lab = Lab::new(denies()).await;
    assert_eq!(decision(&lab.said(&bash("PreToolUse", "1", "ls")).await), "deny");
    *lab.configuration.config.lock().unwrap() = Ok(Config::empty());
    fs::write(&lab.configuration.file, "").unwrap();
    let said = lab.said(&bash("PreToolUse", "2", "ls")).await;
    assert!(said["systemMessage"].as_str().unwrap().contains("no longer has rule: no plugin is asked now"), "{said}");
}

/// A source in which the approved files of projects are stored. The rules of each file ask about all calls of `Bash`.
#[derive(Default)]
struct Projects(Mutex<BTreeSet<PathBuf>>);

impl ConfigurationSource for Projects {
    fn find(&self, directory: &Path, _: Option<&Config>) -> Result<FoundConfiguration, String> {
        let approved = self.0.lock().unwrap();
        let files = self.files(directory, None);
        let Some(file) = files.iter().find(|file| approved.contains(*file)) else {
            return Ok(FoundConfiguration::new(Config::empty()));
        };
        let asks = Rule::new()
            .before_tool_call(|_, call: &ToolCall| (call.name == "Bash").then(|| Escalation::new("may it?")));
        let config = Config::parse("", &Source::new(file, Layer::Project), &[]);
        let config = config.and_then(|config| config.with_entries(vec![Entry::from_rule("asks", asks)]));
        config.map(FoundConfiguration::new).map_err(|error| error.to_string())
    }

    fn files(&self, directory: &Path, _: Option<&Config>) -> Vec<PathBuf> {
        directory.ancestors().map(|directory| directory.join(FILE_NAME)).collect()
    }

    fn is_revoked(&self, file: &Path) -> bool {
        !self.0.lock().unwrap().contains(file)
    }
}

/// The environment of a user who has approved the file of the project `project`.
struct Moves {
    root: PathBuf,
    projects: Arc<Projects>,
    settler: Settler,
    number: Mutex<u32>,
    _directory: tempfile::TempDir,
}

impl Moves {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("project/.git")).unwrap();
        fs::create_dir_all(root.join("project/src")).unwrap();
        let projects = Arc::new(Projects::default());
        projects.0.lock().unwrap().insert(root.join("project").join(FILE_NAME));
        let settler = Self::settler(&root, &projects).await;
        Self { root, projects, settler, number: Mutex::default(), _directory: directory }
    }

    /// Returns the settler of a new process.
    async fn settler(root: &Path, projects: &Arc<Projects>) -> Settler {
        let host = Host::builder(Config::empty()).without_cache().store(root.join("hookhost.db"));
        Settler::new(host.build().await.unwrap(), Arc::clone(projects) as Arc<dyn ConfigurationSource>)
    }

    /// Returns the decision on a call and the reply. `cwd` is the directory of the call, and `project` is the directory of its
    /// project.
    async fn asked(&self, cwd: &str, project: &str, fields: &Value) -> (String, String) {
        let number = {
            let mut number = self.number.lock().unwrap();
            *number += 1;
            number.to_string()
        };
        let mut call = bash("PreToolUse", &number, "make deploy");
        call["cwd"] = json!(self.root.join(cwd));
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let bytes = call.to_string().into_bytes();
        let mut message = Message::new(&bytes, &self.root);
        let variables = [("CLAUDE_PROJECT_DIR".to_owned(), self.root.join(project).to_string_lossy().into_owned())];
        message.variables = &variables;
        let reply = self.settler.reply(by_name("claude-code").unwrap(), &message, &|_| {}).await;
        let said = serde_json::from_str(&reply.stdout).unwrap_or_default();
        (decision(&said).to_owned(), reply.stdout)
    }

    async fn decides(&self, cwd: &str, project: &str) -> String {
        self.asked(cwd, project, &json!({})).await.0
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

#[tokio::test]
async fn a_project_that_is_moved_or_linked_elsewhere_takes_no_approved_rules_away() {
    let moves = Moves::new().await;
    assert_eq!(moves.decides("project", "project").await, "ask");
    fs::rename(moves.path("project"), moves.path("p2")).unwrap();
    symlink("p2", moves.path("project")).unwrap();
    let (decided, why) = moves.asked("project", "project", &json!({})).await;
    assert_eq!(decided, "deny");
    assert!(why.contains("hookhost trust --revoke"), "{why}");
    for (cwd, project) in [("p2", "p2"), ("p2/src", "p2"), ("project/src", "project")] {
        assert_eq!(moves.decides(cwd, project).await, "deny", "{cwd}");
    }
    // The result is the same for a new sub-agent and in a new process.
    assert_eq!(moves.asked("project", "project", &json!({ "agent_id": "7" })).await.0, "deny");
    let later = Moves { settler: Moves::settler(&moves.root, &moves.projects).await, ..moves };
    assert_eq!(later.decides("project", "project").await, "deny");
    assert_eq!(later.asked("project", "project", &json!({ "session_id": "new" })).await.0, "none");
    fs::remove_file(later.path("project")).unwrap();
    fs::rename(later.path("p2"), later.path("project")).unwrap();
    assert_eq!(later.decides("project", "project").await, "ask");
}

#[tokio::test]
async fn a_session_that_was_elsewhere_before_it_entered_a_project_keeps_its_rules_there_from_the_first_call_on() {
    let moves = Moves::new().await;
    for directory in ["d0", "d1"] {
        fs::create_dir_all(moves.path(directory)).unwrap();
        assert_eq!(moves.decides(directory, directory).await, "none");
    }
    assert_eq!(moves.asked("d0", "d0", &json!({ "agent_id": "7" })).await.0, "none");
    assert_eq!(moves.decides("project", "project").await, "ask");
    for directory in ["d0", "d1"] {
        assert_eq!(moves.decides(directory, directory).await, "deny", "{directory}");
    }
    assert_eq!(moves.asked("d0", "d0", &json!({ "agent_id": "7" })).await.0, "deny");
}

#[tokio::test]
async fn a_part_of_a_project_that_is_linked_elsewhere_keeps_its_rules_and_other_parts_have_their_own() {
    let moves = Moves::new().await;
    moves.projects.0.lock().unwrap().clear();
    moves.projects.0.lock().unwrap().insert(moves.path("project/src").join(FILE_NAME));
    assert_eq!(moves.decides("project/src", "project").await, "ask");
    assert_eq!(moves.decides("project", "project").await, "none", "the file counts below its directory");
    // The result is the same without the directory `.git`.
    fs::remove_dir(moves.path("project/.git")).unwrap();
    assert_eq!(moves.decides("project", "project").await, "none");
    assert_eq!(moves.decides("project/src", "project").await, "ask");
    fs::rename(moves.path("project/src"), moves.path("elsewhere")).unwrap();
    symlink("../elsewhere", moves.path("project/src")).unwrap();
    assert_eq!(moves.decides("project/src", "project").await, "deny");
}

#[tokio::test]
async fn a_session_leaves_its_approved_rules_for_another_project_only_where_a_person_decides_so() {
    let moves = Moves::new().await;
    fs::create_dir_all(moves.path("other")).unwrap();
    assert_eq!(moves.decides("project", "project").await, "ask");
    assert_eq!(moves.decides("other", "project").await, "ask", "a call elsewhere is under the project's rules");
    assert_eq!(moves.decides("other", "other").await, "deny");
    moves.projects.0.lock().unwrap().clear();
    assert_eq!(moves.decides("other", "other").await, "none");
}
