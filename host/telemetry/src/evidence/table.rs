//! The evidence as tables: the same rows become CSV files and a page.

use super::Evidence;
use jiff::Timestamp;

/// A part of the evidence as a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name of the part, and of its CSV file.
    pub name: &'static str,
    /// The title on the page.
    pub title: &'static str,
    /// What the part shows, one sentence.
    pub about: &'static str,
    /// The names of the columns.
    pub header: Vec<&'static str>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Evidence {
    /// Returns the tables, in the order of the page.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        vec![
            self.chain_table(),
            self.rules_table(),
            self.decisions_table(),
            self.approvals_table(),
            self.failures_table(),
            self.gaps_table(),
            self.operator_table(),
            self.controls_table(),
            Table {
                name: "not-shown",
                title: "What this does not show",
                about: "The limits of the evidence.",
                header: vec!["sentence"],
                rows: self.not_shown.iter().map(|sentence| vec![sentence.clone()]).collect(),
            },
        ]
    }

    fn chain_table(&self) -> Table {
        let chain = &self.chain;
        let mut rows = vec![
            ("log", chain.log.clone()),
            ("begins", time(chain.begins)),
            ("records", chain.records.to_string()),
            ("head", chain.head.clone()),
            ("verified", if chain.is_verified { "yes" } else { "no" }.to_owned()),
        ];
        rows.extend(chain.flaws.iter().map(|flaw| ("flaw", flaw.clone())));
        rows.extend(chain.archived_elsewhere.iter().map(|(first, last)| {
            ("not checked", format!("records {first} to {last} are in an archive that was not there"))
        }));
        if let Some(anchors) = &chain.anchors {
            rows.push(("anchors", format!("{} of {} found in the log", anchors.found, anchors.of_this_log)));
            if anchors.newest > 0 {
                rows.push(("newest anchor", format!("record {}, {}", anchors.newest, time(anchors.newest_time))));
                rows.push(("anchored head", anchors.newest_head.clone()));
            }
        }
        Table {
            name: "chain",
            title: "The log",
            about: "Each record contains the hash of the record before it. An anchor is a hash that was noted outside of the log.",
            header: vec!["what", "value"],
            rows: rows.into_iter().map(|(what, value)| vec![what.to_owned(), value]).collect(),
        }
    }

    fn rules_table(&self) -> Table {
        let row = |evidence: &super::RuleEvidence| {
            let rule = &evidence.rule;
            let text_is = match evidence.text_is {
                super::TextState::Missing => "missing",
                super::TextState::AsLoaded => "as loaded",
                super::TextState::Masked => "masked or changed",
            };
            vec![
                rule.plugin.clone(),
                rule.mode.clone(),
                time(rule.first_time),
                time(rule.last_time),
                rule.first.to_string(),
                rule.last.to_string(),
                rule.calls.to_string(),
                rule.code.clone(),
                rule.config.clone(),
                text_is.to_owned(),
            ]
        };
        Table {
            name: "rules",
            title: "Rules in force",
            about: "Each plugin with each configuration that the period shows in force, with the first and the last record that show it.",
            header: vec![
                "plugin",
                "mode",
                "from",
                "to",
                "first record",
                "last record",
                "calls",
                "code",
                "configuration",
                "text",
            ],
            rows: self.rules.iter().map(row).collect(),
        }
    }

    fn decisions_table(&self) -> Table {
        let row = |count: &super::DecisionCount| {
            let numbers = [count.rejected, count.asked, count.changed, count.masked, count.withheld];
            let names = [count.by.clone(), count.rule.clone()];
            names.into_iter().chain(numbers.iter().map(u64::to_string)).collect()
        };
        Table {
            name: "decisions",
            title: "Decisions by rule",
            about: "What each rule decided, also where it was only observed. Events to which no rule objected are not listed.",
            header: vec!["by", "rule", "rejected", "asked", "changed", "masked", "withheld"],
            rows: self.decisions.iter().map(row).collect(),
        }
    }

    fn approvals_table(&self) -> Table {
        let row = |approval: &super::Approval| {
            let details: Vec<String> =
                approval.details.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            vec![
                approval.record.to_string(),
                time(approval.time),
                approval.agent.clone(),
                approval.event.clone(),
                approval.asked_by.clone(),
                approval.question.clone(),
                approval.answer.clone(),
                approval.by.clone(),
                approval.via.clone(),
                details.join("; "),
                format!("{}.{:03}", approval.wait / 1_000_000, approval.wait / 1000 % 1000),
                approval.outcome.clone(),
                approval.session.clone(),
                approval.event_id.clone(),
            ]
        };
        Table {
            name: "approvals",
            title: "Approvals",
            about: "Each question to a person, and its answer.",
            header: vec![
                "record", "time", "agent", "event", "asked by", "question", "answer", "by", "via", "details",
                "seconds", "outcome", "session", "event id",
            ],
            rows: self.approvals.iter().map(row).collect(),
        }
    }

    fn failures_table(&self) -> Table {
        let row = |failed: &super::FailedCall| {
            vec![
                failed.record.to_string(),
                time(failed.time),
                failed.agent.clone(),
                failed.event.clone(),
                failed.plugin.clone(),
                failed.failure.clone(),
                failed.consequence.clone(),
                failed.session.clone(),
                failed.event_id.clone(),
            ]
        };
        Table {
            name: "failures",
            title: "Failures and their consequences",
            about: "Each call of a plugin that failed, and each event that could not be decided or recorded.",
            header: vec!["record", "time", "agent", "event", "plugin", "failure", "consequence", "session", "event id"],
            rows: self.failures.iter().map(row).collect(),
        }
    }

    fn gaps_table(&self) -> Table {
        let row = |gap: &super::Gap| {
            let or_none = |number: u64, text: String| if number == 0 { String::new() } else { text };
            vec![
                gap.kind.clone(),
                gap.agent.clone(),
                or_none(gap.record, gap.record.to_string()),
                or_none(gap.time, time(gap.time)),
                gap.count.to_string(),
                gap.meaning.clone(),
            ]
        };
        Table {
            name: "gaps",
            title: "Coverage gaps",
            about: "What hookhost did not see, did not enforce, or could not deliver.",
            header: vec!["kind", "agent", "first record", "time", "count", "meaning"],
            rows: self.gaps.iter().map(row).collect(),
        }
    }

    fn operator_table(&self) -> Table {
        let row = |change: &super::OperatorChange| {
            let until = if change.until == 0 { String::new() } else { time(change.until) };
            let (record, at) = (change.record.to_string(), time(change.time));
            vec![record, at, change.action.clone(), change.by.clone(), change.about.clone(), until]
        };
        Table {
            name: "operator",
            title: "Changes by the operator",
            about: "When hookhost was switched off, paused or changed, and by whom.",
            header: vec!["record", "time", "action", "by", "about", "until"],
            rows: self.operator.iter().map(row).collect(),
        }
    }

    fn controls_table(&self) -> Table {
        let row = |control: &crate::controls::Control| {
            vec![
                control.framework.clone(),
                control.control.clone(),
                control.title.clone(),
                control.shown_by.clone(),
                control.shows.clone(),
                control.does_not_show.clone(),
            ]
        };
        Table {
            name: "controls",
            title: "Controls",
            about: "Where to find material for a control. It is no statement that the control is met.",
            header: vec![
                "framework",
                "control",
                "title",
                "shown by",
                "what the evidence shows",
                "what it does not show",
            ],
            rows: self.controls.iter().map(row).collect(),
        }
    }
}

/// Returns a time in UTC. A time beyond the range of the calendar becomes the last time of that range.
pub(super) fn time(millis: u64) -> String {
    let time = i64::try_from(millis).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    time.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}
