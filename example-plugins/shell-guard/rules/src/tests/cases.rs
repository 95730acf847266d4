//! The tables of cases in `cases/`.

use super::{configure, rules, word};
use serde_json::json;

/// The lines of a table, with `\n`, `\t` and `\e` as the characters that they stand for.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    lines.map(|line| line.replace("\\n", "\n").replace("\\t", "\t").replace("\\e", "\u{1b}"))
}

/// The catalogues that are not of the seed.
fn ours() -> Vec<&'static str> {
    let ids = crate::rules::EMBEDDED
        .iter()
        .filter_map(|(_, text)| text.lines().next()?.split("\"id\":\"").nth(1)?.split('"').next());
    ids.filter(|id| id.starts_with("hookhost/")).collect()
}

#[test]
fn the_rules_of_the_seed_decide_as_its_tables_say() {
    let mut wrong = Vec::new();
    for line in include_str!("../../cases/seed-rules.txt").lines().filter(|line| !line.starts_with('#')) {
        let (stack, rest) = line.split_once(" | ").unwrap();
        let mut fields: Vec<&str> = rest.rsplitn(3, " | ").collect();
        fields.reverse();
        let [command, rule, expected] = fields[..] else { panic!("{line}") };
        configure(json!({"stacks": [stack], "remove": ours()})).unwrap();
        let decided = word(command);
        let expected = match expected {
            "denied" => "deny",
            "-" => "allow",
            rewritten => rewritten,
        };
        let found = rules().first().cloned().unwrap_or_else(|| "none".into());
        if decided != expected || found != rule {
            wrong.push(format!("`{command}`: {decided} by {found}, expected {expected} by {rule}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_floor_holds_in_every_mode_and_lets_the_rest_through() {
    let mut wrong = Vec::new();
    for mode in ["rewrite-with-audit", "deny", "audit"] {
        configure(json!({"mode": mode, "stacks": []})).unwrap();
        for line in lines(include_str!("../../cases/floor.txt")) {
            let (expected, command) = line.split_once(' ').unwrap();
            let expected = if expected == "block" { "deny" } else { "allow" };
            let decided = word(command);
            if decided != expected {
                wrong.push(format!("`{command}` in {mode}: {decided} by {:?}, expected {expected}", rules()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn where_sql_is_expected_the_floor_holds_all_the_same() {
    configure(json!({"stacks": ["sql"]})).unwrap();
    let blocked =
        lines(include_str!("../../cases/floor.txt")).filter_map(|line| line.strip_prefix("block ").map(str::to_owned));
    for command in blocked {
        assert_eq!(word(&command), "deny", "`{command}`: {:?}", rules());
        for begins_as_sql in ["delete x; ", "with x\n", "drop x && "] {
            let command = format!("{begins_as_sql}{command}");
            assert_ne!(word(&command), "allow", "`{command}`");
        }
    }
    for statement in ["select count(*) from users where age > 3;", "delete from users where name = 'it''s'"] {
        assert_eq!(word(statement), "allow", "`{statement}`: {:?}", rules());
    }
}

/// Counts over both tables; prints precision and recall. Nothing may be wrong either way.
#[test]
fn harmless_commands_run_as_they_are_and_harmful_ones_do_not() {
    configure(json!({"stacks": []})).unwrap();
    let (mut stopped_rightly, mut stopped_wrongly, mut missed, mut passed) = (0_u32, 0_u32, 0_u32, 0_u32);
    let mut wrong = Vec::new();
    for command in lines(include_str!("../../cases/harmless.txt")) {
        match word(&command).as_str() {
            "allow" => passed += 1,
            decided => {
                stopped_wrongly += 1;
                wrong.push(format!("harmless `{command}`: {decided} by {:?}", rules()));
            }
        }
    }
    for line in lines(include_str!("../../cases/harmful.txt")) {
        let (expected, command) = line.split_once(' ').unwrap();
        let decided = word(command);
        match decided.as_str() {
            "deny" | "ask" => stopped_rightly += 1,
            _ => missed += 1,
        }
        if decided != expected {
            wrong.push(format!("harmful `{command}`: {decided} by {:?}, expected {expected}", rules()));
        }
    }
    let precision = f64::from(stopped_rightly) / f64::from(stopped_rightly + stopped_wrongly);
    let recall = f64::from(stopped_rightly) / f64::from(stopped_rightly + missed);
    println!(
        "{passed} harmless passed, {stopped_rightly} harmful stopped, {stopped_wrongly} stopped wrongly, {missed} missed"
    );
    println!("precision {precision:.4}, recall {recall:.4}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(passed >= 300 && stopped_rightly >= 300, "the tables hold too few cases");
}
