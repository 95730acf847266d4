//! The calls by which `hookhost doctor --prove` shows that an agent obeys: each agent's own decoder reads them, and each agent
//! takes its own no for a no and nothing else.

use hookhost_adapters::{Answer, HookEvent, Message, Outcome, Reply, all, canary};
use hookhost_contract::action::ActionMap;
use hookhost_contract::{Action, Refusal, Rejection, Stop};
use std::path::Path;

#[test]
fn a_canary_is_a_call_of_the_agents_shell_and_its_no_is_told_from_a_yes_and_from_a_failure() {
    let directory = Path::new("/project");
    let mut tried = 0;
    for adapter in all() {
        let name = adapter.agent().name;
        for command in [canary::DENIED, canary::PASSED] {
            let Some((point, bytes)) = adapter.canary(command, directory) else { continue };
            tried += 1;
            let mut message = Message::new(&bytes, directory);
            message.point = Some(point);
            let call = adapter.decode(&message).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(call.point, point, "{name}");
            assert_eq!(call.session.cwd, directory, "{name}");
            let HookEvent::BeforeToolCall(tool) = &call.event else { panic!("{name}: {:?}", call.event) };
            let action = ActionMap::default().of(name).action(&tool.name, &tool.arguments, &tool.origin, "/project");
            assert!(matches!(&action, Action::Shell(shell) if shell.command == command), "{name}: {action:?}");
            let rejected = Rejection::verdict("p", Refusal::new("no"), Stop::Run);
            let no = adapter.encode(&call, &Outcome::new(Answer::Rejected(rejected)));
            assert!(adapter.denies(point, &no), "{name}: {no:?}");
            let no = adapter.fail(Some(point), "nobody answers");
            assert!(adapter.denies(point, &no), "{name}: {no:?}");
            for yes in [adapter.neutral(Some(point)), adapter.encode(&call, &Outcome::new(Answer::Neutral))] {
                assert!(!adapter.denies(point, &yes), "{name}: {yes:?}");
            }
            let mut failed = Reply::text("Segmentation fault");
            failed.exit = 139;
            assert!(!adapter.denies(point, &failed), "{name}");
        }
    }
    assert!(tried >= 2, "no agent has a canary");
}
