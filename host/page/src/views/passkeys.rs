//! The registered passkeys, and their registration and removal.

use super::layout::{View, time};
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
            div.head { h1 { "Passkeys" } p.facts { span { "Once one is registered, each yes to an agent needs one. A no needs none." } } }
            @if let Some(why) = self.passkeys.altered() {
                p.notice { "No yes counts, because the passkeys cannot be trusted: " (shown(why)) ". " code { "hookhost audit verify" } " shows what was changed." }
            }
            @if registered.is_empty() { p.empty { "No passkey is registered, so every program of yours can say yes to an agent." } } @else {
                table {
                    caption.unheard { "The registered passkeys" }
                    thead { tr { th scope="col" { "Name" } th scope="col" { "Since" } th scope="col" { span.unheard { "Remove" } } } }
                    tbody { @for passkey in registered { tr {
                        th scope="row" { (shown(&passkey.name)) }
                        td { (time(passkey.added)) }
                        td { button type="button" data-remove=(passkey.id) { "Remove " (shown(&passkey.name)) } }
                    } } }
                }
            }
            p #changed role="status" {}
            @if self.may_register || !registered.is_empty() {
                form data-register action="/passkeys" method="get" {
                    label for="name" { "The name of a new passkey, such as the device that has it" }
                    div.field {
                        input #name type="text" name="name" required maxlength="40" autocomplete="off" value=(if registered.is_empty() { "this computer" } else { "" });
                        button.primary type="submit" { "Register a passkey" }
                    }
                }
                @if registered.len() == 1 { p.quiet { "Register a second one at once: without any of your passkeys, no yes counts any more." } }
            } @else {
                p { "To register the first one, run in a terminal: " code { "hookhost passkey add" } }
            }
        };
        View { title: "Passkeys", content }
    }
}
