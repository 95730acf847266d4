//! Parses the commands of a conversation. They begin with a slash, and the model does not see them.

use crate::nearest::nearest;
use hookhost::contract::EventKind;

/// A command and its help.
pub(super) struct Command {
    pub(super) name: &'static str,
    /// The arguments of the command, as shown in the help.
    pub(super) takes: &'static str,
    pub(super) does: &'static str,
}

const fn command(name: &'static str, takes: &'static str, does: &'static str) -> Command {
    Command { name, takes, does }
}

/// All commands, in the order of `/help`.
pub(super) const COMMANDS: [Command; 8] = [
    command("help", "", "shows this"),
    command(
        "hooks",
        "[EVENT]",
        "shows which plugins subscribe to each event, or this one, in the order in which they are asked",
    ),
    command("tools", "", "shows the tools that the model is offered, and who brings each"),
    command(
        "session",
        "[list | new | resume ID]",
        "shows this session, or the last ones; begins a new one, or resumes another",
    ),
    command("model", "[PROVIDER] [MODEL]", "shows the model, or uses another one from the next prompt on"),
    command("approve", "[ask | deny]", "shows how a plugin's question is answered, or changes it"),
    command("show", "[N]", "shows in full what was shown in part: the text of this number, or the last one"),
    command("quit", "", "leaves; so does Ctrl-D"),
];

/// A parsed command with its argument.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Slash<'a> {
    Help,
    /// Shows the plugins for the given event, or for all events.
    Hooks(Option<EventKind>),
    Tools,
    Session(About<'a>),
    Model(&'a [&'a str]),
    Approve(Option<&'a str>),
    Show(Option<usize>),
    Quit,
}

/// The argument of `/session`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum About<'a> {
    This,
    List,
    New,
    Resume(&'a str),
}

/// Returns the words of a command without its slash, or `None` if the line is a prompt. `/etc/hosts is wrong` is a prompt. A line that
/// begins with a blank is a prompt, too.
pub(super) fn words(line: &str) -> Option<Vec<&str>> {
    let words: Vec<_> = line.strip_prefix('/')?.split_whitespace().collect();
    let name = words.first().copied().unwrap_or_default();
    let is_name = name.chars().all(|character| character.is_ascii_alphabetic() || character == '-');
    (is_name && !line.contains('\n') && !line.starts_with("/ ")).then_some(words)
}

/// Parses a command.
///
/// # Errors
/// Returns a sentence that describes the mistake and shows the correct form.
pub(super) fn parse<'a>(words: &'a [&'a str]) -> Result<Slash<'a>, String> {
    let (name, rest) = words.split_first().map_or(("", words), |(name, rest)| (*name, rest));
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else { return Err(unknown(name)) };
    let wrong = || match command.takes {
        "" => format!("/{name} takes no arguments"),
        takes => format!("/{name} takes {takes}, not `{}`", rest.join(" ")),
    };
    match (name, rest) {
        ("help", []) => Ok(Slash::Help),
        ("hooks", []) => Ok(Slash::Hooks(None)),
        ("hooks", [event]) => {
            EventKind::from_name(event).map(|event| Slash::Hooks(Some(event))).ok_or_else(|| no_event(event))
        }
        ("tools", []) => Ok(Slash::Tools),
        ("session", []) => Ok(Slash::Session(About::This)),
        ("session", ["list"]) => Ok(Slash::Session(About::List)),
        ("session", ["new"]) => Ok(Slash::Session(About::New)),
        ("session", ["resume", id]) => Ok(Slash::Session(About::Resume(id))),
        ("model", names @ ([] | [_] | [_, _])) => Ok(Slash::Model(names)),
        ("approve", []) => Ok(Slash::Approve(None)),
        ("approve", [how]) => Ok(Slash::Approve(Some(how))),
        ("show", []) => Ok(Slash::Show(None)),
        ("show", [number]) => number.parse().map(|number| Slash::Show(Some(number))).map_err(|_| wrong()),
        ("quit", []) => Ok(Slash::Quit),
        _ => Err(wrong()),
    }
}

fn unknown(name: &str) -> String {
    match nearest(name, COMMANDS.iter().map(|command| command.name)) {
        Some(nearest) => format!("there is no command /{name}: did you mean /{nearest}?"),
        None => format!(
            "there is no command /{name}: /help shows all; put a blank before a prompt that begins with a slash"
        ),
    }
}

fn no_event(name: &str) -> String {
    match nearest(name, EventKind::ALL.iter().map(|event| event.name())) {
        Some(nearest) => format!("there is no event `{name}`: did you mean `{nearest}`?"),
        None => format!("there is no event `{name}`: /hooks shows all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_that_begins_with_a_slash_and_a_name_is_a_command() {
        assert_eq!(words("/session resume 0199"), Some(vec!["session", "resume", "0199"]));
        assert_eq!(words("/"), Some(vec![]));
        for prompt in ["hello", " /help", "/etc/hosts is wrong", "/help\nme", "/ what", "/5 is a half"] {
            assert_eq!(words(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn every_command_is_read_and_takes_what_the_help_says() {
        for Command { name, .. } in &COMMANDS {
            assert!(parse(&[name]).is_ok(), "{name}");
        }
        assert_eq!(parse(&["session", "resume", "x"]), Ok(Slash::Session(About::Resume("x"))));
        assert_eq!(parse(&["model", "openai", "gpt"]), Ok(Slash::Model(&["openai", "gpt"])));
        assert_eq!(parse(&["show", "3"]), Ok(Slash::Show(Some(3))));
        assert_eq!(parse(&["show", "x"]).unwrap_err(), "/show takes [N], not `x`");
        assert_eq!(parse(&["tools", "x"]).unwrap_err(), "/tools takes no arguments");
        assert_eq!(parse(&["hooks", "turn-end"]), Ok(Slash::Hooks(Some(EventKind::TurnEnd))));
        assert_eq!(parse(&["hooks", "turn-end", "x"]).unwrap_err(), "/hooks takes [EVENT], not `turn-end x`");
        let wrong = parse(&["session", "resume"]).unwrap_err();
        assert_eq!(wrong, "/session takes [list | new | resume ID], not `resume`");
    }

    #[test]
    fn an_unknown_event_is_reported_with_the_nearest_one() {
        let said = |typed: &str| parse(&["hooks", typed]).unwrap_err();
        assert_eq!(said("before-tool-cal"), "there is no event `before-tool-cal`: did you mean `before-tool-call`?");
        assert_eq!(said("xyz"), "there is no event `xyz`: /hooks shows all");
    }

    #[test]
    fn an_unknown_command_is_reported_with_the_nearest_one() {
        for (typed, meant) in [("modle", "model"), ("hook", "hooks"), ("exit", ""), ("sesion", "session"), ("", "")] {
            let error = parse(&[typed]).unwrap_err();
            let said = if meant.is_empty() { "/help shows all".to_owned() } else { format!("did you mean /{meant}?") };
            assert!(error.starts_with(&format!("there is no command /{typed}: {said}")), "{error}");
        }
    }
}
