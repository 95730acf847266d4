use super::changes::may_lead_there;
use super::{Guarded, Reach, When, at, beginning_with, overlap, owners};
use crate::path::Normal;
use crate::{Extent, PathContext, Word};
use proptest::prelude::*;

pub(super) const PROJECT: &str = "/home/me/project";

/// Returns the owner of the guarded file at `path`, in a project below a home. Ignores entries that apply only if the text names a
/// variable.
pub(super) fn owner(path: &str, whole: bool) -> Option<&'static str> {
    let path = PathContext::new(PROJECT).spelt(path, Some(PROJECT));
    let guarded = at(&path, Reach { extent: whole.into(), ..Reach::default() }, PROJECT);
    guarded.into_iter().find(|guarded| !guarded.is_of_variables()).map(|guarded| guarded.owner)
}

fn is_wild(path: &str, extent: Extent) -> bool {
    let path = path.replace('$', "\u{1A}");
    let path = if path.starts_with('/') { Normal::Absolute(path) } else { Normal::Below(path) };
    let guarded = at(&path, Reach { wild: true, extent, ..Reach::default() }, PROJECT);
    guarded.iter().any(|guarded| !guarded.is_of_variables())
}

#[test]
fn the_table_is_in_the_order_in_which_it_is_searched() {
    assert!(super::all().is_sorted_by_key(|guarded| guarded.parts[0]));
    for guarded in super::all() {
        assert!(beginning_with(guarded.parts[0], false, false).iter().any(|other| std::ptr::eq(other, guarded)));
    }
    assert!(owners().len() >= 19 && owners().contains(&super::HOOKHOST), "{:?}", owners());
}

#[test]
fn every_path_of_the_table_is_guarded_in_any_spelling() {
    for guarded in super::all().iter().filter(|guarded| guarded.when == When::Always) {
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
                format!("{path}. "),
                format!("{path}::$DATA"),
                path.replace(".claude/", "CLAUDE~1/"),
            ]
        };
        for spelling in spellings {
            assert!(owner(&spelling, false).is_some(), "{} as {spelling}", guarded.path);
        }
        let is_in_tree = |other: &Guarded| other.tree && guarded.path.starts_with(other.path.trim_end_matches("**"));
        let is_longer = path.ends_with("-any") || super::all().iter().any(is_in_tree);
        assert_eq!(owner(&format!("{path}x"), false).is_some(), is_longer, "{}", guarded.path);
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
    let wild = |path: &str| is_wild(path, Extent::File);
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
        "/home/me/.?laude/settings.json",
        "/home/me/.[c]laude/settings.json",
        "/home/me/.*/settings.json",
        "/home/me/.*/*.json",
        "/home/me/.[!x]laude/sett*",
        "/home/me/.[[:alpha:]]laude/settings.json",
        "/home/me/.?onfig/?ookhost/?ookhost.toml",
        "/home/me/.c*/hook*/hook*.toml",
        "/home/me/.?onfig/*/?eys.toml",
        "/home/me/.?odex/?ooks.json",
        "/home/me/$/settings.json",
        "/home/me/.$/settings.json",
        "/home/me/.local/?in/*-hook",
        "?ookhost.toml",
        "[h]ookhost.toml",
        "????????.toml",
        ".*/settings.json",
        ".?laude/settings.json",
        "build/.?laude/settings.json",
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
        // A wildcard does not match a dot at the beginning of a name.
        "/home/me/*/settings.json",
        "/home/me/?claude/settings.json",
        "/home/me/*",
        "*/*.json",
        "bin/*",
        "hookhost/*",
        "*.toml",
        "[a-z]*.json",
        "?.json",
        "src/*/config.toml",
        "$/settings.json",
        ".*",
        ".*rc",
    ] {
        assert!(!wild(path), "{path}");
    }
    for path in ["/home/me/.*", "/home/me/.c*", "/home/me/.?laude", ".cl*"] {
        assert!(is_wild(path, Extent::Whole), "{path}");
    }
    for path in ["/home/me/*", "*", ".*", "build/.*", "/home/me/$"] {
        assert!(!is_wild(path, Extent::Whole), "{path}");
    }
    // If the path is not a pattern, such characters are part of the name.
    assert!(at(&Normal::Below(".claude/*".into()), Reach::default(), PROJECT).is_empty());
    assert!(
        overlap("hookhost.toml", &format!("hook{}", "*?".repeat(500)), true)
            && !overlap("hookhost.toml", &"h".repeat(500), true)
    );
}

/// The fast check never rejects a path that the full check would find.
#[test]
fn what_is_guarded_passes_the_quick_look() {
    let context = PathContext::new(PROJECT);
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
                let reach = Reach { extent: whole.into(), ..Reach::default() };
                let at = at(&context.resolve(&word, Some(PROJECT)), reach, PROJECT);
                assert!(at.is_empty() || may_lead_there(&word, whole), "{text}");
                found += usize::from(!at.is_empty());
            }
        }
        let above = guarded.path.split('/').next().unwrap();
        let word = Word { home: true, ..Word::literal(format!("~/{above}")) };
        let reach = Reach { extent: Extent::Whole, ..Reach::default() };
        let at = at(&context.resolve(&word, None), reach, PROJECT);
        assert!(at.is_empty() || may_lead_there(&word, true), "{above}");
    }
    assert!(found > 500, "{found}");
}

proptest! {
    /// If a pattern matches a name and this name matches a component, `overlap` must return true for the pattern and the component.
    #[test]
    fn a_pattern_overlaps_what_its_names_fit(guarded in prop::sample::select(super::all().iter().collect::<Vec<&Guarded>>()), cut in 0..20_usize, stars in 0..3_usize) {
        let name = guarded.parts[guarded.parts.len() - 1].replace('*', "-x");
        // A wildcard does not match a dot at the beginning of a name.
        let cut = cut.min(name.len()).max(usize::from(name.starts_with('.')));
        let pattern = format!("{}{}{}", &name[..cut], "*".repeat(stars + 1), &name[(cut + 1).min(name.len())..]);
        let part = guarded.parts[guarded.parts.len() - 1];
        prop_assert!(overlap(part, &pattern, true), "{} {}", part, pattern);
        prop_assert!(overlap(part, &name, true), "{} {}", part, name);
    }

    #[test]
    fn no_path_makes_it_panic(path in any::<String>(), whole in any::<bool>(), wild in any::<bool>()) {
        for supposed in [false, true] {
            let extent = if whole { Extent::Moved } else { Extent::Filled };
            let reach = Reach { extent, wild, supposed, ..Reach::default() };
            let _ = at(&Normal::Absolute(path.clone()), reach, PROJECT);
            let _ = at(&Normal::Below(path.clone()), reach, PROJECT);
        }
    }
}
