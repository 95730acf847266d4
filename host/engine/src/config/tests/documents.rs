//! Other TOML files of a person.

use crate::config::document::{Document, Mistake};
use serde::Deserialize;
use std::path::Path;

#[derive(Debug, Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
struct Case {
    name: String,
}

const TEXT: &str = "[[case]]\nname = 'a'\n[[case]]\nname = 'b'\n[[case.event]]\nshell = 'ls'\n";

fn document(text: &str) -> Document {
    Document::parse(Path::new("cases/a.toml"), text).unwrap()
}

fn path(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

#[test]
fn a_document_is_read_with_the_place_of_each_mistake_and_the_nearest_key() {
    let cases: Cases = document("[[case]]\nname = 'a'\n").read().unwrap();
    assert_eq!(cases.case[0].name, "a");
    let problems = document("[[case]]\nnmae = 'a'\nname = 'a'\n").read::<Cases>().unwrap_err();
    assert!(
        problems.to_string().starts_with("cases/a.toml:2:1: unknown key `nmae` in `case`: did you mean `name`?"),
        "{problems}"
    );
    let problems = Document::parse(Path::new("a.toml"), "[[case]\n").unwrap_err();
    assert!(problems.to_string().starts_with("a.toml:1:"), "{problems}");
}

#[test]
fn a_mistake_that_a_program_finds_has_the_place_of_its_value_or_of_the_deepest_table() {
    let document = document(TEXT);
    for (keys, line, column) in [
        (path(&["case", "1", "event", "0", "shell"]), 6, 9),
        (path(&["case", "1", "event", "0", "outcome"]), 5, 1),
        (path(&["case", "7", "name"]), 1, 1),
        (path(&["case", "1", "name", "further"]), 4, 8),
    ] {
        let mistake = Mistake { path: keys.clone(), message: "wrong".into() };
        let problems = document.check(vec![mistake]).unwrap_err();
        let problem = problems.iter().next().unwrap();
        assert_eq!((problem.line, problem.column, document.line(&keys)), (line, column, line), "{keys:?}");
    }
    assert!(document.check(Vec::new()).is_ok());
}
