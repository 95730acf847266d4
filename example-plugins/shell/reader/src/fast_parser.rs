//! A fast parser for texts that consist of plain words, `&&`, `||`, `;`, `|` and redirections. Most commands of agents are such texts. This
//! parser makes the same tree as the full parser. The full parser would take half of the guard's time for such a text.

use brush_parser::{SourcePosition, SourceSpan, ast};
use std::sync::Arc;

/// Words that have a special meaning at the start of a command. `!`, `{` and `[[` are not listed because they are not plain words.
const RESERVED: [&str; 17] = [
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then",
    "time", "until", "while",
];

/// Returns the syntax tree of `text`, or `None` if the text is not plain.
pub(super) fn program(text: &str) -> Option<ast::Program> {
    let mut plain = Plain { text: text.as_bytes(), at: 0 };
    let mut items = Vec::new();
    loop {
        let list = plain.and_or()?;
        items.push(ast::CompoundListItem(list, ast::SeparatorOperator::Sequence));
        let is_more = plain.takes(b";");
        if plain.is_over() {
            return Some(ast::Program { complete_commands: vec![ast::CompoundList(items)] });
        }
        if !is_more {
            return None;
        }
    }
}

struct Plain<'a> {
    text: &'a [u8],
    /// The index at which the next token begins.
    at: usize,
}

impl Plain<'_> {
    fn and_or(&mut self) -> Option<ast::AndOrList> {
        let first = self.pipeline()?;
        let mut additional = Vec::new();
        loop {
            let joint = if self.takes(b"&&") {
                ast::AndOr::And
            } else if self.takes(b"||") {
                ast::AndOr::Or
            } else {
                return Some(ast::AndOrList { first, additional });
            };
            additional.push(joint(self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Option<ast::Pipeline> {
        let mut seq = vec![self.command()?];
        while !self.text[self.at..].starts_with(b"||") && self.takes(b"|") {
            seq.push(self.command()?);
        }
        Some(ast::Pipeline { timed: None, bang: false, seq })
    }

    fn command(&mut self) -> Option<ast::Command> {
        let name = self.word()?;
        if RESERVED.contains(&name.value.as_str()) {
            return None;
        }
        let mut suffix = Vec::new();
        while !self.is_over() && !matches!(self.text[self.at], b'&' | b'|' | b';') {
            suffix.push(match self.redirect() {
                Some(redirect) => ast::CommandPrefixOrSuffixItem::IoRedirect(redirect?),
                None => ast::CommandPrefixOrSuffixItem::Word(self.word()?),
            });
        }
        let suffix = if suffix.is_empty() { None } else { Some(ast::CommandSuffix(suffix)) };
        Some(ast::Command::Simple(ast::SimpleCommand { prefix: None, word_or_name: Some(name), suffix }))
    }

    /// Reads `> file`, `2>> file` or `2>&1`. Returns `None` if no redirection begins here, and `Some(None)` if this parser cannot read the
    /// redirection that begins here.
    fn redirect(&mut self) -> Option<Option<ast::IoRedirect>> {
        let rest = &self.text[self.at..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if rest.get(digits) != Some(&b'>') {
            return None;
        }
        let descriptor = std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse().ok());
        if descriptor.is_none() && digits > 0 {
            return Some(None);
        }
        self.at += digits + 1;
        let (kind, target): (_, fn(_) -> _) = match self.text.get(self.at) {
            Some(b'>') => (ast::IoFileRedirectKind::Append, ast::IoFileRedirectTarget::Filename),
            Some(b'&') => (ast::IoFileRedirectKind::DuplicateOutput, ast::IoFileRedirectTarget::Duplicate),
            _ => (ast::IoFileRedirectKind::Write, ast::IoFileRedirectTarget::Filename),
        };
        self.at += usize::from(!matches!(kind, ast::IoFileRedirectKind::Write));
        self.skip_blanks();
        Some(self.word().map(|word| ast::IoRedirect::File(descriptor, kind, target(word))))
    }

    /// Reads a word and the spaces after it.
    fn word(&mut self) -> Option<ast::Word> {
        let begin = self.at;
        let mut name_so_far = true;
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => {}
                // An assignment needs the full parser.
                b'=' if name_so_far => return None,
                b'-' | b'.' | b'/' | b':' | b'%' | b',' | b'=' | b'@' | b'^' | b'~' => name_so_far = false,
                quote @ (b'\'' | b'"') => {
                    self.at += 1 + self.text[self.at + 1..].iter().position(|byte| byte == quote)?;
                    name_so_far = false;
                }
                b' ' | b'\t' | b'&' | b'|' | b';' | b'>' => break,
                _ => return None,
            }
            self.at += 1;
        }
        let value = std::str::from_utf8(&self.text[begin..self.at]).ok()?;
        let is_plain =
            value.bytes().all(|byte| (b' '..=b'~').contains(&byte) && !matches!(byte, b'$' | b'`' | b'\\' | b'!'));
        let ends_as_number = self.text.get(self.at) == Some(&b'>') && value.bytes().all(|byte| byte.is_ascii_digit());
        if value.is_empty() || !is_plain || ends_as_number {
            return None;
        }
        let position = |index| Arc::new(SourcePosition { index, line: 1, column: index + 1 });
        let loc = Some(SourceSpan { start: position(begin), end: position(self.at) });
        let word = ast::Word { value: value.to_owned(), loc };
        self.skip_blanks();
        Some(word)
    }

    /// If the operator is next, skips it and the spaces after it, and returns true.
    fn takes(&mut self, operator: &[u8]) -> bool {
        let is_here = self.text[self.at..].starts_with(operator);
        if is_here {
            self.at += operator.len();
            self.skip_blanks();
        }
        is_here
    }

    fn skip_blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn is_over(&self) -> bool {
        self.at == self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{RESERVED, program};
    use proptest::prelude::*;

    /// Returns the tree of the full parser, or `None` if the full parser cannot read the text.
    fn parsed(text: &str) -> Option<String> {
        let options = brush_parser::ParserOptions::default();
        let tokens = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options()).ok()?;
        Some(format!("{:#?}", brush_parser::parse_tokens(&tokens, &options).ok()?))
    }

    /// Returns two flags. The first is true if the text is plain. The second is false if the text is plain but the full parser makes a
    /// different tree from it.
    fn agrees(text: &str) -> (bool, bool) {
        let plain = program(text).map(|program| format!("{program:#?}"));
        (plain.is_some(), plain.is_none() || plain == parsed(text))
    }

    #[test]
    fn what_the_parser_makes_of_every_case_is_what_is_documented_for_plain_ones() {
        let cases = ["harmful.txt", "harmless.txt", "floor.txt", "self-defence.txt", "seed-rules.txt"];
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../rules/cases/");
        let text: String = cases.map(|name| std::fs::read_to_string(format!("{directory}{name}")).unwrap()).concat();
        let mut count = 0;
        // On the lines with harmful commands, the command follows its expected decision.
        for line in text.lines().flat_map(|line| [Some(line), line.split_once(' ').map(|(_, rest)| rest)]).flatten() {
            let (is_plain, agrees) = agrees(line);
            assert!(agrees, "{line}");
            count += usize::from(is_plain);
        }
        assert!(count > 1_000, "only {count} are plain");
    }

    #[test]
    fn ordinary_commands_are_plain() {
        for text in [
            "cargo test --workspace --all-targets && git status",
            "ls",
            "npm run build 2>&1 | tail -20",
            "git commit -m 'a message' ; git push",
            "grep -rn \"fn main\" src/ || echo none >> out.log 2>/dev/null",
            "make;",
        ] {
            assert_eq!(agrees(text), (true, true), "{text}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_parser() {
        let texts = [
            "",
            " ls",
            "a & b",
            "X=1 make",
            "env X=1",
            "echo $X",
            "echo `x`",
            "a\nb",
            "(a)",
            "a |& b",
            "a; ; b",
            "a &&",
            "| a",
            "a 'b",
            "echo \\x",
            "a <b",
            "a #b",
            "\u{e9}",
            "a {b,c}",
            "a *",
            "a >",
            "a >| b",
            "a >(b)",
            "a 1\u{7f}",
            "a++=b",
        ];
        for text in texts {
            assert!(program(text).is_none(), "{text}");
        }
        for word in RESERVED {
            assert!(program(word).is_none() && program(&format!("a | {word} b; c")).is_none(), "{word}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_parser_says_the_same_of_plain_words_however_they_are_joined(words in proptest::collection::vec((
            prop_oneof!["[a-z0-9_./:%,@^~=+-]{1,6}", "'[ a-z|;&>=-]{0,6}'", "\"[ a-z|;&>=-]{0,6}\""],
            prop_oneof![Just(" "), Just(" && "), Just("||"), Just(" | "), Just("; "), Just(" > "), Just(" 2>&1 "), Just(" >> "), Just("\t")],
        ), 1..10)) {
            let text: String = words.iter().flat_map(|(word, joint)| [word.as_str(), joint]).collect();
            prop_assert!(agrees(text.trim()).1, "{text:?}: {:#?}\nand {:?}", program(text.trim()), parsed(text.trim()));
        }

        #[test]
        fn the_parser_says_the_same_of_any_plain_text(pieces in proptest::collection::vec(prop_oneof![
            "[a-z0-9_./:%,@^~=+-]{1,4}", "'[ -~]{0,4}'", "\"[ -~]{0,4}\"", "[\\t -~]{1,2}", Just(" ".to_owned()), Just("&&".into()),
            Just("||".into()), Just("|".into()), Just(";".into()), Just(">".into()), Just(">>".into()), Just("2>&1".into()),
            Just("if".into()), Just("time".into()), Just("[[".into()), Just("-p".into()), Just("1".into()), Just("x".into()),
        ], 0..12)) {
            let text = pieces.concat();
            prop_assert!(agrees(&text).1, "{text:?}: {:#?}\nand {:?}", program(&text), parsed(&text));
        }
    }
}
