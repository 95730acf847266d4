//! Rules in words, for benchmarks.

use std::fmt::Write as _;

/// Returns this number of rules of all kinds that are about something else than a harmless command, each with examples.
#[must_use]
pub fn rules(count: usize) -> String {
    let mut text = String::new();
    for at in 0..count {
        let rule = match at % 4 {
            0 => format!(
                "on = 'shell'\nprogram = ['deploy{at} up', 'git push']\nflags = '--to{at}'\nreject = 'no'\n\
                 stops = ['deploy{at} up --to{at}', 'cd a && sudo git push --to{at}']\npasses = ['git push origin x']"
            ),
            1 => format!(
                "on = ['read', 'write']\npath = ['secret{at}/**', '*.key{at}']\nreject = '{{path}}'\n\
                 stops = ['secret{at}/a/b', {{ command = 'cat a/x.key{at}' }}]\npasses = ['src/a.rs']"
            ),
            2 => format!(
                "on = 'web'\nhost = 'h{at}.example.com'\nask = 'To {{host}}?'\n\
                 stops = [{{ command = 'curl h{at}.example.com' }}]\npasses = ['https://example.com']"
            ),
            _ => format!(
                "on = 'mcp'\nserver = 's{at}'\ntool = '!get_*'\nreject = 'no'\nstops = ['s{at}/drop']\npasses = ['s{at}/get_a']"
            ),
        };
        writeln!(text, "[[rule]]\nid = 'r{at}'\n{rule}").unwrap();
    }
    text
}
