//! An answer as it streams in, under four configurations: what is shown, and what is held.
//!
//! `cargo run -p hookhost --example streaming`

use hookhost::config::{Entry, Settings};
use hookhost::contract::{Refusal, TextVerdict};
use hookhost::{Config, Host, Piece, Rule, Session};

/// What a model sends.
const DELTAS: [&str; 5] = ["I look", " it up.\nThe password is hun", "ter2.\nAsk ", "Ada", "."];

/// Withholds lines with the password, before they are shown.
fn no_passwords() -> Entry {
    let rule = |line: &str| line.contains("hunter2").then(|| Refusal::new("it holds the password"));
    Entry::from_rule("no-passwords", Rule::new().stream_delta(move |_, line| rule(line)))
}

/// Takes names out of the final text.
fn no_names() -> Entry {
    let rule = |text: &str| match text.contains("Ada") {
        true => TextVerdict::Replace(text.replace("Ada", "your colleague")),
        false => TextVerdict::Keep,
    };
    Entry::from_rule("no-names", Rule::new().finalize_content(move |_, text| rule(text)))
}

fn show(pieces: &[Piece]) {
    for piece in pieces {
        println!("  shown: {:?}", piece.text);
        if let Some(rejection) = &piece.rejection {
            println!("  because: {rejection}");
        }
    }
}

async fn answer(session: &Session) {
    let mut stream = session.stream();
    for delta in DELTAS {
        println!("  delta: {delta:?}");
        show(&stream.push(delta).await);
        if stream.held_bytes() > 0 {
            println!("  held: {} bytes", stream.held_bytes());
        }
    }
    let last = stream.finish().await;
    if last.replaces {
        println!("  in place of all that was shown:");
    }
    show(&last.pieces);
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
        ("nobody subscribes", Config::empty()),
        ("a plugin is asked about lines", by_line),
        ("a plugin is asked about the final text, too", final_text),
        ("the same with stream-unfinalised", shown_early),
    ] {
        host.reload(&config).await?;
        println!("{what} (stream-unfinalised: {}):", host.settings().stream_unfinalised);
        answer(&session).await;
    }
    Ok(())
}
