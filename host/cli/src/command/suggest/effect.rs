//! Counts the recorded calls that proposed rules would have changed, with the plugin that judges rules.

use super::evidence::{Evidence, PastCall};
use crate::configuration::{self, SECTIONS};
use crate::exit::CliError;
use crate::loading;
use hookhost::audit::EventRecord;
use hookhost::config::{Config, Entry, Layer, Source};
use hookhost::contract::rule::RuleRow;
use hookhost::{Host, Session, SessionSpec};
use hookhost_imports::{Proposal, to_toml};
use std::collections::{BTreeSet, HashMap};

/// Returns for each row the number of calls that it would have changed: those that it matches and the rule of the same id does not, or the
/// other way round.
pub(super) async fn changed(rows: &[RuleRow], config: &Config, evidence: &Evidence) -> Result<Vec<u64>, CliError> {
    let mut counts = vec![0; rows.len()];
    if rows.is_empty() {
        return Ok(counts);
    }
    let host = host(rows, config).await?;
    let mut sessions = HashMap::new();
    for past in &evidence.calls {
        let record = judge(&host, &mut sessions, past).await?;
        let found: BTreeSet<&str> =
            record.calls.iter().flat_map(|call| &call.findings).map(|finding| finding.code.as_str()).collect();
        for (number, count) in counts.iter_mut().enumerate() {
            let [new, old] = names(number);
            *count += u64::from(found.contains(new.as_str()) != found.contains(old.as_str()));
        }
    }
    Ok(counts)
}

/// Returns the ids of a proposed row and of the rule in whose place it is.
fn names(number: usize) -> [String; 2] {
    [format!("new-{number}"), format!("old-{number}")]
}

/// Creates a host that only observes the rows, and the rules in whose place they are.
async fn host(rows: &[RuleRow], config: &Config) -> Result<Host, CliError> {
    let mut observed = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let old = config.rules().iter().find(|rule| rule.row.id == row.id).map(|rule| rule.written().clone());
        for (id, row) in names(number).into_iter().zip([Some(row.clone()), old]) {
            let row = row.map(|row| RuleRow { id, observe: true, mode: None, ..row });
            observed.extend(row.map(|row| Proposal { row, comments: Vec::new() }));
        }
    }
    let places = configuration::places()?;
    let source = Source::new("rules.toml", Layer::User).with_home(places.home.clone());
    let config = Config::parse(&to_toml(&observed).0, &source, SECTIONS).map_err(CliError::not_loaded)?;
    loading::host(configuration::with_rules_plugin(config, &places)?.only(Entry::RULES)).await
}

/// Judges a call in the session in which it was made.
async fn judge(
    host: &Host,
    sessions: &mut HashMap<String, Session>,
    past: &PastCall,
) -> Result<Box<EventRecord>, CliError> {
    let session = match sessions.get(&past.session) {
        Some(session) => session,
        None => {
            let mut spec = SessionSpec::new(&past.agent, &past.workspace);
            spec.cwd.clone_from(&past.cwd);
            let opened = host.open_session(spec).map_err(CliError::not_loaded)?;
            sessions.entry(past.session.clone()).or_insert(opened)
        }
    };
    let open = session.begin_before_tool_call(session.prepare(past.call.clone())).await;
    Ok(match open.into_final() {
        Ok(settled) => settled.record,
        Err(pending) => pending.reject_unattended().await.record,
    })
}
