//! Runs the examples of `docs/composition.md` as they are written. The page explains how to read an example.

mod page;

use super::{
    Consent, Gate, GateResult, Layer, Member, Objection, OnFailure, Passage, QuestionOrigin, Step, Transform, Verdict,
    merge,
};
use crate::contract::{Escalation, Refusal, Task};
use page::{Page, Row, Rule, Wrong, read};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/composition.md");

/// The asking member, and its question.
type Question = (String, String);
/// The result of a chain of texts.
type TextResult = GateResult<String, String>;

/// The plugins of an example.
struct Chain<'a> {
    names: Vec<&'a str>,
    members: Vec<Member>,
    on_failure: Vec<OnFailure>,
}

impl<'a> Chain<'a> {
    fn read(row: &Row<'a>) -> Result<Self, Wrong> {
        let mut chain = Self { names: vec![], members: vec![], on_failure: vec![] };
        let [list] = row.cells[..] else { return Err(row.wrong("there should be a chain of plugins")) };
        let mut rest = list;
        while !rest.is_empty() {
            let end = rest.find([',', '(']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            let (flags, after) = match after.strip_prefix('(') {
                Some(after) => after.split_once(')').ok_or_else(|| row.wrong("`(` has no `)`"))?,
                None => ("", after),
            };
            let flags: Vec<&str> = flags.split(", ").filter(|flag| !flag.is_empty()).collect();
            if let Some(flag) =
                flags.iter().find(|flag| !["observe", "skip", "ask", "approve", "project"].contains(flag))
            {
                return Err(row.wrong(format!("`{flag}` must be observe, skip, ask, approve or project")));
            }
            chain.names.push(name.trim());
            let layer = if flags.contains(&"project") { Layer::Project } else { Layer::User };
            let may_approve = flags.contains(&"approve").then_some(layer);
            chain.members.push(Member { enforcing: !flags.contains(&"observe"), may_approve, sees_own_changes: false });
            let on_failure = [OnFailure::Skip, OnFailure::Ask].into_iter().find(|word| flags.contains(&word.name()));
            chain.on_failure.push(on_failure.unwrap_or(OnFailure::Reject));
            rest = after.trim_start_matches([',', ' ']);
        }
        Ok(chain)
    }

    /// Returns the names of these members.
    fn names(&self, members: &[usize]) -> String {
        members.iter().map(|&member| self.names[member]).collect::<Vec<_>>().join(", ")
    }

    fn objection(&self, objection: &Objection) -> String {
        match objection {
            Objection::Verdict { by, refusal } => format!("rejected by {}  {}", self.names[*by], refusal.reason),
            Objection::Failure { by } => format!("rejected, {} failed", self.names[*by]),
            Objection::Disagreement { by } => format!("rejected, no agreement with {}", self.names(by)),
        }
    }

    /// Returns the questions about the value that the chain agreed on. Each question contains the name of the asking
    /// member, because an index would have a different meaning in a chain with other members.
    fn questions(&self, decision: &GateResult<String, String>) -> Vec<Question> {
        let GateResult::Accepted { questions, .. } = decision else { return Vec::new() };
        let by = |asker: &QuestionOrigin| match asker {
            QuestionOrigin::Configuration => "configuration".to_owned(),
            QuestionOrigin::Member(member) => self.names[*member].to_owned(),
        };
        questions.iter().map(|(asker, escalation)| (by(asker), escalation.question.clone())).collect()
    }

    /// Formats a decision as an example writes it, without the line for what happens after a yes.
    fn outcome(&self, decision: &GateResult<String, String>, step: &Step<Question>) -> Vec<String> {
        let GateResult::Accepted { value, approved_by, .. } = decision else {
            return vec![format!("outcome  {}", self.standing(decision))];
        };
        let approved = approved_by.map(|by| format!("  approved by {}", self.names[by])).unwrap_or_default();
        match step {
            Step::Settled => vec![format!("outcome  {}{approved}", self.standing(decision))],
            Step::TooManyRounds(open) => {
                let by: Vec<&str> = open.iter().map(|(by, _)| by.as_str()).collect();
                vec![format!("outcome  rejected, asked too often by {}", by.join(", "))]
            }
            Step::Ask(open) => {
                let asks = open.iter().map(|(by, question)| format!("asks  {by}  {question}"));
                [format!("outcome  escalated  {value}{approved}")].into_iter().chain(asks).collect()
            }
        }
    }

    fn standing(&self, decision: &GateResult<String, String>) -> String {
        match decision {
            GateResult::Rejected(objection) => self.objection(objection),
            GateResult::Accepted { response: Some((by, response)), .. } => {
                format!("responded by {}  {response}", self.names[*by])
            }
            GateResult::Accepted { value, .. } => format!("allowed  {value}"),
        }
    }
}

fn escalation(question: &str) -> Escalation {
    Escalation { question: question.to_owned(), code: None }
}

fn refusal(reason: &str) -> Refusal {
    Refusal { reason: reason.to_owned(), code: None, retryable: false, stop: false }
}

/// Runs an example, and compares what the host does with what the example says.
fn check(rows: &[Row<'_>]) -> Result<(), Wrong> {
    let Some(head) = rows.first() else {
        return Err(Wrong { line: 0, what: "an example is empty".into() });
    };
    if head.label == "gate" {
        return gates(rows);
    }
    let Some(end) = rows.iter().position(|row| row.label == "outcome") else {
        return Err(head.wrong("the example has no outcome"));
    };
    let (said, outcome) = rows[1..].split_at(end - 1);
    let chain = Chain::read(head)?;
    let actual = match head.label {
        "transform" => transform(&chain, said, &outcome[0])?,
        "tasks" => tasks(&chain, said)?,
        other => return Err(head.wrong(format!("`{other}` must be gate, transform or tasks"))),
    };
    compare(outcome, &actual)
}

fn compare(rows: &[Row<'_>], actual: &[String]) -> Result<(), Wrong> {
    for (place, row) in rows.iter().enumerate() {
        row.is(&row.text(), actual.get(place).map_or("nothing more", String::as_str))?;
    }
    match actual.get(rows.len()) {
        Some(more) => Err(rows[0].wrong(format!("the outcome should continue with `{more}`"))),
        None => Ok(()),
    }
}

/// Asks the chain of each `gate` row. The chain of a later row is asked after a yes to the questions that the previous
/// row left open.
fn gates(rows: &[Row<'_>]) -> Result<(), Wrong> {
    let mut consent = Consent::default();
    let mut rest = rows;
    while let Some((head, after)) = rest.split_first() {
        let end = after.iter().position(|row| row.label == "gate").unwrap_or(after.len());
        let (rows, later) = after.split_at(end);
        let outcome = rows.iter().position(|row| row.label == "outcome");
        let (said, outcome) = rows.split_at(outcome.ok_or_else(|| head.wrong("the example has no outcome"))?);
        let chain = Chain::read(head)?;
        let (decision, unasked) = gate(&chain, said, &outcome[0])?;
        let GateResult::Accepted { value, changed_by, response, .. } = &decision else {
            compare(outcome, &chain.outcome(&decision, &Step::Settled))?;
            return later.first().map_or(Ok(()), |row| Err(row.wrong("nobody said yes before")));
        };
        let response = response.as_ref().map(|(by, response)| format!("{} {response}", chain.names[*by]));
        let step = consent.step(value, !changed_by.is_empty(), response.as_ref(), chain.questions(&decision));
        let mut actual = chain.outcome(&decision, &step);
        match step {
            Step::Ask(open) => {
                consent.give(value.clone(), response, open);
                // If the rules and the state are unchanged, a yes leads to the same decision as a chain that asks no
                // questions.
                let yes = if later.is_empty() { chain.standing(&unasked) } else { "asked again".to_owned() };
                actual.push(format!("yes  {yes}"));
            }
            _ if !later.is_empty() => return Err(later[0].wrong("nobody said yes before")),
            _ => {}
        }
        compare(outcome, &actual)?;
        rest = later;
    }
    Ok(())
}

/// Returns the decision, and the decision without the questions.
fn gate(chain: &Chain<'_>, said: &[Row<'_>], outcome: &Row<'_>) -> Result<(TextResult, TextResult), Wrong> {
    let (asks, said): (Vec<_>, Vec<_>) = said.iter().partition(|row| row.label.starts_with("ask"));
    for row in &asks {
        if row.cells.len() != 2 {
            return Err(row.wrong("there should be a value and a question"));
        }
    }
    let decision = decide(chain, &asks, &said, outcome)?;
    let unasked: Vec<Row<'_>> = said.iter().map(|row| without_question(row)).collect();
    let unasked = decide(chain, &[], &unasked.iter().collect::<Vec<_>>(), outcome)?;
    Ok((decision, unasked))
}

fn without_question<'a>(row: &Row<'a>) -> Row<'a> {
    let cells = row.cells.iter().map(|cell| if cell.starts_with("escalate ") { "allow" } else { cell });
    Row { line: row.line, label: row.label, cells: cells.collect() }
}

fn decide(
    chain: &Chain<'_>,
    asks: &[&Row<'_>],
    said: &[&Row<'_>],
    outcome: &Row<'_>,
) -> Result<GateResult<String, String>, Wrong> {
    let first = said.first().ok_or_else(|| outcome.wrong("nobody is asked"))?.asked()?.1;
    let mut gate = Gate::new(chain.members.clone(), first.to_owned());
    let mut authors = Vec::new();
    for row in said {
        let (name, value, answer) = row.asked()?;
        let asked = gate.ask();
        row.is(
            &format!("{}  {name}  {value}", row.label),
            &who(chain, asked.map(|ask| (ask.round, ask.member)), &gate),
        )?;
        let member = asked.unwrap().member;
        let answer = match answer.split_once(' ').unwrap_or((answer, "")) {
            ("allow", "") => Verdict::Allow,
            ("approve", "") => Verdict::Approve,
            ("fails", "") if chain.on_failure[member] == OnFailure::Ask => Verdict::Unanswered(escalation("no answer")),
            ("fails", "") => Verdict::Failed(chain.on_failure[member]),
            ("not", "matched") => Verdict::NotMatched,
            ("modify", new) if !new.is_empty() => Verdict::Change(new.to_owned()),
            ("escalate", question) => Verdict::Escalate(escalation(question)),
            ("reject", reason) => Verdict::Reject(refusal(reason)),
            ("respond", response) => Verdict::Respond(response.to_owned()),
            _ => return Err(row.not_an_answer(answer)),
        };
        if matches!(&answer, Verdict::Change(new) if new != value) && chain.members[member].enforcing {
            authors.push(member);
        }
        gate.answer(answer);
    }
    let next = gate.ask().map(|ask| (ask.round, ask.member));
    outcome.is("nobody is asked any more", &who(chain, next, &gate))?;
    let asked = asks
        .iter()
        .find(|row| row.cells[0] == gate.value())
        .map(|row| (if row.label == "ask (project)" { Layer::Project } else { Layer::User }, escalation(row.cells[1])));
    let decision = gate.decide(asked);
    if let GateResult::Accepted { changed_by, .. } = &decision {
        outcome
            .is(&format!("changed by {}", chain.names(&authors)), &format!("changed by {}", chain.names(changed_by)))?;
    }
    Ok(decision)
}

fn who(chain: &Chain<'_>, asked: Option<(u32, usize)>, gate: &Gate<String, String>) -> String {
    let asked = asked.map(|(round, member)| format!("round {round}  {}  {}", chain.names[member], gate.value()));
    asked.unwrap_or_else(|| "nobody is asked any more".to_owned())
}

fn transform(chain: &Chain<'_>, said: &[Row<'_>], outcome: &Row<'_>) -> Result<Vec<String>, Wrong> {
    let first = said.first().ok_or_else(|| outcome.wrong("nobody is asked"))?.asked()?.1;
    let mut transform = Transform::new(chain.members.clone(), first.to_owned());
    let who = |transform: &Transform<String>| {
        let asked = transform.ask().map(|member| format!("asked  {}  {}", chain.names[member], transform.value()));
        asked.unwrap_or_else(|| "nobody is asked any more".to_owned())
    };
    for row in said {
        let (name, value, answer) = row.asked()?;
        row.is(&format!("{}  {name}  {value}", row.label), &who(&transform))?;
        let passage = match answer.split_once(' ').unwrap_or((answer, "")) {
            ("keep", "") => Passage::Keep,
            ("replace", new) => Passage::Replace(new.to_owned()),
            ("reject", reason) => Passage::Reject(refusal(reason)),
            ("fails", "") => Passage::Failed(chain.on_failure[transform.ask().unwrap()]),
            _ => return Err(row.not_an_answer(answer)),
        };
        transform.answer(passage);
    }
    outcome.is("nobody is asked any more", &who(&transform))?;
    let decided = match transform.decide() {
        Ok((value, _)) => format!("passed  {value}"),
        Err(objection) => chain.objection(&objection),
    };
    Ok(vec![format!("outcome  {decided}")])
}

fn tasks(chain: &Chain<'_>, said: &[Row<'_>]) -> Result<Vec<String>, Wrong> {
    let mut additions = Vec::new();
    for (place, row) in said.iter().enumerate() {
        let [name, list] = row.cells[..] else { return Err(row.wrong("there should be a name and tasks")) };
        let asked = chain.names.get(place).map_or("nobody".to_owned(), |name| format!("asked  {name}"));
        row.is(&format!("{}  {name}", row.label), &asked)?;
        if list == "fails" {
            continue;
        }
        let mut tasks = Vec::new();
        for item in list.split(", ") {
            let (count, prompt) = item.split_once(" × ").unwrap_or(("1", item));
            let count = count.parse().map_err(|_| row.wrong(format!("`{count}` is not a number")))?;
            tasks.extend(vec![Task { prompt: prompt.to_owned(), title: None }; count]);
        }
        additions.push((chain.members[place], tasks));
    }
    let (merged, left_out) = merge(additions);
    let mut items: Vec<String> = merged
        .chunk_by(|one, next| one == next)
        .map(|same| match same.len() {
            1 => same[0].prompt.clone(),
            count => format!("{count} × {}", same[0].prompt),
        })
        .collect();
    if left_out > 0 {
        items.push(format!("{left_out} left out"));
    }
    Ok(vec![format!("outcome  {}", items.join(", "))])
}

/// The rules that have no example.
fn without_example<'a>(page: &'a Page<'_>) -> Vec<&'a Rule> {
    page.rules.iter().filter(|rule| rule.examples == 0).collect()
}

#[test]
fn each_example_holds() {
    let text = std::fs::read_to_string(PAGE).unwrap();
    let wrong: Vec<String> =
        read(&text).examples.iter().filter_map(|rows| check(rows).err()).map(|wrong| wrong.to_string()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_rule_has_an_example() {
    let text = std::fs::read_to_string(PAGE).unwrap();
    let page = read(&text);
    let without: Vec<String> = without_example(&page)
        .into_iter()
        .map(|rule| format!("docs/composition.md:{}: {} {} has no example", rule.line, rule.heading, rule.mark))
        .collect();
    assert!(without.is_empty(), "{}", without.join("\n"));
    // Also check that the rules exist, because otherwise a rule could be removed together with its example.
    let marks = |heading: &str| -> Vec<&str> {
        page.rules.iter().filter(|rule| rule.heading == heading).map(|rule| rule.mark.as_str()).collect()
    };
    assert_eq!(marks("Gates"), ["1.", "2.", "3.", "4.", "5.", "6.", "7.", "8.", "9."]);
    assert_eq!(marks("What follows").len(), 4);
    assert_eq!(marks("Close cases").len(), 5);
    assert_eq!(marks("Transforms").len(), 3);
    assert_eq!(marks("Collect events").len(), 3);
    assert_eq!(marks("Failures and observe mode").len(), 4);
}

#[test]
fn an_example_that_does_not_hold_is_reported_with_its_line() {
    let right = "```chain\n\
        gate       one, two (skip)\n\
        round 1    one        a    escalate sure?\n\
        \x20          two        a    modify b\n\
        round 2    one        b    fails\n\
        outcome    rejected, one failed\n\
        ```\n";
    let result = |text: &str| read(text).examples.iter().try_for_each(|rows| check(rows));
    assert_eq!(result(right), Ok(()));
    let cases = [
        ("two        a", "two        b", 4, "expected `round 1  two  b`, but the host says `round 1  two  a`"),
        ("round 2    one", "round 3    one", 5, "expected `round 3  one  b`, but the host says `round 2  one  b`"),
        ("modify b", "modify", 4, "`modify` is not an answer"),
        ("modify b", "allow", 5, "expected `round 2  one  b`, but the host says `nobody is asked any more`"),
        (
            "round 2    one        b    fails\n",
            "",
            5,
            "expected `nobody is asked any more`, but the host says `round 2  one  b`",
        ),
        (
            "one failed",
            "two failed",
            6,
            "expected `outcome  rejected, two failed`, but the host says `outcome  rejected, one failed`",
        ),
        (
            "b    fails",
            "b    escalate sure?",
            6,
            "expected `outcome  rejected, one failed`, but the host says `outcome  escalated  b`",
        ),
        (
            "rejected, one failed",
            "rejected, one failed\nyes    allowed  b",
            7,
            "expected `yes  allowed  b`, but the host says `nothing more`",
        ),
        (
            "b    fails\noutcome    rejected, one failed",
            "b    escalate sure?\noutcome    escalated    b",
            6,
            "the outcome should continue with `asks  one  sure?`",
        ),
        ("b    fails", "b    shrugs", 5, "`shrugs` is not an answer"),
        ("b    fails", "b", 5, "there should be a name, a value and an answer"),
        ("(skip)", "(sleepy)", 2, "`sleepy` must be observe, skip, ask, approve or project"),
        ("gate", "gait", 2, "`gait` must be gate, transform or tasks"),
        ("outcome", "result", 2, "the example has no outcome"),
    ];
    for (old, new, line, what) in cases {
        assert!(right.contains(old), "{old}");
        assert_eq!(result(&right.replace(old, new)), Err(Wrong { line, what: what.into() }));
    }
}

#[test]
fn a_rule_without_an_example_is_reported() {
    let page = "# Rules\n\n1. One.\n\n   ```chain\n   ```\n\n2. Two.\n\n```chain\n```\n\n- Three.\n\n\
        ## More\n\n  ```chain\n  ```\n";
    let page = read(page);
    let without: Vec<(usize, &str)> =
        without_example(&page).into_iter().map(|rule| (rule.line, rule.mark.as_str())).collect();
    assert_eq!(without, [(8, "2."), (13, "-")]);
    assert_eq!(page.examples.len(), 3);
}
