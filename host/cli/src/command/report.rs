//! `hookhost report`: one screen about a period of the log, ready to post.

use crate::args::{LogArgs, ReportArgs};
use crate::audit_log;
use crate::exit::{CliError, Exit};
use crate::output::{
    self, one_line,
    style::{DIM, NAME, WARNING},
    time,
    truncate::{counted, cut},
    wrap::width,
};
use hookhost_agents::clock::{before_now, now};
use hookhost_telemetry::tally::{Answers, Counts, EventTimes, RuleName, Tally, percentile};
use hookhost_transcripts::{SessionCount, TranscriptPlaces, UnseenSessions};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

/// Maximum number of rules and of agents that are listed. The report should fit one screen.
const MAX_ROWS: usize = 8;

/// Minimum and maximum width of the first column of a list, in columns. With the maximum, a line has at most 120 columns.
const NAME_WIDTH: (usize, usize) = (40, 80);

pub(crate) fn run(args: &ReportArgs) -> Result<Exit, CliError> {
    let (since, until) = (before_now(args.since), now());
    // Without a log, no agent has called hookhost yet.
    let has_log = args.log.log.is_some() || audit_log::is_there()?;
    let tally = if has_log { read(&args.log, since)? } else { Tally::new(since) };
    // A named log may be of another machine, whose transcripts are not here.
    let home = std::env::home_dir().filter(|_| args.log.log.is_none());
    let unseen = home.map(|home| {
        let places = TranscriptPlaces::of_environment(home, |name| std::env::var_os(name));
        UnseenSessions::read(places, UNIX_EPOCH + Duration::from_millis(since), |agent, id| {
            tally.has_session(agent, id)
        })
    });
    let report = Report { since, until, tally, unseen: unseen.unwrap_or_default() };
    if args.json {
        output::print_json(&report.to_json())?;
    } else if args.md {
        output::print(&report.to_markdown())?;
    } else {
        output::print(&report.to_text())?;
    }
    Ok(Exit::Done)
}

/// Counts the records since this time.
fn read(args: &LogArgs, since: u64) -> Result<Tally, CliError> {
    let mut tally = Tally::new(since);
    audit_log::each_since(args.log.as_deref(), since, |record| tally.add(record))?;
    Ok(tally)
}

/// The counts of a period, and the period itself in milliseconds since the Unix epoch.
struct Report {
    since: u64,
    until: u64,
    tally: Tally,
    unseen: UnseenSessions,
}

impl Report {
    /// Returns the period and the amount of work in it, in one sentence.
    fn headline(&self) -> String {
        let period = format!("{} to {}", day(self.since), day(self.until));
        if self.tally.total.events == 0 {
            return format!("{period}: no event is recorded");
        }
        let hours = self.tally.active_hours();
        let hours = if hours < 1.0 {
            format!("{:.0} active minutes", hours * 60.0)
        } else {
            format!("{hours:.1} active hours")
        };
        let (events, agents) = (self.tally.total.events, self.tally.by_agent.len());
        format!("{period}: {} of {} in {hours}", counted(events, "event"), counted(agents, "agent"))
    }

    /// Returns a label, a number and an explanation for each kind of decision.
    fn summary(&self) -> Vec<(&'static str, u64, String)> {
        let Counts { rejected, asked, changed, masked, withheld, .. } = self.tally.total;
        let reasons = [
            (self.tally.failed, "because a plugin failed"),
            (self.tally.allowed_once, "passed later by `hookhost allow-once`"),
        ];
        let reasons = reasons.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}"));
        vec![
            ("rejected", rejected, reasons.collect::<Vec<_>>().join(", ")),
            ("asked", asked, self.answers_sentence()),
            ("changed", changed, "calls that ran in another form, or got a plugin's result".to_owned()),
            ("masked", masked, "results and texts, of which the model saw a changed form".to_owned()),
            ("withheld", withheld, "results and texts that the model did not see".to_owned()),
        ]
    }

    fn answers_sentence(&self) -> String {
        let asked = self.tally.total.asked;
        if asked == 0 {
            return String::new();
        }
        let answers = self.tally.answers();
        let Answers { yes, no, none, ran, did_not_run, open, waits } = &answers;
        let counts = [
            (*yes, "yes"),
            (*no, "no"),
            (*none + *open, "unanswered"),
            (*ran, "agreed in the agent"),
            (*did_not_run, "not agreed there"),
        ];
        let mut parts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if let Some(median) = percentile(waits, 50) {
            parts.push(format!("after {} (median)", span(median)));
        }
        let hours = self.tally.active_hours();
        if hours >= 1.0 {
            parts.push(format!("{:.1} an active hour", asked as f64 / hours));
        }
        parts.join(", ")
    }

    /// Returns the rules with the most decisions first, and the number of the remaining rules.
    fn rules(&self) -> (Vec<(String, Counts)>, usize) {
        let name = |RuleName { by, code }: &RuleName| match code {
            Some(code) => format!("{by} {code}"),
            None => by.clone(),
        };
        rows(self.tally.by_rule.iter().map(|(rule, counts)| (name(rule), *counts)), Counts::decisions)
    }

    /// Returns the agents with the most events first, and the number of the remaining agents.
    fn agents(&self) -> (Vec<(String, Counts)>, usize) {
        rows(self.tally.by_agent.iter().map(|(agent, counts)| (agent.clone(), *counts)), |counts| counts.events)
    }

    fn times_sentence(&self) -> Option<String> {
        let EventTimes { median, p99 } = self.tally.times()?;
        Some(format!("the rules took {} per event (median), and {} at the 99th percentile", span(median), span(p99)))
    }

    /// Returns a sentence that says of each agent whether it ran in `hookhost exec`.
    fn second_line(&self) -> Option<String> {
        let (agents, _) = self.agents();
        let said = |(agent, Counts { events, sandboxed, .. }): &(String, Counts)| match sandboxed {
            0 => format!("{agent} no"),
            all if all == events => format!("{agent} yes"),
            some => format!("{agent} partly ({some} of {events} events)"),
        };
        let agents: Vec<_> = agents.iter().filter(|(_, counts)| counts.events > 0).map(said).collect();
        (!agents.is_empty()).then(|| format!("second line (hookhost exec): {}", agents.join(", ")))
    }

    /// Returns sentences about the time in which the rules had no effect.
    fn without_effect(&self) -> Vec<String> {
        let Counts { events, rejected, asked, changed, masked, withheld, .. } = self.tally.observed;
        let mut sentences = Vec::new();
        if events > 0 {
            sentences.push(format!(
                "only observed: of {events} events, {rejected} would have been rejected, {asked} asked about, {} changed",
                changed + masked + withheld
            ));
        }
        if self.tally.paused > 0 {
            sentences.push(format!("paused: {} events passed without any rule", self.tally.paused));
        }
        sentences
    }

    /// Returns a sentence for each agent with sessions that hookhost did not see.
    fn unseen_sentences(&self) -> Vec<String> {
        let UnseenSessions { agents, unread } = &self.unseen;
        let sentence = |(agent, SessionCount { all, unseen }): (&&str, &SessionCount)| {
            format!("{agent}: {unseen} of {all} sessions have no recorded event; try: hookhost doctor {agent}")
        };
        let mut sentences: Vec<_> = agents.iter().map(sentence).collect();
        if *unread > 0 {
            sentences.push(format!("{unread} transcripts of agents were not read, because this takes too long"));
        }
        sentences
    }

    fn to_text(&self) -> String {
        let mut text = format!("{NAME}hookhost{NAME:#} {}\n", self.headline());
        let is_empty = self.tally.total.events == 0;
        if is_empty {
            output::next_step(&mut text, "use your agents; if nothing is recorded then: hookhost doctor");
        }
        for (label, count, more) in self.summary().into_iter().filter(|_| !is_empty) {
            let more = if count > 0 && !more.is_empty() { format!("  {DIM}{more}{DIM:#}") } else { String::new() };
            let _ = writeln!(text, "  {label:<9}{count:>7}{more}");
        }
        let (by_rule, by_agent) = match self.tally.observed.decisions() {
            0 => ("by rule", "by agent"),
            _ => ("by rule, with what was only observed", "by agent, also only observed"),
        };
        let lists = [(by_rule, self.rules(), false), (by_agent, self.agents(), true)];
        let names = lists.iter().flat_map(|(_, (rows, _), _)| rows).map(|(name, _)| width(name) + 3);
        let name_width = names.max().unwrap_or_default().clamp(NAME_WIDTH.0, NAME_WIDTH.1);
        for (title, (rows, more), with_events) in lists {
            if rows.is_empty() {
                continue;
            }
            let events = if with_events { "events" } else { "" };
            let _ = writeln!(
                text,
                "{NAME}{title:<name_width$}{NAME:#} {DIM}{events:>8} {:>8} {:>6} {:>7} {:>6}{DIM:#}",
                "rejected", "asked", "changed", "masked"
            );
            for (name, counts) in rows {
                let name = cut(&one_line(&name), name_width - 3);
                let events = if with_events { counts.events.to_string() } else { String::new() };
                let Counts { rejected, asked, changed, masked, withheld, .. } = counts;
                let masked = masked + withheld;
                let width = name_width - 2;
                let _ =
                    writeln!(text, "  {name:<width$} {events:>8} {rejected:>8} {asked:>6} {changed:>7} {masked:>6}");
            }
            if more > 0 {
                let _ = writeln!(text, "  {DIM}and {more} more{DIM:#}");
            }
        }
        for sentence in self.times_sentence().into_iter().chain(self.second_line()) {
            let _ = writeln!(text, "{sentence}");
        }
        for sentence in self.without_effect().into_iter().chain(self.unseen_sentences()) {
            let _ = writeln!(text, "{WARNING}{sentence}{WARNING:#}");
        }
        if self.tally.total.decisions() > 0 {
            output::next_step(&mut text, "hookhost why explains the last of these decisions");
        }
        text
    }

    fn to_markdown(&self) -> String {
        let mut text = format!("**hookhost**, {}\n\n| decision | number | |\n|---|---:|---|\n", self.headline());
        for (label, count, more) in self.summary() {
            let more = if count > 0 { more.as_str() } else { "" };
            let _ = writeln!(text, "| {label} | {count} | {more} |");
        }
        for (title, (rows, more)) in [("rule", self.rules()), ("agent", self.agents())] {
            if rows.is_empty() {
                continue;
            }
            let _ = writeln!(
                text,
                "\n| {title} | events | rejected | asked | changed | masked or withheld |\n|---|---:|---:|---:|---:|---:|"
            );
            for (name, counts) in rows {
                let name = cut(&one_line(&name), NAME_WIDTH.1).replace('|', "\\|").replace('`', "'");
                let events = if counts.events > 0 { counts.events.to_string() } else { String::new() };
                let Counts { rejected, asked, changed, masked, withheld, .. } = counts;
                let _ = writeln!(
                    text,
                    "| `{name}` | {events} | {rejected} | {asked} | {changed} | {} |",
                    masked + withheld
                );
            }
            if more > 0 {
                let _ = writeln!(text, "| and {more} more | | | | | |");
            }
        }
        for sentence in self.times_sentence().into_iter().chain(self.second_line()) {
            let _ = writeln!(text, "\n{}.", output::capitalised(&sentence));
        }
        for sentence in self.without_effect().into_iter().chain(self.unseen_sentences()) {
            let _ = writeln!(text, "\n{sentence}.");
        }
        text
    }

    fn to_json(&self) -> Value {
        let Self { since, until, tally, unseen } = self;
        let unseen = unseen.agents.iter().map(
            |(agent, SessionCount { all, unseen })| json!({ "agent": agent, "sessions": all, "without-event": unseen }),
        );
        let Answers { yes, no, none, ran, did_not_run, open, waits } = tally.answers();
        let rules = tally.by_rule.iter().map(|(RuleName { by, code }, counts)| {
            let mut rule = json!({ "by": by, "code": code });
            merge(&mut rule, decisions(counts));
            rule
        });
        let agents = tally.by_agent.iter().map(|(agent, counts)| {
            let mut agent = json!({ "agent": agent, "events": counts.events, "sandboxed": counts.sandboxed });
            merge(&mut agent, decisions(counts));
            agent
        });
        let mut observed = json!({ "events": tally.observed.events });
        merge(&mut observed, decisions(&tally.observed));
        let times = tally.times().map(|EventTimes { median, p99 }| json!({ "median": median, "p99": p99 }));
        let mut report = json!({
            "since": since,
            "until": until,
            "events": tally.total.events,
            "failed": tally.failed,
            "allowed-once": tally.allowed_once,
            "observed": observed,
            "paused": tally.paused,
            "answers": {
                "yes": yes, "no": no, "none": none, "open": open, "ran-at-the-agent": ran, "did-not-run-at-the-agent": did_not_run,
                "median-micros": percentile(&waits, 50),
            },
            "active-hours": tally.active_hours(),
            "rules": rules.collect::<Vec<_>>(),
            "agents": agents.collect::<Vec<_>>(),
            "micros-per-event": times,
            "unseen": unseen.collect::<Vec<_>>(),
        });
        merge(&mut report, decisions(&tally.total));
        report
    }
}

/// Sorts rows by their weight, heaviest first, and leaves out the rows after the first few. Returns the number of rows that are left out.
fn rows(
    rows: impl Iterator<Item = (String, Counts)>,
    weight: impl Fn(&Counts) -> u64,
) -> (Vec<(String, Counts)>, usize) {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|(name, counts)| (std::cmp::Reverse(weight(counts)), name.clone()));
    let more = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    (rows, more)
}

fn decisions(counts: &Counts) -> Value {
    let Counts { rejected, asked, changed, masked, withheld, events: _, sandboxed: _ } = counts;
    json!({ "rejected": rejected, "asked": asked, "changed": changed, "masked": masked, "withheld": withheld })
}

fn merge(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}

/// Formats a time in microseconds with a suitable unit.
fn span(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..100_000 => format!("{:.1} ms", micros as f64 / 1e3),
        100_000..1_000_000 => format!("{} ms", micros / 1_000),
        1_000_000..100_000_000 => format!("{} s", micros / 1_000_000),
        _ => format!("{} min", micros / 60_000_000),
    }
}

/// Formats the day of a time.
fn day(millis: u64) -> String {
    time::utc(millis).chars().take("2026-11-29".len()).collect()
}
