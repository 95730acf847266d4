//! An example of an answer that streams in: which text is shown, and how much is held back, under three configurations.
//!
//! `cargo run -p hookhost --example streaming`
//!
//! Prints:
//! ```text
//! lines are checked:
//!   "I look it up.\nThe pass": shown ["I look it up.\n"], held 8 bytes
//!   "word is hunter2.\n": shown ["[withheld: Rejected by no-passwords: it holds the password]\n"], held 0 bytes
//!   "Ask Ada.": shown [], held 8 bytes
//!   the end: shown ["Ask Ada."]
//! the final text is checked, too:
//!   "I look it up.\nThe pass": shown [], held 22 bytes
//!   "word is hunter2.\n": shown [], held 39 bytes
//!   "Ask Ada.": shown [], held 47 bytes
//!   the end: shown ["I look it up.\n", "[withheld: Rejected by no-passwords: it holds the password]\n", "Ask your colleague."]
//! the same with stream-unfinalised:
//!   "I look it up.\nThe pass": shown ["I look it up.\n"], held 8 bytes
//!   "word is hunter2.\n": shown ["[withheld: Rejected by no-passwords: it holds the password]\n"], held 0 bytes
//!   "Ask Ada.": shown [], held 8 bytes
//!   the end: in place of all ["I look it up.\n", "[withheld: Rejected by no-passwords: it holds the password]\n", "Ask your colleague."]
//! ```

use hookhost::config::{Entry, Settings};
use hookhost::contract::{Refusal, TextVerdict};
use hookhost::{Config, Host, Piece, Rule, Session};

/// The pieces of text that the model sends.
const DELTAS: [&str; 3] = ["I look it up.\nThe pass", "word is hunter2.\n", "Ask Ada."];

/// Returns a plugin that withholds lines with the password before they are shown.
fn no_passwords() -> Entry {
    let rule = |line: &str| line.contains("hunter2").then(|| Refusal::new("it holds the password"));
    Entry::from_rule("no-passwords", Rule::new().stream_delta(move |_, line| rule(line)))
}

/// Returns a plugin that replaces names in the final text.
fn no_names() -> Entry {
    let rule = |text: &str| match text.contains("Ada") {
        true => TextVerdict::Replace(text.replace("Ada", "your colleague")),
        false => TextVerdict::Keep,
    };
    Entry::from_rule("no-names", Rule::new().finalize_content(move |_, text| rule(text)))
}

fn texts(pieces: &[Piece]) -> Vec<&str> {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}

async fn answer(session: &Session) {
    let mut stream = session.stream();
    for delta in DELTAS {
        let shown = stream.push(delta).await;
        println!("  {delta:?}: shown {:?}, held {} bytes", texts(&shown), stream.held_bytes());
    }
    let last = stream.finish().await;
    println!("  the end: {} {:?}", if last.replaces { "in place of all" } else { "shown" }, texts(&last.pieces));
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut unfinalised = Settings::default();
    unfinalised.stream_unfinalised = true;
    let by_line = Config::from_entries(vec![no_passwords()], Settings::default())?;
    let final_text = Config::from_entries(vec![no_passwords(), no_names()], Settings::default())?;
    let shown_early = Config::from_entries(vec![no_passwords(), no_names()], unfinalised)?;

    let host = Host::builder(Config::empty()).build().await?;
    let session = host.session("my-agent", std::env::current_dir()?)?;
    for (what, config) in [
        ("lines are checked", by_line),
        ("the final text is checked, too", final_text),
        ("the same with stream-unfinalised", shown_early),
    ] {
        host.reload(&config).await?;
        println!("{what}:");
        answer(&session).await;
    }
    Ok(())
}
