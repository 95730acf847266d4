//! The views as pages without a script: each link is a button of a form that carries the token of the tab.
//!
//! A form cannot send the header in which the script sends the token, and an address must not contain it. These pages give no yes: nothing
//! on them can wake a button later, or see that a key is held down.

use super::layout::{MENU, View, head};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The first page, on which a person types the code that `hookhost ui --plain` has printed.
pub(crate) fn entrance(problem: Option<&str>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head("hookhost"))
            body { main {
                h1 { "hookhost" }
                @if let Some(problem) = problem { p.notice { (problem) } }
                form method="post" action="/plain" {
                    label for="code" { "The code that " code { "hookhost ui --plain" } " has printed" }
                    div.field { input #code type="password" name="code" required autocomplete="off"; button.primary type="submit" { "Open" } }
                }
            } }
        }
    }
}

/// A view in a page of its own. `done` says what a button before it did.
pub(crate) fn page(view: &View, token: &str, path: &str, done: Option<&Markup>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(view.title))
            body {
                form #plain hidden method="post" action="/plain" {
                    input type="hidden" name="token" value=(token);
                    input type="hidden" name="from" value=(path);
                }
                header {
                    p.brand { span.mark aria-hidden="true" {} "hookhost" }
                    nav aria-label="Views" {
                        @for (target, name) in MENU {
                            button.link form="plain" name="path" value=(target) aria-current=[(path == *target).then_some("page")] { (name) }
                        }
                    }
                }
                main {
                    @if let Some(done) = done { p.notice role="status" { (done) } }
                    (PreEscaped(without_script(&view.content.0, token)))
                }
            }
        }
    }
}

/// Turns what the script acts on into buttons and forms. In the markup of a view, every text is escaped, so a `<` begins a tag of ours. The
/// only text that is added is the token, which has no character of markup.
/// What needs the script, a yes or a passkey, is left out.
fn without_script(markup: &str, token: &str) -> String {
    let mut tags = markup.split('<');
    let mut plain = tags.next().unwrap_or_default().to_owned();
    // The end of the element that is left out.
    let mut left_out = None;
    for tag in tags {
        let (tag, text) = tag.split_once('>').unwrap_or((tag, ""));
        if let Some(end) = left_out {
            if tag == end {
                left_out = None;
                plain.push_str(text);
            }
            continue;
        }
        let attribute = |name: &str| tag.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        let tag = match tag.split([' ', '/']).next().unwrap_or_default() {
            "a" => {
                let class = attribute("class").unwrap_or_default();
                format!(
                    r#"button class="{class} link" form="plain" name="path" value="{}""#,
                    attribute("href").unwrap_or("/")
                )
            }
            "form" if tag.contains(" data-register") => {
                left_out = Some("/form");
                continue;
            }
            "form" => {
                let target = attribute("action").unwrap_or("/");
                format!(
                    r#"form method="post" action="/plain"><input type="hidden" name="token" value="{token}"><input type="hidden" name="form" value="{target}""#
                )
            }
            "button" if tag.contains(" data-yes") || tag.contains(" data-remove") => {
                left_out = Some("/button");
                continue;
            }
            "button" if tag.contains(" data-post") => {
                let answer = attribute("data-answer").unwrap_or_default();
                let target = attribute("data-post").unwrap_or_default();
                format!(r#"button form="plain" name="act" value="{target} {answer}""#)
            }
            _ if tag == "/a" => "/button".to_owned(),
            _ => tag.to_owned(),
        };
        plain.push('<');
        plain.push_str(&tag);
        plain.push('>');
        plain.push_str(text);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::without_script;

    #[test]
    fn links_become_buttons_and_a_yes_is_left_out() {
        let markup = r#"<p>a &lt;b <a class="rule" href="/rules/x">x</a></p><form class="s" action="/search" method="get"><input name="q"></form><button data-post="/approvals/1" data-answer="no" disabled>No</button><button data-post="/approvals/1" data-answer="yes" data-yes disabled>Yes</button><form data-register action="/passkeys"><b>x</b><button>Register</button></form>."#;
        assert_eq!(
            without_script(markup, "T"),
            r#"<p>a &lt;b <button class="rule link" form="plain" name="path" value="/rules/x">x</button></p><form method="post" action="/plain"><input type="hidden" name="token" value="T"><input type="hidden" name="form" value="/search"><input name="q"></form><button form="plain" name="act" value="/approvals/1 no">No</button>."#
        );
    }
}
