use super::{Guarded, Reach, at, beginning_with, may_lead_there, overlap, owners};
use crate::path::Normal;
use crate::{Places, Word, read};
use hookhost_guest::prelude::ShellDialect;
use proptest::prelude::*;

/// Whose file `path` is, in a project of somebody's home.
fn owner(path: &str, whole: bool) -> Option<&'static str> {
    let places = Places::new("/home/me/project");
    let path = places.spelt(path, Some("/home/me/project"));
    at(&path, Reach { whole, ..Reach::default() }).first().map(|guarded| guarded.owner)
}

#[test]
fn the_table_is_in_the_order_in_which_it_is_searched() {
    assert!(super::all().is_sorted_by_key(|guarded| guarded.parts[0]));
    for guarded in super::all() {
        assert!(beginning_with(guarded.parts[0], false).iter().any(|other| std::ptr::eq(other, guarded)));
    }
    assert!(owners().len() >= 19 && owners().contains(&super::HOOKHOST), "{:?}", owners());
}

#[test]
fn every_path_of_the_table_is_guarded_in_any_spelling() {
    for guarded in super::all() {
        let path = guarded.path.replace("/**", "/x/y").replace('*', "-any");
        let spellings = if guarded.rooted {
            vec![path.clone(), path.to_uppercase(), path.replacen('/', "//./", 1)]
        } else {
            vec![
                path.clone(),
                format!("~/{path}"),
                format!("$HOME/{path}"),
                format!("$NOBODY_KNOWS/{path}"),
                format!("/srv/other/{path}"),
                format!("deep/../{path}"),
                path.to_uppercase(),
                path.replace('/', "\\"),
            ]
        };
        for spelling in spellings {
            assert!(owner(&spelling, false).is_some(), "{} as {spelling}", guarded.path);
        }
        assert_eq!(
            owner(&format!("{path}x"), false).is_some(),
            guarded.tree || path.ends_with("-any"),
            "{}",
            guarded.path
        );
    }
}

#[test]
fn neighbours_are_not_guarded() {
    for path in [
        "hookhost",
        "hookhost.md",
        "hookhost.toml.md",
        "docs/hookhost.toml/x",
        "my-hookhost.toml",
        "hookhost-mcp.json",
        "mcp.lock",
        ".config",
        ".config/nvim/init.lua",
        ".config/hookhost-other/x",
        ".claude/CLAUDE.md",
        ".claude/commands/x.md",
        ".claude/agents/settings.md",
        "claude/settings.json",
        ".vscode/settings.json",
        ".codex/AGENTS.md",
        ".codex/prompts/hooks.json",
        ".gemini/GEMINI.md",
        ".gemini/commands/x.toml",
        ".github/workflows/ci.yml",
        ".github/hooks.md",
        ".cursor/rules/x.mdc",
        ".cursorrules",
        ".clinerules/style.md",
        "src/hooks/useState.ts",
        ".husky/pre-commit",
        ".git/hooks/pre-commit",
        ".opencode/agent/x.md",
        "open-code.json",
        ".pi/agent/sessions/x",
        ".agents/skills/x/SKILL.md",
        ".kiro/steering/x.md",
        "etc/codex/config.toml",
        "/etc/hosts",
        "bin/hook",
        "target/debug/hookhost",
        "hookhost/README.md",
        "run/user",
        "package.json",
        "settings.json",
        "config.toml",
    ] {
        assert_eq!(owner(path, false), None, "{path}");
    }
}

#[test]
fn a_directory_takes_with_it_what_it_is_known_to_hold() {
    for path in [
        ".claude",
        ".codex",
        "~/.config/hookhost",
        "~/.config",
        "/home/you/.config",
        "$X/.github",
        ".github/hooks",
        "~/.local",
        "/etc/codex",
        "/etc",
        ".pi/agent",
    ] {
        assert!(owner(path, true).is_some(), "{path}");
    }
    for path in [
        ".config",
        "build/.config",
        ".claude/worktrees",
        "bin",
        "hookhost",
        "~/.cache",
        "src",
        ".",
        "~",
        "Library",
        "/srv/app/.local",
        ".github/workflows",
    ] {
        assert_eq!(owner(path, true), None, "{path}");
    }
}

#[test]
fn a_pattern_of_a_shell_is_what_it_may_expand_to() {
    let wild = |path: &str| {
        !at(&Normal::Below(path.replace('$', "\u{1A}")), Reach { wild: true, ..Reach::default() }).is_empty()
    };
    for path in [
        ".claude/*",
        ".claude/set*",
        ".cl*/settings.json",
        "hook*.toml",
        ".codex/[ch]o*",
        ".codex/hooks.jso?",
        ".codex/$",
        "hookhost.$",
        ".claude/settings.$.json",
        ".claude/settings.[!l]ocal.json",
        ".codex/[]h]ooks.json",
    ] {
        assert!(wild(path), "{path}");
    }
    for path in [
        "*",
        "*.json",
        "*/settings.json",
        "$",
        "$.toml",
        ".claude/*.md",
        ".codex/a*",
        ".clean*/settings.json",
        "open*.ts",
        ".codex/[hooks.json",
        ".codex/hooks.jso??",
    ] {
        assert!(!wild(path), "{path}");
    }
    // Without a pattern, such characters are a name's own.
    assert!(at(&Normal::Below(".claude/*".into()), Reach::default()).is_empty());
    assert!(
        overlap("hookhost.toml", &format!("hook{}", "*?".repeat(500)), true)
            && !overlap("hookhost.toml", &"h".repeat(500), true)
    );
}

fn changes(command: &str) -> String {
    let places = Places::new("/home/me/project");
    let script = read(command, ShellDialect::Posix, "/home/me/project", &places);
    let all = script.commands.iter().map(|command| command.changes(&places));
    let changes = all.fold([false; 2], |[hookhost, agents], one| [hookhost | one.hookhost, agents | one.agents]);
    match changes {
        [true, true] => "both",
        [true, false] => "hookhost",
        [false, true] => "agents",
        [false, false] => "none",
    }
    .into()
}

#[test]
fn a_command_changes_what_it_writes_removes_moves_and_links() {
    for (command, expected) in [
        ("echo x > hookhost.toml", "hookhost"),
        ("cd ~/.claude && rm settings.json", "agents"),
        ("cp x.json $CODEX_HOME/hooks.json", "agents"),
        ("cp -r evil/.claude ~", "agents"),
        ("cp -r evil/. .claude/", "agents"),
        ("rsync -a evil/.claude ~", "agents"),
        ("rsync -a evil/ ~/.claude/", "agents"),
        ("rsync -a .claude/ ~/backup/", "none"),
        ("cp -r .claude /tmp/backup", "none"),
        ("cp x /tmp/hookhost.toml", "hookhost"),
        ("cp /tmp/x/hookhost.toml .", "hookhost"),
        ("rm -rf /tmp/x/.codex", "none"),
        ("rm -rf /tmp/x/.codex/hooks.json", "agents"),
        ("ln -s ~/.claude/settings.json x", "agents"),
        ("ln ~/.config/hookhost/hookhost.toml x", "hookhost"),
        ("ln -s ~/.claude x", "agents"),
        ("mv hookhost.toml .claude/settings.json", "both"),
        ("sed -Ei s/a/b/ hookhost.toml", "hookhost"),
        ("perl -0pi -e s/a/b/ hookhost.toml", "hookhost"),
        ("curl -ohookhost.toml https://x.example", "hookhost"),
        ("dd if=x of=.claude/settings.json", "agents"),
        ("sort -o.codex/hooks.json x", "agents"),
        ("docker exec app rm /root/.claude/settings.json", "agents"),
        ("ssh host rm .claude/settings.json", "none"),
        ("cp hookhost.toml /tmp/copy", "none"),
        ("cp .claude/settings.json .", "none"),
        ("sed -n 1p hookhost.toml", "none"),
        ("perl -ne print hookhost.toml", "none"),
        ("sed --quiet -e s/a/b/ hookhost.toml", "none"),
        ("cat < hookhost.toml > /tmp/x", "none"),
        ("ln -s /tmp/x y", "none"),
    ] {
        assert_eq!(changes(command), expected, "{command}");
    }
}

/// The quick look leaves out nothing that the long one would find.
#[test]
fn what_is_guarded_passes_the_quick_look() {
    let places = Places::new("/home/me/project");
    let mut found = 0;
    for guarded in super::all() {
        let path = guarded.path.replace("/**", "/x").replace('*', "-x");
        for text in [
            path.clone(),
            format!("/home/me/{path}"),
            format!("../{path}"),
            path.to_uppercase(),
            path.replace('/', "\\"),
            path.replace('/', "//"),
        ] {
            for whole in [false, true] {
                let word = Word::literal(text.as_str());
                let at = at(&places.resolve(&word, Some("/home/me/project")), Reach { whole, ..Reach::default() });
                assert!(at.is_empty() || may_lead_there(&word, whole), "{text}");
                found += usize::from(!at.is_empty());
            }
        }
        let above = guarded.path.split('/').next().unwrap();
        let word = Word { home: true, ..Word::literal(format!("~/{above}")) };
        let at = at(&places.resolve(&word, None), Reach { whole: true, ..Reach::default() });
        assert!(at.is_empty() || may_lead_there(&word, true), "{above}");
    }
    assert!(found > 500, "{found}");
}

proptest! {
    /// A name that a pattern stands for fits wherever the pattern does: `overlap` says so of the pattern without asking for the name.
    #[test]
    fn a_pattern_overlaps_what_its_names_fit(guarded in prop::sample::select(super::all().iter().collect::<Vec<&Guarded>>()), cut in 0..20_usize, stars in 0..3_usize) {
        let name = guarded.parts[guarded.parts.len() - 1].replace('*', "-x");
        let cut = cut.min(name.len());
        let pattern = format!("{}{}{}", &name[..cut], "*".repeat(stars + 1), &name[(cut + 1).min(name.len())..]);
        let part = guarded.parts[guarded.parts.len() - 1];
        prop_assert!(overlap(part, &pattern, true), "{} {}", part, pattern);
        prop_assert!(overlap(part, &name, true), "{} {}", part, name);
    }

    #[test]
    fn no_path_makes_it_panic(path in any::<String>(), whole in any::<bool>(), wild in any::<bool>()) {
        let _ = at(&Normal::Absolute(path.clone()), Reach { whole, wild, supposed: false });
        let _ = at(&Normal::Below(path), Reach { whole, wild, supposed: true });
    }
}
