//! Finds out whether a text is meant for a Windows shell, no matter which shell the event names.

use crate::ascii::Ascii as _;
use crate::{Command, program_name};

/// Returns true if `text`, which no POSIX shell can read, is meant for a Windows shell. The first word or a cmdlet after `if` shows this.
pub(crate) fn is_named_in(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_shell = matches!(program_name(first).to_ascii_lowercase().as_str(), "cmd" | "powershell" | "pwsh");
    let is_branch = matches!(first, "if" | "foreach" | "while" | "try" | "switch" | "function" | "param");
    // `if exist x …` and `for %f in …`
    let second = text.split_whitespace().nth(1).unwrap_or_default();
    let is_batch = (first == "if" && matches!(second, "exist" | "not" | "defined" | "errorlevel" | "/i"))
        || (first == "for" && second.starts_with(['%', '/']))
        || (is_branch && second.starts_with("($") && text.has(b'{'));
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    is_shell || is_batch || is_cmdlet(first) || (is_branch && words.any(is_cmdlet)) || is_expression_of_cmdlet(text)
}

/// Returns true if `text` begins with an expression of PowerShell: `(Get-Item x).Length`, `[Math]::Round(1.5)`, `"$((Get-Date).Year)"`.
fn is_expression_of_cmdlet(text: &str) -> bool {
    let text = text.trim_start();
    let opened = text.trim_start_matches(['(', '{', '@', '$', '"', '&', ' ']);
    let end = opened.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(opened.len());
    // If the text calls a method that may change something, the function returns false, and a person is asked about the text.
    let reads = |rest: &str| {
        let begins = [
            "Get",
            "Read",
            "Exists",
            "Is",
            "Parse",
            "Round",
            "Format",
            "Combine",
            "Join",
            "New",
            "UTF8",
            "To",
            "From",
            "OSVersion",
            "Now",
            "UtcNow",
            "Max",
            "Min",
        ];
        begins.iter().any(|begin| rest.starts_with(begin))
    };
    let is_static = text.starts_with('[') && text.contains("]::") && text.split("]::").skip(1).all(reads);
    // `(git rev-parse HEAD).Substring(0, 7)`, `& "C:\\x.exe"`
    let is_method = |rest: &str| rest.starts_with(|c: char| c.is_ascii_uppercase());
    let calls = (text.starts_with('(') && text.split(").").skip(1).any(is_method))
        || (text.starts_with('"') && text.split("\".").skip(1).any(is_method));
    let is_invoked = text.strip_prefix('&').is_some_and(|rest| rest.trim_start().starts_with(['"', '\'']));
    is_static || calls || is_invoked || is_cmdlet(&opened[..end])
}

/// Returns true for a word like `Get-ChildItem`.
pub(super) fn is_cmdlet(word: &str) -> bool {
    let Some((verb, noun)) = word.halves(b'-') else { return false };
    let is_upper = |text: &str| text.starts_with(|c: char| c.is_ascii_uppercase());
    let is_letters = |text: &str| text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_upper(verb) && is_upper(noun) && is_letters(verb) && is_letters(noun)
}

/// Returns true if `text` begins with a variable or an assignment in syntax that only PowerShell has: `$env:X`, `$x = …`.
pub(crate) fn is_assigned(text: &str) -> bool {
    if begins_with_list(text) {
        return true;
    }
    let Some(rest) = text.trim_start().strip_prefix('$') else { return false };
    if rest.starts_with("env:") || rest.starts_with("PSVersionTable") {
        return true;
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(rest.len());
    let after = rest[end..].trim_start_matches(' ');
    end > 0 && after.starts_with('=') && !after.starts_with("==")
}

/// Returns true if the command is a PowerShell variable or a property of a variable that a POSIX shell would take for a program: `$x = …`,
/// `$x.Count`.
pub(crate) fn is_expression(text: &str, command: &Command) -> bool {
    let is_variable =
        |text: &str| text.strip_prefix('$').is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    command.program.is_empty()
        && text.get(command.place.clone()).is_some_and(|text| is_variable(text) || begins_with_list(text))
}

/// Returns true for `@(Get-ChildItem).Count` and `[Environment]::OSVersion`.
fn begins_with_list(text: &str) -> bool {
    let text = text.trim_start();
    text.strip_prefix("@(").is_some_and(is_expression_of_cmdlet)
        || (text.starts_with('[') && is_expression_of_cmdlet(text))
}

/// Returns true if only Windows has a program with this name and these words.
pub(crate) fn is_only_there(command: &Command) -> bool {
    const VERBS: [&str; 19] = [
        "remove-",
        "clear-",
        "set-",
        "add-",
        "new-",
        "stop-",
        "disable-",
        "enable-",
        "format-",
        "initialize-",
        "reset-",
        "invoke-",
        "start-",
        "restart-",
        "register-",
        "get-",
        "import-",
        "copy-",
        "move-",
    ];
    let program = command.program.as_str();
    let is_cmdlet = || {
        let lower = program.to_ascii_lowercase();
        program.starts_with(|c: char| c.is_ascii_uppercase()) && VERBS.iter().any(|verb| lower.starts_with(verb))
    };
    let has_switch =
        || command.args.iter().any(|word| matches!(word.text.as_str(), "/s" | "/S" | "/q" | "/Q" | "/f" | "/F"));
    // Elixir's shell is also called `iex`, but takes no text.
    let is_invoked = || program == "iex" && matches!(command.args.as_slice(), [text] if text.text.has(b' '));
    let is_shell = || program.eq_ignore_ascii_case("%comspec%") || matches!(program, "iwr" | "irm");
    let has_variable = || command.args.iter().any(|word| has_variable(&word.text));
    !command.windows
        && (is_cmdlet()
            || is_shell()
            || has_variable()
            || is_invoked()
            || (matches!(program, "rd" | "del" | "erase" | "rmdir") && has_switch()))
}

/// Returns true if a text has a variable in the syntax of `cmd.exe`: `%USERPROFILE%`.
fn has_variable(text: &str) -> bool {
    let is_name = |part: &str| part.len() >= 4 && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let closed = text.rfind('%').unwrap_or_default();
    text[..closed].split('%').skip(1).any(is_name)
}
