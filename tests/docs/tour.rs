//! `docs/tour.md`: its commands, typed at a terminal one after the other, and what it shows of what they print.

use crate::guide::{assert_shown, blocks, page, root};
use hookhost_tests::User;
use regex_lite::Regex;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a yes is at the question that the page shows; each question has another number.
const YES: &str = "k";

#[test]
fn the_tour_shows_what_its_commands_print_at_a_terminal() {
    let page = page("docs/tour.md");
    // The demo above has a test of its own.
    let blocks = blocks(page.split_once("## The release\n").expect("the part about the release").1);
    let user = User::new();
    let clone = clone_below(&user.path("."));
    let id = Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").expect("a pattern");
    let (mut cwd, mut session, mut printed, mut shown) = (clone, None, String::new(), 0);
    for block in &blocks {
        match block.language.as_str() {
            "sh" => {
                // The session is the reader's own.
                let text = match &session {
                    Some(session) => id.replace_all(&block.text, String::as_str(session)).into_owned(),
                    None => block.text.clone(),
                };
                let at = user.path("cwd");
                let script = format!("set -e\n{text}pwd > '{}'\n", at.display());
                printed = typed(shell(&user).arg("-c").arg(script).current_dir(&cwd));
                cwd = std::fs::read_to_string(&at).expect("where it ended").trim_end().into();
                session = session.or_else(|| Some(id.find(&printed)?.as_str().to_owned()));
            }
            "text" => {
                assert_shown(&block.text, &printed);
                shown += 1;
            }
            other => panic!("a block in {other}"),
        }
    }
    assert_eq!(shown, 4, "every output was compared");
    let changes = std::fs::read_to_string(cwd.join("CHANGELOG.md")).expect("the file that was written");
    assert!(changes.starts_with("# Changes\n\n## 1.4.0\n"), "{changes}");
}

/// What the page uses of a clone in which the demo has run.
fn clone_below(parent: &Path) -> std::path::PathBuf {
    let clone = parent.join("hookhost");
    std::fs::create_dir_all(clone.join("target")).expect("the clone");
    symlink(root().join("docs"), clone.join("docs")).expect("a link");
    let plugins = hookhost_tests::plugin("notebook");
    symlink(plugins.parent().expect("a directory"), clone.join("target/plugins")).expect("a link");
    std::fs::create_dir(clone.join("target/debug")).expect("the directory of the binary");
    symlink(hookhost_tests::hookhost(), clone.join("target/debug/hookhost")).expect("a link");
    clone
}

/// A shell in this user's environment, with the command on its path.
fn shell(user: &User) -> Command {
    let like = user.command(["--version"]);
    let mut shell = Command::new("sh");
    shell.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "dumb");
    let path = std::env::var("PATH").expect("a PATH");
    shell.env("PATH", format!("{}:{path}", hookhost_tests::hookhost().parent().expect("a directory").display()));
    shell
}

/// Runs a command at a terminal, where a question is answered; all that was on the screen.
fn typed(command: &mut Command) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("a terminal");
    unlockpt(&master).expect("a terminal");
    let name = ptsname(&master, Vec::new()).expect("its name");
    let open = || {
        let terminal = OpenOptions::new().read(true).write(true).open(OsStr::from_bytes(name.to_bytes()));
        Stdio::from(terminal.expect("the terminal"))
    };
    let mut child = command.stdin(open()).stdout(open()).stderr(open()).spawn().expect("sh can be started");
    // The screen ends when nobody holds it any more.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut terminal = File::from(master);
    let (mut screen, mut piece, mut answered) = (Vec::new(), [0; 4096], None);
    while let Ok(length @ 1..) = terminal.read(&mut piece) {
        screen.extend_from_slice(&piece[..length]);
        let seen = String::from_utf8_lossy(&screen);
        let asked = seen.split_once("Continue? Press ").and_then(|(_, asked)| asked.split_once(" to agree"));
        if let (None, Some((yes, _))) = (&answered, asked) {
            terminal.write_all(yes.as_bytes()).expect("the keyboard");
            answered = Some(yes.to_owned());
        }
    }
    let screen = String::from_utf8_lossy(&screen).replace("\r\n", "\n");
    let screen = answered.map_or_else(
        || screen.clone(),
        |yes| {
            let keys = |yes: &str| format!("Press {yes} to agree, {} to agree", yes.to_uppercase());
            screen.replace(&keys(&yes), &keys(YES))
        },
    );
    let status = child.wait().expect("its end");
    assert!(status.success(), "{screen}");
    screen
}
