//! Finds the view of a request, and gives answers.
//!
//! | request | answer |
//! |---|---|
//! | `GET /page.css`, `/page.js`, `/live.js`, `/passkey.js`, `/icon.svg` | an asset |
//! | `GET` any other path, without a token | the shell, which contains no data |
//! | `GET /`, `/approvals`, `/search`, `/event/SEQ`, `/rules`, `/health`, `/report`, `/passkeys` | a view |
//! | `GET /live` | a stream of new rows and questions |
//! | `GET /plain`, `POST /plain` | the same views without a script |
//! | `POST /session` | exchanges the code of a link for a token |
//! | `POST /approvals/CODE` | answers a question |
//! | `POST /passkeys`, `/passkeys/remove` | registers or removes a passkey |
//! | `POST` one of these three with `/challenge` | returns what a passkey signs for it |
//! | `POST /event/SEQ/again` | judges an event again |
//! | `POST /health/verify` | verifies the log |

use crate::access::{Access, Grant};
use crate::health::{self, FurtherChecks, Newest, UnseenCount, Verified};
use crate::live::LiveFeed;
use crate::log_rows::{EventRow, LogReader, Verdict};
use crate::search::{Search, SearchQuery};
use crate::shown_text::shown;
use crate::views::approvals::{ApprovalsView, Waiting};
use crate::views::event::{Again, EventView, answered};
use crate::views::found::FoundView;
use crate::views::health::{HealthView, state};
use crate::views::layout::{View, counted, sentence};
use crate::views::now::{NowView, ROWS};
use crate::views::passkeys::PasskeysView;
use crate::views::plain;
use crate::views::report::{PERIODS, ReportView};
use crate::views::rules::{PluginEntry, RuleEntry, RulesView};
use hookhost::approval::{Approval, ApprovalRequest};
use hookhost::audit::{EventRecord, Record};
use hookhost::command::replay_event;
use hookhost::config::{Config, Digest};
use hookhost::contract::PasskeyProof;
use hookhost::passkey::{Challenge, NewPasskey, Passkeys};
use hookhost::session::{QuestionGone, SessionSpec};
use hookhost::store::{LogError, RuleTexts};
use hookhost::{Engine, Host};
use hookhost_agents::clock;
use hookhost_agents::install::check::Check;
use hookhost_resident::{RulePauses, Settler};
use hookhost_telemetry::explained::{EventName, Explained, newest_first};
use hookhost_telemetry::last_matches::LastMatches;
use hookhost_telemetry::tally::Tally;
use hyper::StatusCode;
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The channel of the page's answers in the log.
const VIA: &str = "page";

/// The answer that is valid for the rest of the session.
const FOR_SESSION: &str = "yes-for-session";

/// What a person is told whose answer comes too late.
const GONE: &str = "This question no longer waits for an answer.";

/// Why a yes does not count if it is about another text than the question has.
const NOT_SHOWN: &str = "it does not name the question as the page shows it";

/// The agent of the calls that a person tries. They are not recorded.
const TRIES: &str = "hookhost-page";

/// Time limit of each search for the records that belong to an event.
const EXPLAIN_TIMEOUT: Duration = Duration::from_millis(700);

/// Maximum number of records that a report counts.
const MAX_REPORTED: usize = 200_000;

/// Maximum number of records that are searched for the first answer to a question.
const MAX_MATCHED: usize = 20_000;

/// Time to wait until the log says who gave the first answer to a question.
const FIRST_ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// What all requests share.
pub(crate) struct Site {
    /// The host outlives the page, but not while a request waits.
    pub(crate) settler: Weak<Settler>,
    pub(crate) host: Host,
    pub(crate) reader: LogReader,
    pub(crate) state: PathBuf,
    /// The directory of compiled plugins.
    pub(crate) cache: Option<PathBuf>,
    /// The user's name.
    pub(crate) person: Option<String>,
    pub(crate) checks: Option<FurtherChecks>,
    pub(crate) access: Access,
    pub(crate) live: Arc<LiveFeed>,
    pub(crate) search: Search,
    pub(crate) unseen: UnseenCount,
    pub(crate) verified: Arc<Verified>,
    /// Runs the plugins for tries, apart from the agents' events.
    pub(crate) engine: Engine,
}

/// An answer: a status, and markup.
pub(crate) type Answer = (StatusCode, Markup);

/// The body of an answer to a question.
#[derive(Deserialize)]
struct GivenAnswer {
    answer: String,
    /// The digest of the question that the person saw. A no needs none.
    #[serde(default)]
    shown: Option<Digest>,
    #[serde(default)]
    because: Option<String>,
    /// The signature of a passkey.
    #[serde(default)]
    proof: Option<PasskeyProof>,
}

impl GivenAnswer {
    /// Returns true if the answer is about this question. A yes must be about exactly what the person saw, whatever another program has
    /// written into the store since then.
    fn is_about(&self, request: &ApprovalRequest, code: &str) -> bool {
        let is_shown = self.answer == "no" || self.shown.is_some() && self.shown == request.digest;
        !code.is_empty() && request.code == code && is_shown
    }
}

/// The body of a request to register a passkey.
#[derive(Deserialize)]
struct AddedPasskey {
    #[serde(flatten)]
    new: NewPasskey,
    own: PasskeyProof,
    by: Option<PasskeyProof>,
}

/// The body of a request to remove a passkey.
#[derive(Deserialize)]
struct RemovedPasskey {
    id: String,
    by: Option<PasskeyProof>,
}

/// The parameters of an address.
pub(crate) struct Query(HashMap<String, String>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        let decoded =
            |part: &str| percent_encoding::percent_decode_str(&part.replace('+', " ")).decode_utf8_lossy().into_owned();
        let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (decoded(name), decoded(value)));
        Self(text.split('&').filter_map(pair).collect())
    }

    /// Returns the fields of a form that are parameters of the view at its address.
    fn of_view(&self) -> Self {
        let is_own = |name: &String| !["token", "form"].contains(&name.as_str());
        Self(
            self.0.iter().filter(|(name, _)| is_own(name)).map(|(name, value)| (name.clone(), value.clone())).collect(),
        )
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl Site {
    /// Returns the view at a path.
    pub(crate) async fn view(&self, path: &str, query: &Query, grant: &Grant) -> (StatusCode, View) {
        let mut parts = path.trim_matches('/').split('/');
        let (first, second) = (parts.next().unwrap_or_default(), parts.next());
        let second = second.map(|part| percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned());
        let view = match (first, second.as_deref()) {
            ("", None) => self.now(grant).await,
            ("approvals", _) => self.approvals().await,
            ("search", None) => self.found(query).await,
            ("event", Some(seq)) => match seq.parse() {
                Ok(seq) => self.event(seq).await,
                Err(_) => Err(format!("{seq:?} is not the number of a record")),
            },
            ("rules", named) => self.rules(named, query.get("try"), &grant.directory).await,
            ("passkeys", None) => {
                let view = |passkeys| PasskeysView { passkeys, may_register: grant.may_register }.render();
                self.passkeys().await.map(view)
            }
            ("health", None) => self.health().await,
            ("report", None) => self.report(query.get("since")).await,
            _ => return (StatusCode::NOT_FOUND, sentence("Not found", "There is no view at this address.")),
        };
        match view {
            Ok(view) => (StatusCode::OK, view),
            Err(why) => (StatusCode::INTERNAL_SERVER_ERROR, sentence("This cannot be shown", &why)),
        }
    }

    /// Answers a form of the pages without a script.
    pub(crate) async fn plain(&self, body: &[u8], is_own: bool) -> Answer {
        let fields = Query::parse(&String::from_utf8_lossy(body));
        let token = match fields.get("code") {
            Some(_) if !is_own => {
                return (StatusCode::FORBIDDEN, plain::entrance(Some("This link is for its own user alone.")));
            }
            Some(code) => self.access.open(code.trim()).unwrap_or_default(),
            None => fields.get("token").map(str::to_owned),
        };
        let grant = token.as_deref().and_then(|token| self.access.grant(token));
        let (Some(token), Some(grant)) = (token, grant) else {
            let why = "This page has no access any more. Run in a terminal: hookhost ui --plain";
            return (StatusCode::UNAUTHORIZED, plain::entrance(Some(why)));
        };
        let (act, answer) = fields.get("act").and_then(|act| act.split_once(' ')).unwrap_or_default();
        let done = match (act, answer) {
            ("", _) => None,
            // These pages have no button with another answer.
            (act, "" | "no") => Some(self.act(act, br#"{"answer":"no"}"#, &grant).await.1),
            _ => Some(html! { "This page gives no such answer." }),
        };
        // The path of a link comes before that of the page with the link.
        let target = fields.get("path").or(fields.get("form")).or(fields.get("from")).unwrap_or("/");
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Query::parse(query)),
            None => (target, fields.of_view()),
        };
        let (status, view) = self.view(path, &query, &grant).await;
        (status, plain::page(&view, &token, target, done.as_ref()))
    }

    /// Does what a `POST` asks for.
    pub(crate) async fn act(&self, path: &str, body: &[u8], grant: &Grant) -> Answer {
        let parts: Vec<_> = path.trim_matches('/').split('/').collect();
        match parts.as_slice() {
            ["approvals", code, "challenge"] => self.challenge_to_answer(code, body).await,
            ["passkeys", change @ ..] => match self.change_passkeys(change, body, grant).await {
                Ok(answer) => answer,
                Err(why) => said(StatusCode::FORBIDDEN, &why),
            },
            ["approvals", code] => match serde_json::from_slice::<GivenAnswer>(body) {
                Ok(given) => self.answer(code, given).await,
                Err(error) => said(StatusCode::BAD_REQUEST, &format!("the answer cannot be read: {error}")),
            },
            ["event", seq, "again"] => match seq.parse() {
                Ok(seq) => self.again(seq).await,
                Err(_) => said(StatusCode::NOT_FOUND, "There is no such record."),
            },
            ["health", "verify"] => {
                let (verified, reader) = (Arc::clone(&self.verified), self.reader.clone());
                let done = tokio::task::spawn_blocking(move || verified.verify(&reader)).await;
                let check =
                    done.unwrap_or_else(|error| Check::unknown("log", error.to_string(), "hookhost audit verify"));
                let markup = html! { (state(check.state)) " " (shown(&check.says)) @if let Some(next) = &check.next { "; next: " (shown(next)) } };
                (StatusCode::OK, markup)
            }
            _ => said(StatusCode::NOT_FOUND, "There is nothing at this address."),
        }
    }

    fn settler(&self) -> Result<Arc<Settler>, String> {
        self.settler.upgrade().ok_or_else(|| "the resident host is ending".to_owned())
    }

    async fn passkeys(&self) -> Result<Passkeys, String> {
        self.host.passkeys().await.map_err(|error| error.to_string())
    }

    /// Returns what a passkey signs to answer a question, and the passkeys that may sign.
    async fn challenge_to_answer(&self, code: &str, body: &[u8]) -> Answer {
        let challenge = async {
            let given: GivenAnswer = serde_json::from_slice(body).map_err(|error| error.to_string())?;
            let open = self.host.questions().await.map_err(|error| error.to_string())?;
            let request = open.iter().find(|request| given.is_about(request, code)).ok_or(GONE)?;
            request.challenge(given.answer == FOR_SESSION).ok_or_else(|| GONE.to_owned())
        };
        match (challenge.await, self.passkeys().await) {
            (Ok(challenge), Ok(passkeys)) => to_sign(challenge, &passkeys),
            (Err(why), _) | (_, Err(why)) => said(StatusCode::CONFLICT, &why),
        }
    }

    /// Registers or removes a passkey, or returns what is signed for this. The first passkey needs a link that a person has asked for at a
    /// terminal; each further change needs the signature of a registered one, which the engine verifies.
    async fn change_passkeys(&self, change: &[&str], body: &[u8], grant: &Grant) -> Result<Answer, String> {
        let unreadable = |error: serde_json::Error| format!("the request cannot be read: {error}");
        let passkeys = self.passkeys().await?;
        let is_adding = matches!(change, [] | ["challenge"]);
        if is_adding && !passkeys.is_required() && !grant.may_register {
            return Err(
                "The first passkey needs a link that you ask for in a terminal: hookhost passkey add".to_owned()
            );
        }
        match change {
            ["challenge"] => {
                let new: NewPasskey = serde_json::from_slice(body).map_err(unreadable)?;
                Ok(to_sign(passkeys.challenge_to_add(&new), &passkeys))
            }
            ["remove", "challenge"] => {
                let removed: RemovedPasskey = serde_json::from_slice(body).map_err(unreadable)?;
                Ok(to_sign(passkeys.challenge_to_remove(&removed.id), &passkeys))
            }
            [] => {
                let AddedPasskey { new, own, by } = serde_json::from_slice(body).map_err(unreadable)?;
                self.host.add_passkey(new, own, by).await.map_err(|error| error.to_string())?;
                Ok(said(StatusCode::OK, "The passkey is registered. Each yes needs one from now on."))
            }
            ["remove"] => {
                let RemovedPasskey { id, by } = serde_json::from_slice(body).map_err(unreadable)?;
                let by = by.ok_or("The signature of a registered passkey is missing.")?;
                self.host.remove_passkey(&id, by).await.map_err(|error| error.to_string())?;
                Ok(said(StatusCode::OK, "The passkey is removed."))
            }
            _ => Ok(said(StatusCode::NOT_FOUND, "There is nothing at this address.")),
        }
    }

    async fn waiting(&self) -> Result<Vec<Waiting>, String> {
        let open = self.host.questions().await.map_err(|error| error.to_string())?;
        Ok(open.iter().map(Waiting::new).collect())
    }

    async fn now(&self, grant: &Grant) -> Result<View, String> {
        let reader = self.reader.clone();
        let rows = blocking(move || reader.newest(ROWS)).await?;
        let notes = match self.settler()?.rules().of(&grant.directory).await {
            Ok(rules) => rules.notes.to_vec(),
            Err(why) => vec![format!("hookhost: the rules of {} cannot be loaded: {why}", grant.directory.display())],
        };
        let view =
            NowView { rows, sessions: self.settler()?.sessions().count(), waiting: self.waiting().await?, notes };
        Ok(view.render())
    }

    async fn approvals(&self) -> Result<View, String> {
        let has_passkey = self.passkeys().await?.is_required();
        Ok(ApprovalsView { waiting: self.waiting().await?, has_passkey }.render())
    }

    async fn found(&self, query: &Query) -> Result<View, String> {
        let text = query.get("q").unwrap_or_default().chars().take(1000).collect::<String>();
        let before = query.get("before").and_then(|before| before.parse().ok());
        let begun = Instant::now();
        let (search, parsed) = (self.search.clone(), SearchQuery::parse(&text));
        let found = blocking(move || search.find(&parsed, before)).await?;
        let view = FoundView {
            query: text,
            rows: found.rows,
            next: found.next,
            searched_to: found.searched_to,
            is_indexed: found.is_indexed,
            micros: begun.elapsed().as_micros(),
        };
        Ok(view.render())
    }

    async fn explained(&self, seq: u64) -> Result<Option<Explained>, String> {
        let reader = self.reader.clone();
        blocking(move || {
            let found = Explained::find(&reader.open()?, EventName::Number(seq), Some(EXPLAIN_TIMEOUT));
            found.map_err(|error| error.to_string())
        })
        .await
    }

    async fn event(&self, seq: u64) -> Result<View, String> {
        let texts = RuleTexts::of(self.reader.path());
        Ok(match self.explained(seq).await? {
            Some(explained) => blocking(move || Ok(EventView::new(&explained, &texts))).await?.render(),
            None => sentence("Not found", &format!("The log has no record {seq}.")),
        })
    }

    /// Judges a recorded event by the rules of today. Nothing is recorded, and nothing has an effect.
    async fn again(&self, seq: u64) -> Answer {
        let judged = async {
            let explained = self.explained(seq).await?.ok_or("the log has no such record")?;
            let opened = explained.opened.ok_or("the log does not contain the beginning of the session")?;
            let rules = self.settler()?.rules().of(Path::new(&opened.cwd)).await?;
            let host = self.trial_host(rules.rules.config()).await?;
            Ok::<_, String>(replay_event(&host, opened, explained.seq, explained.event).await)
        };
        match judged.await {
            Err(why) => said(StatusCode::OK, &format!("It cannot be judged again: {why}")),
            Ok(compared) => {
                let is_same = compared.is_same();
                let then = Some(Verdict::of(&compared.recorded));
                let now = compared.again.as_ref().map(decision);
                let again = Again { then, now, is_same, not_replayable: compared.not_replayable };
                (StatusCode::OK, again.render())
            }
        }
    }

    /// Returns a host with these rules, which records nothing.
    async fn trial_host(&self, config: Config) -> Result<Host, String> {
        let mut builder = Host::builder(config).engine(&self.engine);
        if let Some(cache) = &self.cache {
            builder = builder.cache(cache);
        }
        builder.build().await.map_err(|error| error.to_string())
    }

    async fn rules(&self, named: Option<&str>, tried: Option<&str>, directory: &Path) -> Result<View, String> {
        let loaded = self.settler()?.rules().of(directory).await?;
        let config = loaded.rules.config();
        let reader = self.reader.clone();
        let read = move || LastMatches::read(&reader.open()?).map_err(|error| error.to_string());
        let matches = blocking(read).await?;
        let off = RulePauses::current(&self.state);
        let rules = config.rules().iter().map(|rule| {
            RuleEntry::new(rule, off.of(rule).map(|pause| pause.until), matches.rules.get(&rule.row.id).copied())
        });
        let plugins = loaded.rules.plugins();
        let plugins = plugins.iter().map(|plugin| PluginEntry {
            name: plugin.name().to_owned(),
            code: plugin.code_id().to_string(),
            last: matches.plugins.get(plugin.name()).copied(),
        });
        let (rules, plugins) = (rules.collect(), plugins.collect());
        let tried = match tried.filter(|tried| !tried.trim().is_empty()) {
            None => None,
            Some(call) => Some((call.to_owned(), self.tried(config, call, directory).await)),
        };
        let view = RulesView {
            directory: directory.display().to_string(),
            rules,
            plugins,
            notes: loaded.notes.to_vec(),
            named: named.map(str::to_owned),
            tried,
        };
        Ok(view.render())
    }

    /// Asks the rules about a command, or about a call in JSON.
    async fn tried(&self, config: Config, call: &str, directory: &Path) -> Result<Again, String> {
        #[derive(Deserialize)]
        struct Call {
            name: String,
            #[serde(default)]
            arguments: serde_json::Value,
        }
        let Call { name, arguments } = match serde_json::from_str(call) {
            Ok(call) => call,
            Err(_) => Call { name: "bash".to_owned(), arguments: serde_json::json!({ "command": call }) },
        };
        // A plugin with such a grant would write real files and send real requests.
        let (config, left_out) = config.for_replay();
        let host = self.trial_host(config).await?;
        let session = host.open_session(SessionSpec::new(TRIES, directory)).map_err(|error| error.to_string())?;
        let settled = session.check_tool(&name, &arguments).await;
        let now = decision(&settled.record);
        let why = "is not asked here, because it may write files, send data or ask a model";
        let not_replayable = left_out.iter().map(|name| format!("{name} {why}")).collect();
        Ok(Again { then: None, now: Some(now), is_same: false, not_replayable })
    }

    async fn health(&self) -> Result<View, String> {
        let reader = self.reader.clone();
        let newest = blocking(move || Newest::read(&reader)).await?;
        let (unseen, is_reading) = self.unseen.get(&self.reader);
        let (disk, size) = health::disk(self.reader.path());
        let (sessions, directories) = (self.settler()?.sessions().count(), self.settler()?.rules().count());
        let host = format!(
            "version {}, {}, rules of {}",
            env!("CARGO_PKG_VERSION"),
            counted(sessions, "open session", "open sessions"),
            counted(directories, "directory", "directories")
        );
        let mut checks = vec![Check::ok("host", host), self.verified.check(newest.records), disk];
        if let Some(further) = self.checks.clone() {
            checks.extend(blocking(move || Ok(further())).await?);
        }
        let view = HealthView {
            checks,
            agents: health::agents(&newest, &unseen),
            is_reading,
            failures: newest.failures,
            records: newest.records,
            size,
        };
        Ok(view.render())
    }

    async fn report(&self, period: Option<&str>) -> Result<View, String> {
        let chosen = PERIODS.iter().find(|(name, ..)| Some(*name) == period).or(PERIODS.get(1));
        let (period, hours) = chosen.map_or(("7d", 168), |(name, hours, _)| (*name, *hours));
        let since = clock::before_now(Duration::from_secs(hours * 3600));
        let reader = self.reader.clone();
        let (tally, is_cut) = blocking(move || tally(&reader, since, MAX_REPORTED)).await?;
        Ok(ReportView { period, since, tally, is_cut }.render())
    }

    /// Answers a question. The first answer counts; a later one is told who gave it.
    async fn answer(&self, code: &str, given: GivenAnswer) -> Answer {
        let approval = match given.answer.as_str() {
            "yes" => Approval::yes(),
            FOR_SESSION => Approval::yes_for_session(),
            "no" => given.because.iter().fold(Approval::no(), |no, because| no.because(because.clone())),
            other => return said(StatusCode::BAD_REQUEST, &format!("{other:?} is no answer")),
        };
        let host = &self.host;
        let approval = given.proof.clone().into_iter().fold(approval.via(VIA).from(VIA), Approval::proof);
        let approval = self.person.iter().fold(approval, |approval, person| approval.by(person.clone()));
        let open = match host.questions().await {
            Ok(open) => open,
            Err(error) => return said(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        };
        let Some(request) = open.iter().find(|request| !code.is_empty() && request.code == code) else {
            return said(StatusCode::CONFLICT, GONE);
        };
        if !given.is_about(request, code) {
            host.refuse_answer(request, approval, NOT_SHOWN);
            return said(
                StatusCode::CONFLICT,
                &format!("Your answer does not count: {NOT_SHOWN}. Load the page again."),
            );
        }
        match host.answer(&request.id, approval).await {
            Ok(()) => said(StatusCode::OK, accepted(request, &given.answer)),
            Err(QuestionGone::Answered { first, .. }) => {
                said(StatusCode::CONFLICT, &format!("Your answer came second. The first: {first}."))
            }
            Err(QuestionGone::Unknown(_)) => self.came_late(&request.id).await,
            Err(error @ (QuestionGone::Unproven { .. } | QuestionGone::NeedsPasskey(_))) => {
                said(StatusCode::FORBIDDEN, &error.to_string())
            }
            Err(error) => said(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }

    /// Says who answered first, as soon as the log has it.
    async fn came_late(&self, id: &str) -> Answer {
        let begun = Instant::now();
        while begun.elapsed() < FIRST_ANSWER_TIMEOUT {
            let (reader, id) = (self.reader.clone(), id.to_owned());
            if let Ok(Some(first)) = blocking(move || first_answer(&reader, &id)).await {
                return said(StatusCode::CONFLICT, &format!("Your answer came second. The first: {first}"));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        said(StatusCode::CONFLICT, GONE)
    }
}

fn accepted(request: &ApprovalRequest, answer: &str) -> &'static str {
    match answer {
        "no" => "No. It does not run.",
        _ if request.is_overridable() => {
            "It may pass once within ten minutes. Tell the agent to try exactly this again."
        }
        "yes" => "Yes. It may run, once.",
        _ => "Yes, for this session.",
    }
}

/// Returns a challenge and the passkeys that may sign it, as JSON. There are none if no passkey is needed.
fn to_sign(challenge: Challenge, passkeys: &Passkeys) -> Answer {
    let ids: Vec<&str> = passkeys.registered().iter().map(|passkey| passkey.id.as_str()).collect();
    let json = serde_json::json!({ "challenge": challenge.to_string(), "credentials": ids });
    (StatusCode::OK, PreEscaped(json.to_string()))
}

/// Returns one sentence as an answer.
fn said(status: StatusCode, text: &str) -> Answer {
    (status, html! { (shown(text)) })
}

fn decision(record: &EventRecord) -> (Verdict, Vec<String>, Option<String>) {
    let row = EventRow::new(0, record);
    (row.verdict, row.rules, row.reason)
}

/// Finds the newest answer to the question of an event.
fn first_answer(reader: &LogReader, id: &str) -> Result<Option<String>, String> {
    let (mut found, mut left) = (None, MAX_MATCHED);
    newest_first(&reader.open()?, u64::MAX, |line| {
        if line.text().contains(id)
            && let Ok(Record::Approval(answer)) = line.entry()
            && answer.id == id
        {
            let by = answer.answer.by.map(|by| format!(" by {by}")).unwrap_or_default();
            let via = answer.answer.via.map(|via| format!(" via {via}")).unwrap_or_default();
            found = Some(format!("{}{by}{via}.", answered(answer.answer.kind)));
        }
        left -= 1;
        if found.is_some() || left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .map_err(|error| error.to_string())?;
    Ok(found)
}

/// Counts at most this number of records since this time. Returns true if there are more than are counted.
fn tally(reader: &LogReader, since: u64, most: usize) -> Result<(Tally, bool), String> {
    let log = reader.open()?;
    let (mut first, mut left, mut is_cut) = (None, most, false);
    // The tally needs the records in their order. So their beginning is found first, and no record is kept in memory.
    newest_first(&log, u64::MAX, |line| {
        let Ok(record) = line.entry() else { return ControlFlow::Continue(()) };
        is_cut = left == 0 && record.time() >= since;
        if left == 0 || record.time() < since {
            return ControlFlow::Break(());
        }
        (first, left) = (Some(line.seq()), left - 1);
        ControlFlow::Continue(())
    })
    .map_err(|error| error.to_string())?;
    let mut tally = Tally::new(since);
    let Some(first) = first else { return Ok((tally, is_cut)) };
    for line in log.lines_after(first - 1).map_err(|error| error.to_string())? {
        match line {
            Ok(line) => line.entry().iter().for_each(|record| tally.add(record)),
            Err(LogError::Line { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok((tally, is_cut))
}

/// Runs what reads the disk outside the runtime's own threads.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| format!("it ended early: {error}"))?
}

#[cfg(test)]
mod tests {
    use super::{Query, tally};
    use crate::log_rows::LogReader;
    use hookhost::{Config, Host};
    use serde_json::json;

    #[tokio::test]
    async fn a_report_counts_the_newest_records_and_says_if_there_are_more() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hookhost.db");
        let host = Host::builder(Config::empty()).without_cache().store(&file).build().await.unwrap();
        let session = host.session("my-agent", "/work").unwrap();
        for number in 0..10 {
            let _ = session.check_tool("bash", &json!({ "command": number })).await;
        }
        host.flush().await.unwrap();
        let reader = LogReader::new(file);
        let counted = |since, most| tally(&reader, since, most).map(|(tally, is_cut)| (tally.total.events, is_cut));
        assert_eq!(counted(0, 1000).unwrap(), (10, false));
        assert_eq!(counted(0, 4).unwrap(), (4, true));
        assert_eq!(counted(u64::MAX, 1000).unwrap(), (0, false));
        // Exactly the records that there are.
        let records = usize::try_from(reader.open().unwrap().last().unwrap()).unwrap();
        assert_eq!(counted(0, records).unwrap(), (10, false));
    }

    #[test]
    fn the_parameters_of_an_address_are_decoded() {
        let query = Query::parse("q=rm+-rf%20%2F&before=7&x&=y&q2=%ff");
        assert_eq!(query.get("q"), Some("rm -rf /"));
        assert_eq!(query.get("before"), Some("7"));
        assert_eq!(query.get("x"), None);
        assert_eq!(query.get("q2"), Some("\u{fffd}"));
    }
}
