//! Writes a session's records, together with their effects.

use super::observers;
use crate::active_config::ActiveConfig;
use crate::audit::{Header, MAX_TOOLS_WRITTEN, SessionEnded, SessionOpened, ToRecord};
use crate::contract;
use crate::contract::bytes::written_size;
use crate::contract::{EventKind, ToolSpec};
use crate::sandbox::capability::Reminder;
use crate::session::inner::SessionInner;
use crate::state::Writes;
use crate::store::{LateWrite, QuestionChange, SessionChanges, StoreError, Unit};
use serde_json::json;
use std::sync::Arc;

/// The time by which a record must be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Durability {
    /// Before the agent gets the outcome.
    Now,
    /// Soon, together with other records.
    Soon,
}

/// Effects that are applied only together with a record.
#[derive(Default)]
pub(in crate::session) struct RecordEffects {
    /// The writes of plugins to their state.
    pub(in crate::session) writes: Vec<(Arc<str>, Writes)>,
    /// The reminders of plugins for the model.
    pub(in crate::session) reminders: Vec<Reminder>,
    /// The change of a question's row.
    pub(in crate::session) question: Option<QuestionChange>,
}

impl SessionInner {
    /// Writes a record and applies its effects. If the record cannot be written, no effects are applied. Then queues
    /// the record for the observers of the audit log.
    pub(in crate::session) async fn record<R: ToRecord>(
        self: &Arc<Self>,
        rules: &Arc<ActiveConfig>,
        info: &Arc<contract::Session>,
        record: &R,
        with: RecordEffects,
        durability: Durability,
    ) -> Result<(), StoreError> {
        let store = &self.services.store;
        let settings = &rules.settings().audit;
        let body = store.wants_records().then(|| record.body(settings));
        let RecordEffects { writes, reminders, question } = with;
        let changes = self.reminding(reminders);
        let is_changed = !changes.is_empty() || self.state.is_unwritten();
        if durability == Durability::Now || is_changed || question.is_some() || !writes.is_empty() {
            let (session, root) = (Arc::clone(&self.id), Arc::clone(&self.root));
            let records = body.into_iter().collect();
            let handle = is_changed.then(|| self.state.pending_write(changes) as Arc<dyn SessionChanges>);
            let unit =
                Unit { records, writes, session, root, time: record.time(), handle, question, passkeys_before: None };
            store.commit(&unit).await?;
        } else if body.is_some() {
            store.push_taken(LateWrite { record: body, ..LateWrite::default() })?;
        }
        if rules.has_subscriber(EventKind::AuditRecord) {
            observers::enqueue_record(self, rules, info, record.body_for_observers(settings));
        }
        Ok(())
    }

    /// Queues a record, which is written soon. If the log cannot be written, the next gate event fails.
    pub(in crate::session) fn record_soon<R: ToRecord>(
        self: &Arc<Self>,
        rules: &Arc<ActiveConfig>,
        info: &Arc<contract::Session>,
        record: &R,
    ) {
        self.settle_soon(rules, info, record, None);
    }

    /// Like `record_soon`, and also deletes the question `settles`, which the record answers.
    pub(in crate::session) fn settle_soon<R: ToRecord>(
        self: &Arc<Self>,
        rules: &Arc<ActiveConfig>,
        info: &Arc<contract::Session>,
        record: &R,
        settles: Option<String>,
    ) {
        let settings = &rules.settings().audit;
        let body = self.services.store.wants_records().then(|| record.body(settings));
        let session =
            self.state.is_unwritten().then(|| self.state.pending_write(Vec::new()) as Arc<dyn SessionChanges>);
        let late = LateWrite { record: body, session, settles, outcome: None };
        if let Err(error) = self.services.store.push(late) {
            tracing::error!(%error, kind = R::KIND, "a record of the audit log is lost");
        }
        if rules.has_subscriber(EventKind::AuditRecord) {
            observers::enqueue_record(self, rules, info, record.body_for_observers(settings));
        }
    }

    pub(in crate::session) fn record_opening(self: &Arc<Self>, info: &Arc<contract::Session>) {
        let (tools, without_schema) = within_bound(&self.spec.tools);
        let opened = SessionOpened {
            header: Header::new(&*info.id, self.services.now()),
            agent: info.agent.clone(),
            cwd: info.cwd.clone(),
            workspace: info.workspace.clone(),
            depth: info.depth,
            interactive: info.interactive,
            parent: self.spec.parent.clone(),
            root: (self.root != self.id).then(|| self.root.to_string()),
            tools,
            without_schema,
            models: self.spec.models.clone(),
        };
        self.record_soon(&self.config(), info, &opened);
    }

    pub(in crate::session) fn record_end(self: &Arc<Self>, info: &Arc<contract::Session>) {
        let ended = SessionEnded { header: Header::new(&*info.id, self.services.now()) };
        self.record_soon(&self.config(), info, &ended);
    }
}

/// Returns the tools in the form in which they are recorded, and the names of the tools whose schemas are left out
/// because the record would be too large.
fn within_bound(tools: &[ToolSpec]) -> (Vec<ToolSpec>, Vec<String>) {
    let (mut written, mut without_schema) = (0_usize, Vec::new());
    let recorded = tools.iter().map(|tool| {
        let size = written_size(tool);
        if written.saturating_add(size) <= MAX_TOOLS_WRITTEN {
            written += size;
            return tool.clone();
        }
        without_schema.push(tool.name.clone());
        ToolSpec::new(tool.name.clone(), json!({}))
    });
    (recorded.collect(), without_schema)
}
