//! The names of attributes, events and metrics, as other programs see them. docs/telemetry-names.tsv lists the same names.
//!
//! Names that begin with `gen_ai.` are those of the semantic conventions for generative AI, version 0.1.0, and of their draft for
//! guardrails (<https://github.com/open-telemetry/semantic-conventions-genai>).

macro_rules! names {
    ($($name:ident = $value:literal;)*) => {
        $(pub(crate) const $name: &str = $value;)*

        #[cfg(test)]
        pub(crate) const ALL: &[&str] = &[$($value),*];
    };
}

names! {
    // Attributes of the conventions.
    AGENT_NAME = "gen_ai.agent.name";
    CONVERSATION_ID = "gen_ai.conversation.id";
    GUARDRAIL_COMPONENT = "gen_ai.guardrail.component.name";
    GUARDRAIL_POLICY = "gen_ai.guardrail.policy.id";
    GUARDRAIL_REASON = "gen_ai.guardrail.result.reason";
    GUARDRAIL_RULE = "gen_ai.guardrail.policy.rule.id";
    GUARDRAIL_SOURCE = "gen_ai.guardrail.source";
    GUARDRAIL_TYPE = "gen_ai.guardrail.result.type";
    GUARDRAIL_VALUE = "gen_ai.guardrail.result.value";
    GUARDRAIL_VERSION = "gen_ai.guardrail.policy.version";
    TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments";
    TOOL_CALL_ID = "gen_ai.tool.call.id";
    TOOL_CALL_RESULT = "gen_ai.tool.call.result";
    TOOL_NAME = "gen_ai.tool.name";
    ERROR_TYPE = "error.type";

    // Attributes of hookhost.
    ANSWER = "hookhost.answer";
    ANSWER_BY = "hookhost.answer.by";
    ANSWER_VIA = "hookhost.answer.via";
    APPLIED = "hookhost.applied";
    APPROVAL_ID = "hookhost.approval.id";
    CAUSE = "hookhost.cause";
    COVERAGE = "hookhost.coverage";
    EVENT = "hookhost.event";
    EVENT_ID = "hookhost.event.id";
    MACHINE_ID = "hookhost.machine.id";
    OPERATION = "hookhost.operation";
    PROMPT_ID = "hookhost.prompt.id";
    RECORD = "hookhost.record";
    SEQ = "hookhost.seq";
    SESSION = "hookhost.session";
    TRIAL = "hookhost.trial";

    // Names of log records.
    GUARDRAIL_RESULT = "gen_ai.guardrail.result";
    LOG_APPROVAL = "hookhost.approval";
    LOG_DELIVERY = "hookhost.delivery";
    LOG_DROPPED = "hookhost.dropped";
    LOG_EVENT = "hookhost.event";
    LOG_LOG = "hookhost.log";
    LOG_OBSERVED = "hookhost.observed";
    LOG_OPERATOR = "hookhost.operator";
    LOG_SESSION = "hookhost.session";
    LOG_TOOL_RUN = "hookhost.tool-run";

    // Attributes of the resource.
    SERVICE_NAME = "service.name";
    SERVICE_VERSION = "service.version";
    SERVICE_INSTANCE = "service.instance.id";
    HOST_NAME = "host.name";
    OS_TYPE = "os.type";

    // Metrics.
    METRIC_APPROVALS = "hookhost.approvals";
    METRIC_APPROVAL_WAIT = "hookhost.approval.wait";
    METRIC_DECISIONS = "hookhost.decisions";
    METRIC_DELIVERIES = "hookhost.deliveries";
    METRIC_DISK_FREE = "hookhost.disk.free";
    METRIC_DURATION = "hookhost.decision.duration";
    METRIC_EVENTS = "hookhost.events";
    METRIC_FAILURES = "hookhost.failures";
    METRIC_LAST_EVENT = "hookhost.last_event";
    METRIC_LOG_SIZE = "hookhost.log.size";
    METRIC_QUESTIONS_WAITING = "hookhost.questions.waiting";
    METRIC_REJECTIONS = "hookhost.rejections";
    METRIC_SERIES_DROPPED = "hookhost.series.dropped";
    METRIC_SINK_ERRORS = "hookhost.sink.failing";
    METRIC_SINK_LAG = "hookhost.sink.lag";
    METRIC_SINK_SENT = "hookhost.sink.sent";
    METRIC_SINK_SKIPPED = "hookhost.sink.skipped";
    METRIC_TOOL_DURATION = "gen_ai.execute_tool.duration";
}

#[cfg(test)]
mod tests {
    use super::ALL;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_of_names_lists_exactly_the_names_that_are_sent() {
        let table = include_str!("../../../docs/telemetry-names.tsv");
        let listed: BTreeSet<&str> = table.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(listed, ALL.iter().copied().collect::<BTreeSet<_>>());
    }
}
