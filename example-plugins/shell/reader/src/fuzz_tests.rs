//! Tests with generated texts. The parser must terminate on each of them, and the reader must see every command that a shell runs.

use super::read::ended;
use super::{PathContext, Script, UNKNOWN, bounds, read};
use hookhost_guest::prelude::ShellDialect;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::process::{Command, Stdio};

/// By default, each run tests the same texts. If `PROPTEST_RNG_SEED` is set, the texts are different, and there are 256 of them or as many
/// as `PROPTEST_CASES` says.
fn config(cases: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match config.rng_seed {
        RngSeed::Random => ProptestConfig { cases, rng_seed: RngSeed::Fixed(0), ..config },
        RngSeed::Fixed(_) => config,
    }
}

proptest! {
    #![proptest_config(config(20_000))]

    /// The parser panics at a position where it wrongly expects the end of a substitution. It can also search for an end forever.
    #[test]
    fn the_parser_comes_to_the_end_of_what_is_within_bounds(pieces in proptest::collection::vec(piece(), 0..16)) {
        let text = pieces.concat();
        if bounds::check(&text).is_ok() && let Some(ended) = ended(&text) {
            let options = brush_parser::ParserOptions::default();
            let _ = brush_parser::uncached_tokenize_str(&ended, &options.tokenizer_options());
        }
    }
}

proptest! {
    #![proptest_config(config(4_000))]

    /// Instead of seeing the command, the reader may also report that it cannot read the text, or that only the shell can tell what runs.
    #[test]
    fn the_reader_sees_what_bash_runs(text in text()) {
        prop_assert!(!hides(&text), "{text}");
    }
}

/// Texts with which attacks hid a command, or almost hid it. Each text runs the mark, at least in `bash`.
const HIDING: [&str; 150] = [
    "echo $( # )'\nMARK\n) #'",
    "echo $(a  # )'\nMARK\n) #'",
    "echo ${x:-$( # )'\nMARK\n) '}\\'}",
    "cat <<E\n$( : # )\nMARK )\nE\n",
    "echo $( MARK;cat <<'E'\n(\nE\n\n\n  );",
    "cat <<E <(echo & )# || MARK #\nE\n",
    "{fd}>x MARK",
    "{fd}<<<x MARK",
    "x=1 {fd}>x MARK",
    "time {fd}>x MARK",
    "{fd}>x eval 'MARK'",
    "echo \"${x:-'$(MARK)'}\"",
    "echo \"${x:-it's $(MARK)'}\"",
    "echo \"${x-'`MARK`'}\"",
    "echo \"${x:='$(MARK)'}\"",
    "echo \"${x:-$'$(MARK)'}\"",
    "echo \"${x:-${y:-'$(MARK)'}}\"",
    "[[ \"${x:-'}$(MARK)'}\" ]]",
    "cat <<E\n${x:-'$(MARK)'}\nE\n",
    "cat <<E\n${x:-'}\n$(MARK)'}\nE\n",
    "echo \"$(echo \"${x:-'$(MARK)'}\")\"",
    "echo ${x['$(MARK)']}",
    "echo \"${x['$(MARK)']}\"",
    "echo $['$(MARK)']",
    "x[0 + 1]=1 MARK",
    "x[0 + 1]=1>1 MARK",
    "f() { :; } >$(MARK)x; f",
    "f() { :; } < <(MARK); f",
    "f() { :; } <<E\n$(MARK)\nE\nf",
    "cat <<E\nE\\\n\nMARK\nE\n",
    "cat <<E\n\\\nE\nMARK\nE\n",
    "cat <<E\n$\\\n(MARK)\nE\n",
    "echo \"$\\\n(MARK)\"",
    "cat <<E\n\tE\n'\nE\nMARK #'",
    "echo ${x:-<(MARK)}",
    "mapfile -c1 -CMARK a <<< x",
    "mapfile -tC MARK -c1 a <<< x",
    "readarray -tCMARK -c1 a <<< x",
    "compgen -F MARK",
    "compgen -W '$(MARK)'",
    "compgen -W '$(MARK)' -- x",
    "read x <<< 'a[$(MARK)]'; (( x ))",
    "for x in 'a[$(MARK)]'; do (( x )); done",
    "printf -v x %s 'a[$(MARK)]'; (( x ))",
    "printf -v x 'a[\\x24(MARK)]'; (( x ))",
    "set -- 'a[$(MARK)]'; (( $1 ))",
    "printf -v PS4 '$(MARK)'; set -x; :",
    "read PS4 <<< '$(MARK)'; set -x; :",
    "for PS4 in '$(MARK)'; do set -x; :; done",
    "x='$(MARK)'; PS4=$x; set -x; :",
    "echo `MARK #`",
    "echo \"`echo \\`MARK\\``\"",
    "case a in a) MARK;; esac # '",
    "[[ -v 'a[$(MARK)]' ]]",
    "a=( # '\n$(MARK) # '\n)",
    "if :; then # (\nMARK\nfi",
    "eval \"MA\"RK",
    "trap MARK EXIT",
    ". /dev/stdin <<E\nMARK\nE",
    "coproc MARK; wait",
    "! MARK",
    "a=(b)#; MARK",
    "a=(b)# && MARK",
    "export a=(b)#; MARK",
    "a=(b)\\\n#; MARK",
    "cat <<E\nx\\\nE\ncat <<'F'\nE\nMARK\nF",
    "echo `:`#; cat <<E $(MARK)\nx\nE",
    "echo \\ #; cat <<E $(MARK)\nx\nE",
    "echo \\;#; cat <<E $(MARK)\nx\nE",
    "x='a[$(MARK)]'; ulimit -n $((x))",
    "x='$(MARK)'; y=\"${x@P}\"",
    "x='a[$(MARK)]'; for ((i=x;i<1;i++)); do :; done",
    "x='a[$(MARK)]'; declare -i n=x",
    "x='a[$(MARK)]'; ((x))",
    "x='a[$(MARK)]'; [[ x -eq 0 ]]",
    "x='a[$(MARK)]'; let x",
    "x='a[$(MARK)]'; echo ${z[x]}",
    "x='a[$(MARK)]'; z[x]=1",
    "x='a[$(MARK)]'; echo $((x))",
    "x='a[$(MARK)]'; z=abc; y=${z:x}",
    "x='a[$(MARK)]'; z=abc; y=${z:0:x}",
    "x='a[$(MARK)]'; echo ${!x}",
    "x='a[$(MARK)]'; echo $[x]",
    "x='a[$(MARK)]'; [[ -v z[x] ]]",
    "x='a[$(MARK)]'; test -v 'z[x]'",
    "x='a[$(MARK)]'; z=(1); unset 'z[x]'",
    "x='a[$(MARK)]'; read 'z[x]' <<< 1",
    "x='a[$(MARK)]'; printf -v 'z[x]' 1",
    "x='a[$(MARK)]'; z=([x]=1)",
    "x='a[$(MARK)]'; declare 'z[x]=1'",
    "x='a[$(MARK)]'; RANDOM=x",
    "RANDOM='a[$(MARK)]'",
    "OPTIND='a[$(MARK)]'",
    "SRANDOM='a[$(MARK)]'",
    "HISTCMD='a[$(MARK)]'",
    "declare -i n; n='a[$(MARK)]'",
    "declare -i n=0; n+='a[$(MARK)]'",
    "declare -i n; read n <<< 'a[$(MARK)]'",
    "declare -i n; printf -v n 'a[$(MARK)]'",
    "declare -i n; for n in 'a[$(MARK)]'; do :; done",
    "x=y; y='a[$(MARK)]'; ((x))",
    "x='y+1'; y='a[$(MARK)]'; ((x))",
    "if :; then x='a[$(MARK)]'; fi; ((x))",
    "f() { (( $1 )); }; f 'a[$(MARK)]'",
    "f() { local -i n=$1; }; f 'a[$(MARK)]'",
    "f() { echo $(( $1 + 1 )); }; f 'a[$(MARK)]'",
    "n=0; while ((n<2)); do ((n++)); echo $((x)); x='a[$(MARK)]'; done",
    "x='a[$(MARK)]'; declare -n r=x; ((r))",
    "declare -n r='a[$(MARK)]'; echo $r",
    "declare -n r='a[$(MARK)]'; r=1",
    "x='a[$(MARK)]'; case $((x)) in esac",
    "x='a[`MARK`]'; ((x))",
    "z=('a[$(MARK)]'); ((z))",
    "z=('a[$(MARK)]'); ((z[0]))",
    "z[3]='a[$(MARK)]'; ((z[3]))",
    "declare -A m; m[k]='a[$(MARK)]'; ((m[k]))",
    ": \"${x:=a[\\$(MARK)]}\"; ((x))",
    "mapfile -t z <<< 'a[$(MARK)]'; ((z[0]))",
    "IFS= read -r x <<< 'a[$(MARK)]'; ((x))",
    "IFS= read -r x < <(echo 'a[$(MARK)]'); ((x))",
    "echo 'a[$(MARK)]' > f; read -r x < f; ((x))",
    "echo 'a[$(MARK)]' > f; IFS= read -r x < f; ((x))",
    "echo 'a[$(MARK)]' > f; x=$(<f); ((x))",
    "echo 'a[$(MARK)]' | { IFS= read -r x; ((x)); }",
    "echo 'a[$(MARK)]' | while IFS= read -r x; do ((x)); done",
    "set -- 'a[$(MARK)]'; (( $1 ))",
    "set -- 'a[$(MARK)]'; for x; do ((x)); done",
    "x=$(printf 'a[$(MARK)]'); ((x))",
    "x='$(MARK)'; echo \"${x@P}\"",
    "x='`MARK`'; echo \"${x@P}\"",
    "set -- '$(MARK)'; echo \"${1@P}\"",
    "z=('$(MARK)'); echo \"${z[@]@P}\"",
    "set -- '$(MARK)'; echo \"${@@P}\"",
    "x='$(MARK)'; declare -n r=x; echo \"${r@P}\"",
    "x='$(MARK)'; y=x; z=\"${!y@P}\"",
    "x='a[$(MARK)]'; [[ 1 -lt x ]]",
    "x='a[$(MARK)]'; [[ $x -ne 1 ]]",
    "x='a[$(MARK)]'; z=abc; echo ${z[x]:-1}",
    "x='a[$(MARK)]'; z=(1 2); echo ${z[@]:x}",
    "x='a[$(MARK)]'; z=(1 2); echo ${#z[x]}",
    "x='a[$(MARK)]'; z=(1 2); echo ${!z[x]}",
    "x='a[$(MARK)]'; echo ${@:x}",
    "x='a[$(MARK)]'; z[x]+=1",
    "x='a[$(MARK)]'; let 'y=x+1'",
    "x='a[$(MARK)]'; typeset -i n=x",
    "x='a[$(MARK)]'; echo {1..$((x))}",
    "x='a[$(MARK)]'; echo \"$(( 1 + ${x} ))\"",
    "x='a[$(MARK)]'; declare \"$x=1\"",
    "x='a[$(MARK)]'; local_() { local \"$x=1\"; }; local_",
    "x='b[$(MARK)]'; y='a[b[0]]'; a=(x); ((y))",
];

#[test]
fn what_hid_a_command_once_is_seen_or_refused() {
    for text in HIDING {
        // A process substitution runs in parallel to the rest, and may run longer.
        assert!((0..50).any(|_| runs_in_bash(text)), "not run: {text}");
        assert!(is_seen(&read(text, ShellDialect::Posix, "/work", &PathContext::new("/work"))), "not seen: {text}");
    }
}

/// Generates the pieces that here-documents, substitutions and arithmetic consist of.
fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "<<", "<<-", "<<<", " ", "  ", "''", "\"\"", "\\", "\n", "$(", "$((", "))", ")", "${", "}", "`", "E", "#", "'",
        "\"", "(", "((", "$[", "]", "[[", "a", ";", "\t", "@(", "!(", "{ ", "$", "&", "|", "<(",
    ])
}

/// The mark, which stands for a harmful command. In the shell, it is the name of a function that creates a file.
const MARK: &str = "MARK";

/// Returns true if `bash` runs the mark. The shell finds no programs, and its input is empty.
fn runs_in_bash(text: &str) -> bool {
    let directory = tempfile::tempdir().expect("a directory for the shell");
    let made = directory.path().join("made");
    Command::new("bash")
        .args(["-c", &format!("ulimit -t 5; PATH=/nowhere\n{text}")])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("MADE", &made)
        .env(format!("BASH_FUNC_{MARK}%%"), "() { : > \"$MADE\"; }")
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("this test needs bash 4.4 or later");
    made.exists()
}

/// Returns true if the script shows the mark, an unknown program or an unreadable part to a guard.
fn is_seen(script: &Script) -> bool {
    let may_be_mark = |command: &super::Command| command.program == MARK || command.program_word.text.contains(UNKNOWN);
    script.unreadable.is_some() || script.runs_unknown || script.commands.iter().any(may_be_mark)
}

fn hides(text: &str) -> bool {
    text.contains(MARK)
        && !is_seen(&read(text, ShellDialect::Posix, "/work", &PathContext::new("/work")))
        && runs_in_bash(text)
}

/// Generates texts from pieces that two parsers understand differently as soon as they are at different positions.
fn junk() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "MARK", "MARK", "'", "\"", "`", "#", " #", " ", "(", ")", "))", "$(", "$((", "${", "{", "}", "[", "]", "\\",
        "<<E", "<<'E'", "!(", "@(", "$'", ";", "&", "|", "a", "esac", "~",
    ]);
    proptest::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

/// Generates a gap between two words or commands that a shell ignores.
fn gap() -> impl Strategy<Value = String> {
    let blank = || proptest::sample::select(vec![" ", "  ", "\t", "   ", " \\\n", " \\\n ", "\\\n"]);
    prop_oneof![6 => blank().prop_map(String::from), 1 => Just(String::new())]
}

/// Generates the end of a command, with or without a comment.
fn end() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => proptest::sample::select(vec![";", "\n", " && ", " || ", " | ", "& ", "\n\n  ", "; "]).prop_map(String::from),
        4 => (gap(), junk(), gap()).prop_map(|(before, junk, after)| format!("{before}#{junk}\n{after}")),
        1 => (gap(), junk(), end_of_document()).prop_map(|(gap, junk, end)| format!("#;{gap}cat <<E {junk}\n{end}\nE\n")),
    ]
}

/// Generates the lines before the delimiter of a here-document. Some of these lines continue on the next line.
fn end_of_document() -> impl Strategy<Value = String> {
    (junk(), junk()).prop_map(|(one, other)| format!("{one}\\\nE\n{other}"))
}

fn word(list: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let leaf = || {
        prop_oneof![
            3 => proptest::sample::select(vec!["a", "b", "#", "a#", "$x", "${x}", "~", "\\'", "\\)", "\\ ", "\\;", "\\\\", "\\#", "1", "--", "{a,b}", "*", "!", "[", "x[0]"]).prop_map(String::from),
            3 => junk().prop_map(|junk| format!("'{}'", junk.replace('\'', ""))),
            2 => junk().prop_map(|junk| format!("$'{}'", junk.replace('\'', "\\'"))),
            2 => junk().prop_map(|junk| format!("\"{}\"", junk.replace(['"', '`', '$', '\\'], ""))),
        ]
    };
    let part = prop_oneof![
        4 => leaf(),
        3 => (gap(), list.clone()).prop_map(|(gap, list)| format!("$({gap}{list})")),
        2 => (gap(), list.clone()).prop_map(|(gap, list)| format!("\"a$({gap}{list})b\"")),
        1 => list.clone().prop_map(|list| format!("`{}`", list.replace(['`', '\\'], ""))),
        1 => list.clone().prop_map(|list| format!("<({list})")),
        1 => (leaf(), list.clone()).prop_map(|(leaf, list)| format!("${{x:-{leaf}$({list})}}")),
        1 => (leaf(), list.clone()).prop_map(|(leaf, list)| format!("\"${{x:-{leaf}$({list})}}\"")),
        1 => (leaf(), junk()).prop_map(|(leaf, junk)| format!("\"${{x:-{leaf}{junk}}}\"")),
        1 => (leaf(), list.clone()).prop_map(|(leaf, list)| format!("${{x[{leaf}$({list})]}}")),
        1 => (leaf(), gap(), list.clone()).prop_map(|(leaf, gap, list)| format!("\"${{x:+{leaf}$({gap}{list})}}\"")),
        1 => (junk(), leaf()).prop_map(|(junk, leaf)| format!("${{x#{leaf}{junk}}}")),
        1 => (gap(), junk()).prop_map(|(gap, junk)| format!("$((1{gap}+{junk}))")),
        1 => (gap(), list.clone()).prop_map(|(gap, list)| format!("$((1 +{gap}$({list})))")),
        1 => (gap(), list).prop_map(|(gap, list)| format!("$(({gap}{list}){gap})")),
    ];
    proptest::collection::vec(part, 1..3).prop_map(|parts| parts.concat()).boxed()
}

fn command(list: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let words = || {
        proptest::collection::vec((gap(), word(list.clone())), 0..3)
            .prop_map(|words| words.into_iter().map(|(gap, word)| format!("{gap}{word}")).collect::<String>())
    };
    prop_oneof![
        3 => Just(String::from(MARK)),
        6 => words().prop_map(|words| format!("echo {words}")),
        2 => words().prop_map(|words| format!("x={words}")),
        1 => list.clone().prop_map(|list| format!("({list})")),
        1 => (gap(), list.clone()).prop_map(|(gap, list)| format!("({gap}{list})")),
        1 => list.clone().prop_map(|list| format!("{{ {list}; }}")),
        1 => list.clone().prop_map(|list| format!("if :; then {list}\nfi")),
        1 => (word(list.clone()), list.clone()).prop_map(|(word, list)| format!("case a in {word}) {list};; *) MARK;; esac")),
        1 => (words(), junk(), end()).prop_map(|(words, junk, end)| format!("cat <<E{words}{end}{junk}\nE\n")),
        1 => (words(), junk()).prop_map(|(words, junk)| format!("cat <<'E'{words}\n{junk}\nE\n")),
        1 => (words(), list.clone()).prop_map(|(words, list)| format!("[[ a{words} == a ]] && {list}")),
        1 => (gap(), junk(), list.clone()).prop_map(|(gap, junk, list)| format!("(({gap}1 {junk}))\n{list}")),
        1 => (words(), list.clone()).prop_map(|(words, list)| format!("f() {{ {list}; }} >a{words}\nf")),
        1 => (words(), list.clone()).prop_map(|(words, list)| format!("f() {{ :; }} <<E{words}\n{list}\nE\nf")),
        1 => words().prop_map(|words| format!("{{fd}}>a{words} MARK")),
        1 => (junk(), junk()).prop_map(|(one, other)| format!("cat <<E\n{one}\\\n{other}\nE\n")),
        1 => (words(), list).prop_map(|(words, list)| format!("a=(b{words} #'\n{list} # '\n)")),
        1 => junk(),
    ].boxed()
}

/// Generates texts. A shell can read most of them.
fn text() -> impl Strategy<Value = String> {
    let line = |command: BoxedStrategy<String>| {
        proptest::collection::vec((command, end()), 1..4)
            .prop_map(|commands| {
                commands.into_iter().map(|(command, end)| format!("{command}{end}")).collect::<String>()
            })
            .boxed()
    };
    line(proptest::sample::select(vec!["MARK", ":", "echo a"]).prop_map(String::from).boxed()).prop_recursive(
        3,
        24,
        3,
        move |list| line(command(list.boxed())),
    )
}
