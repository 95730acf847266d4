//! Writes and recognises commands that run under a time limit.

const MAX_LIMIT: u32 = 86_400;
const MAX_KILL_AFTER: u32 = 3_600;

/// The limit, in the form of the text with which every bounded command starts.
#[derive(Debug)]
pub(crate) struct Bound {
    /// `timeout -k 5 60 sh -c `. The short option and plain seconds work with coreutils, BusyBox and uutils.
    prefix: String,
}

impl Bound {
    /// # Errors
    /// Returns an error if a number is out of range, or if a program's name would need quotes.
    pub(crate) fn new(timeout: &str, limit: u32, kill_after: u32, shell: &str) -> Result<Self, String> {
        for (name, seconds, longest) in
            [("limit-seconds", limit, MAX_LIMIT), ("kill-after-seconds", kill_after, MAX_KILL_AFTER)]
        {
            if !(1..=longest).contains(&seconds) {
                return Err(format!("`{name}` is {seconds}: it is between 1 and {longest}"));
            }
        }
        for (name, program) in [("timeout", timeout), ("shell", shell)] {
            if program.is_empty() || program.starts_with('-') || !program.chars().all(is_plain) {
                return Err(format!("`{name}` is `{program}`: name a program, by letters, digits and `/._-` alone"));
            }
        }
        Ok(Self { prefix: format!("{timeout} -k {kill_after} {limit} {shell} -c ") })
    }

    pub(crate) fn apply(&self, command: &str) -> String {
        format!("{}{}", self.prefix, quote(command))
    }

    /// Returns true if the *whole* command has the form that [`apply`](Self::apply) writes. The command `timeout … 'a'; b` does not have
    /// this form.
    pub(crate) fn holds(&self, command: &str) -> bool {
        let word = command.strip_prefix(&self.prefix);
        word.and_then(unquote).is_some_and(|inner| self.apply(&inner) == command)
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-')
}

/// Quotes a text as one shell word. In single quotes, only the quote itself is special.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Reverses [`quote`]. Returns `None` if the word is not quoted.
fn unquote(word: &str) -> Option<String> {
    let inner = word.strip_prefix('\'')?.strip_suffix('\'')?;
    Some(inner.replace(r"'\''", "'"))
}
