//! Finds the verb of a command, such as `delete`, `delete-all`, `apps:destroy` or `removeUser`. The verb indicates what the command does
//! even if the program is unknown.

use super::words::Words;
use shell_reader::Ascii as _;
use shell_reader::{UNKNOWN, Word};

/// Maximum number of words that are compared with the verbs: a group, a subgroup, the verb, and one more word.
const MAX_WORDS: usize = 4;

/// Maximum number of words that are read, including options.
const MAX_LOOKED_AT: usize = 24;

/// Options that have no value by convention. The word after such an option is not its value.
const SWITCHES: [&str; 20] = [
    "-y",
    "--yes",
    "-f",
    "--force",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "-d",
    "--debug",
    "-a",
    "--all",
    "-r",
    "--recursive",
    "--json",
    "--confirm",
    "--assume-yes",
    "--auto-approve",
    "--no-input",
    "--non-interactive",
];

/// Returns true if one of the first words is one of `verbs`, or is a compound word that begins or ends with one of them.
pub(super) fn is_said(verbs: &Words, args: &[Word]) -> bool {
    let mut may_be_value = false;
    let mut seen = 0;
    for word in args.iter().take(MAX_LOOKED_AT) {
        let text = word.text.as_str();
        if text.starts_with('-') {
            may_be_value = !text.has(b'=') && !SWITCHES.contains(&text);
            continue;
        }
        if std::mem::take(&mut may_be_value) {
            continue;
        }
        // After a path, a file, a text or an unknown word, all further words are names and not verbs.
        if seen == MAX_WORDS
            || text.has_one_of(&[b'/', b'\\', b'.', b'@', b'=', b' ', b'\n', b',', UNKNOWN as u8])
            || text.is_empty()
        {
            return false;
        }
        seen += 1;
        if is_one(verbs, text) {
            return true;
        }
    }
    false
}

fn is_one(verbs: &Words, word: &str) -> bool {
    let has = |part: &str| verbs.has_in_any_case(part);
    let joined = word.find(is_joint).zip(word.rfind(is_joint));
    let first = joined.map_or(word, |(at, _)| &word[..at]);
    let hump = first_hump(first);
    // Most words are not compounds.
    has(word)
        || joined.is_some_and(|(_, at)| has(first) || has(&word[at + 1..]))
        || (hump.len() < first.len() && has(hump))
}

fn is_joint(c: char) -> bool {
    matches!(c, '-' | '_' | ':')
}

/// Returns the first part of a camel-case word: `remove` of `removeUser`.
fn first_hump(word: &str) -> &str {
    let mut letters = word.char_indices().zip(word.chars().skip(1));
    let end = letters.find(|((_, one), next)| one.is_lowercase() && next.is_uppercase());
    end.map_or(word, |((at, one), _)| &word[..at + one.len_utf8()])
}

/// Returns true if `names` contains the program, or the program with its first operands.
pub(super) fn is_one_of(names: &Words, program: &str, operands: &[&Word]) -> bool {
    let initial = program.bytes().next().map(|byte| byte.to_ascii_lowercase());
    names.any(|name| {
        // Fast check that nearly all names fail.
        if name.first().map(u8::to_ascii_lowercase) != initial {
            return false;
        }
        let mut words = name.split(|byte| *byte == b' ');
        words.next().is_some_and(|name| name.eq_ignore_ascii_case(program.as_bytes()))
            && words
                .zip(operands.iter().map(Some).chain(std::iter::repeat(None)))
                .all(|(wanted, operand)| operand.is_some_and(|operand| operand.text.as_bytes() == wanted))
    })
}

#[cfg(test)]
mod tests {
    use super::{is_one_of, is_said};
    use crate::rules::words::Words;
    use shell_reader::Word;

    fn words(text: &str) -> Vec<Word> {
        text.split(' ').map(|text| Word { text: text.replace('+', " "), ..Word::default() }).collect()
    }

    fn list(words: &[&str]) -> Words {
        Words::new(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_verb_is_said_by_itself_or_first_or_last_in_a_joined_word() {
        let verbs = list(&["delete", "destroy", "remove"]);
        for said in [
            "delete",
            "DELETE x",
            "server delete 4",
            "apps:destroy --app x",
            "delete-all",
            "user_delete",
            "removeUser 5",
            "remove_user",
            "-y delete x",
            "--region eu delete x",
            "--region=eu a b delete",
            "a b c delete",
            "5 delete",
        ] {
            assert!(is_said(&verbs, &words(said)), "{said}");
        }
        for not in [
            "undelete",
            "deleted",
            "removal x",
            "Removed",
            "a b c d delete",
            "--name delete",
            "./delete-old",
            "src/delete",
            "delete.txt",
            "note please+delete+it",
            "run.ts delete",
            "x=y delete",
            "list-deleted",
            "soft-delete-policy list",
            "",
            "--delete x",
        ] {
            assert!(!is_said(&verbs, &words(not)), "{not}");
        }
    }

    #[test]
    fn a_program_is_left_alone_with_all_its_words_or_with_some() {
        let names = list(&["echo", "yarn workspace", "poetry remove"]);
        let is = |program: &str, args: &str| {
            let args = words(args);
            is_one_of(&names, program, &args.iter().collect::<Vec<_>>())
        };
        assert!(is("echo", "delete") && is("poetry", "remove x") && is("yarn", "workspace x remove"));
        assert!(!is("poetry", "cache") && !is("poetry", "remover") && !is("yarn", "remove") && !is("ech", "o"));
    }
}
