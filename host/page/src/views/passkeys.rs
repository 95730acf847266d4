//! The passkeys of the person, with which a yes is given.

use super::layout::View;
use crate::shown_text::shown;
use hookhost::passkey::Passkeys;
use maud::html;

pub(crate) struct PasskeysView {
    pub(crate) passkeys: Passkeys,
    /// True if this tab may register the first passkey.
    pub(crate) may_register: bool,
}

impl PasskeysView {
    pub(crate) fn render(&self) -> View {
        let registered = self.passkeys.registered();
        let content = html! {
            div.head {
                h1 { "Passkeys" }
                p.facts { span { "As soon as one is registered, each yes to an agent needs one. No program can use it without you." } }
            }
            @if let Some(why) = self.passkeys.altered() {
                p.notice { "No yes counts, because the passkeys cannot be trusted: " (shown(why)) }
            }
            @if registered.is_empty() && self.passkeys.altered().is_none() { p.empty { "No passkey is registered." } }
            @for passkey in registered {
                div.entry {
                    header {
                        h2 { (shown(&passkey.name)) }
                        button type="button" data-passkey="remove" data-id=(passkey.id) { "Remove" }
                    }
                    p.quiet { span.code { (passkey.id) } }
                }
            }
            @if self.passkeys.is_required() || self.may_register {
                div.entry {
                    p { label for="passkey-name" { "Name of the passkey" } }
                    p { input #passkey-name type="text" maxlength="40" value="My passkey"; }
                    p { button.primary type="button" data-passkey="add" { "Register a passkey" } }
                }
            } @else {
                p { "To register one, run in a terminal: " span.code { "hookhost passkey add" } }
            }
            p.answered #passkey-said role="status" {}
        };
        View { title: "Passkeys", content }
    }
}
