//! How a session's records come into the log.

use super::{Shared, observers};
use crate::active_config::ActiveConfig;
use crate::audit::{MAX_TOOLS_WRITTEN, SessionEnded, SessionOpened, ToRecord};
use crate::contract;
use crate::contract::bytes::written_size;
use crate::contract::{EventKind, ToolSpec};
use crate::sandbox::capability::Reminder;
use crate::state::Writes;
use crate::store::{KeepsSession, Late, QuestionChange, StoreError, Unit};
use serde_json::json;
use std::sync::Arc;

/// When a record has to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Before anything is done about it.
    Now,
    /// Soon, with others.
    Soon,
}

/// What is to hold with a record, and only with it.
#[derive(Default)]
pub(super) struct With {
    /// What plugins wrote.
    pub(super) writes: Vec<(Arc<str>, Writes)>,
    /// What they remind the model of.
    pub(super) reminders: Vec<Reminder>,
    /// What becomes of a question.
    pub(super) question: Option<QuestionChange>,
}

impl Shared {
    /// Records something, and makes what plugins wrote about it hold: both, or neither. Then tells those who subscribe to the
    /// audit log.
    pub(super) async fn record<R: ToRecord>(
        self: &Arc<Self>,
        rules: &Arc<ActiveConfig>,
        info: &Arc<contract::Session>,
        record: &R,
        with: With,
        due: Due,
    ) -> Result<(), StoreError> {
        let store = &self.services.store;
        let settings = &rules.settings().audit;
        let body = store.keeps_log().then(|| record.body(settings));
        let With { writes, reminders, question } = with;
        let changes = self.reminding(reminders);
        let is_changed = !changes.is_empty() || self.life.is_unwritten();
        if due == Due::Now || is_changed || question.is_some() || !writes.is_empty() {
            let (session, root) = (self.id.clone(), self.root.clone());
            let records = body.into_iter().collect();
            let handle = is_changed.then(|| self.life.written(changes) as Arc<dyn KeepsSession>);
            let unit = Unit { records, writes, session, root, time: record.time(), handle, question };
            store.commit(&unit).await?;
        } else if body.is_some() {
            store.push(Late { record: body, ..Late::default() })?;
        }
        if rules.has_subscriber(EventKind::AuditRecord) {
            observers::tell_record(self, rules, info, record.body_for_observers(settings));
        }
        Ok(())
    }

    /// Records something as soon as that can be done; a log that cannot be written is the next gate's concern.
    pub(super) fn record_soon<R: ToRecord>(
        self: &Arc<Self>,
        rules: &Arc<ActiveConfig>,
        info: &Arc<contract::Session>,
        record: &R,
    ) {
        self.settle_soon(rules, info, record, None);
    }

    /// The same, with the question that is settled by it.
    pub(super) fn settle_soon<R: ToRecord>(
        self: &Arc<Self>,
        rules: &Arc<ActiveConfig>,
        info: &Arc<contract::Session>,
        record: &R,
        settles: Option<String>,
    ) {
        let settings = &rules.settings().audit;
        let body = self.services.store.keeps_log().then(|| record.body(settings));
        let session = self.life.is_unwritten().then(|| self.life.written(Vec::new()) as Arc<dyn KeepsSession>);
        let late = Late { record: body, session, settles };
        if let Err(error) = self.services.store.push(late) {
            tracing::error!(%error, kind = R::KIND, "a record of the audit log is lost");
        }
        if rules.has_subscriber(EventKind::AuditRecord) {
            observers::tell_record(self, rules, info, record.body_for_observers(settings));
        }
    }

    pub(super) fn record_opening(self: &Arc<Self>, info: &Arc<contract::Session>) {
        let (tools, without_schema) = within_bound(&self.spec.tools);
        let opened = SessionOpened {
            session: info.id.clone(),
            time: super::now(),
            agent: info.agent.clone(),
            cwd: info.cwd.clone(),
            workspace: info.workspace.clone(),
            depth: info.depth,
            interactive: info.interactive,
            parent: self.spec.parent.clone(),
            root: (self.root != self.id).then(|| self.root.clone()),
            tools,
            without_schema,
            models: self.spec.models.clone(),
        };
        self.record_soon(&self.config(), info, &opened);
    }

    pub(super) fn record_end(self: &Arc<Self>, info: &Arc<contract::Session>) {
        let ended = SessionEnded { session: info.id.clone(), time: super::now() };
        self.record_soon(&self.config(), info, &ended);
    }
}

/// The tools as the log holds them, and the names of those whose schemas would be too much for it.
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
