//! `docs/hostile.md` is followed literally: every row of its table, with the plugin in `tests/hostile/` of that name.

use super::component::{Shape, directory, neighbour};
use super::generated;
use crate::failure_table::says;
use crate::support::spec;
use hookhost::config::Settings;
use hookhost::{Config, Host, Session, TransformOutcome};
use serde_json::json;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::future::{Future as _, poll_fn};
use std::num::NonZeroU32;
use std::path::Path;
use std::pin::pin;

/// A row of the table.
#[derive(Debug)]
struct Row {
    name: String,
    /// `not loaded`, `passed`, or the kind of the failure.
    does: String,
    /// What the user may see; `…` matches something; none: nothing.
    sees: Option<String>,
}

fn rows() -> Vec<Row> {
    let row = |cells: Vec<&str>| {
        let [name, _, does, sees] = cells[..] else { panic!("{cells:?}") };
        Row {
            name: bare(name),
            does: bare(does),
            sees: (sees != "nothing").then(|| sentence(&bare(does), &bare(sees))),
        }
    };
    rows_under("plugin", ["what it does", "what the host does", "what the user sees"]).into_iter().map(row).collect()
}

/// The whole sentence: the page leaves out the beginning that all sentences of a kind share.
fn sentence(does: &str, cell: &str) -> String {
    let opening = match does {
        "not loaded" if cell.starts_with("since ") => "plugin … is not loaded, ",
        "compute" | "deadline" | "out-of-fuel" if cell.starts_with("it ") => {
            "Rejected because the plugin … timed out: "
        }
        _ if cell.starts_with("it ") => "Rejected because the plugin … failed: ",
        _ => "",
    };
    format!("{opening}{cell}")
}

/// The cells of each row of the page's table with these columns.
pub(crate) fn rows_under<const N: usize>(first: &str, others: [&str; N]) -> Vec<Vec<&'static str>> {
    let page = include_str!("../../../../../docs/hostile.md");
    let mut lines = page.lines().skip_while(|line| !line.starts_with(&format!("| {first} |")));
    let columns = cells(lines.next().expect("the table"));
    assert_eq!(columns, [&[first], &others[..]].concat());
    lines.skip(1).map_while(|line| line.starts_with('|').then(|| cells(line))).collect()
}

fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')).expect("a row");
    line.split('|').map(str::trim).collect()
}

/// A cell without what marks it as code.
pub(crate) fn bare(cell: &str) -> String {
    let cell = cell.strip_prefix("``").and_then(|cell| cell.strip_suffix("``")).unwrap_or(cell.trim_matches('`'));
    cell.to_owned()
}

#[test]
fn every_hostile_plugin_has_exactly_one_row() {
    let mut rows: Vec<_> = rows().into_iter().map(|row| row.name).collect();
    let files = std::fs::read_dir(directory()).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "wat"));
    let mut shapes: Vec<_> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    shapes.extend(generated::ALL.iter().map(|(name, _)| (*name).to_owned()));
    rows.sort();
    shapes.sort();
    assert_eq!(rows, shapes);
}

#[tokio::test]
async fn every_row_is_what_the_host_does_and_nobody_else_notices() {
    let mut wrong = Vec::new();
    for row in rows() {
        let directory = tempfile::tempdir().unwrap();
        let shape = match generated::ALL.iter().find(|(name, _)| *name == row.name) {
            Some((name, generate)) => generate(name),
            None => Shape::read(&row.name),
        };
        if let Err(why) = follow(&row, &shape, directory.path()).await {
            wrong.push(format!("{}: {why}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A host of this plugin and a neighbour.
async fn host(shape: &Shape, directory: &Path) -> Result<Host, String> {
    let mut settings = Settings::default();
    settings.concurrent_calls = NonZeroU32::new(2).unwrap();
    let entries = vec![shape.entry(directory), neighbour().entry(directory)];
    let config = Config::from_entries(entries, settings).unwrap();
    Host::builder(config).build().await.map_err(|error| error.to_string())
}

async fn follow(row: &Row, shape: &Shape, directory: &Path) -> Result<(), String> {
    let host = match host(shape, directory).await {
        Ok(host) if row.does != "not loaded" => host,
        Ok(_) => return Err("is loaded".into()),
        Err(why) if row.does == "not loaded" => return seen(row, Some(&why)),
        Err(why) => return Err(format!("is not loaded: {why}")),
    };
    let hostile = host.open_session(spec()).unwrap();
    let other = host.open_session(spec()).unwrap();
    // Both on one thread.
    let over = Cell::new(false);
    let misbehaving = async {
        let found = misbehave(shape, &hostile).await;
        over.set(true);
        found
    };
    let neighbours = async {
        let mut events = 0_u32;
        while !over.get() {
            behave(&other).await?;
            events += 1;
            tokio::task::yield_now().await;
        }
        Ok::<_, String>(events)
    };
    // How often the thread is given back: the two take turns.
    let mut turns = 0;
    let mut neighbours = pin!(neighbours);
    let neighbours = poll_fn(|context| {
        turns += 1;
        neighbours.as_mut().poll(context)
    });
    let ((kind, sees), events) = tokio::join!(misbehaving, neighbours);
    let events = events?;
    if kind.as_deref().unwrap_or("passed") != row.does {
        return Err(format!("the host does: {kind:?}, and the user sees {sees:?}"));
    }
    seen(row, sees.as_deref())?;
    // A guest that computes for 20 ms is interrupted every millisecond, and then it is another's
    // turn; fewer turns than that are left where the machine itself has others to serve.
    if row.does == "compute" && !shape.keeps_the_thread() && (turns < 5 || events == 0) {
        return Err(format!("a neighbour had {turns} turns and {events} events in the meantime"));
    }
    behave(&other).await?;
    if shape.behaves_at_times() {
        let outcome = hostile.prompt_submit("good".into()).await;
        if !matches!(&outcome.outcome, TransformOutcome::Passed { value } if value == "good") {
            return Err(format!("its next event fails: {:?}", outcome.record));
        }
    }
    Ok(())
}

/// The outcome of an event at which it misbehaves: the kind of its failure, and what the user sees.
async fn misbehave(shape: &Shape, session: &Session) -> (Option<String>, Option<String>) {
    let record = if shape.is_about_tasks() {
        session.session_start().await.record
    } else {
        session.prompt_submit("bad".into()).await.record
    };
    let [call] = &record.calls[..] else { panic!("{}: {:?}", shape.name, record.calls) };
    let kind = call.failure.as_ref().map(|failure| json!(failure.kind).as_str().unwrap().to_owned());
    (kind, record.reason)
}

/// An event of the neighbour.
async fn behave(session: &Session) -> Result<(), String> {
    let settled = session.finalize_content("content".into()).await;
    match settled.outcome {
        TransformOutcome::Passed { value } if value == "content" => Ok(()),
        other => Err(format!("the neighbour suffers: {other:?}")),
    }
}

fn seen(row: &Row, sees: Option<&str>) -> Result<(), String> {
    match (&row.sees, sees) {
        (None, None) => Ok(()),
        (Some(sentence), Some(text)) if says(sentence, text) => Ok(()),
        _ => Err(format!("the user sees {sees:?}, and should see {:?}", row.sees)),
    }
}

#[test]
fn the_table_has_all_that_was_asked_for() {
    let names: BTreeSet<_> = rows().into_iter().map(|row| row.name).collect();
    assert!(names.len() >= 25, "{}", names.len());
}
