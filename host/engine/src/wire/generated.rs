//! Generated from `wit/` by `cargo xtask contract`: change the WIT, not this file.

/// Values for a component. They borrow from the host's values.
pub(crate) mod given {
    use crate::contract;
    use crate::wire::{Given, In};
    use wasmtime::component::{ComponentType, Lower};

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Session<'a> {
        id: In<'a, String>,
        agent: In<'a, String>,
        turn: In<'a, u32>,
        depth: In<'a, u32>,
        cwd: In<'a, String>,
        workspace: In<'a, String>,
        interactive: In<'a, bool>,
    }

    impl Given for contract::Session {
        type Wire<'a> = Session<'a>;

        fn given(&self) -> Session<'_> {
            let contract::Session { id, agent, turn, depth, cwd, workspace, interactive } = self;
            Session {
                id: id.given(),
                agent: agent.given(),
                turn: turn.given(),
                depth: depth.given(),
                cwd: cwd.given(),
                workspace: workspace.given(),
                interactive: interactive.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(variant)]
    pub(crate) enum ToolOrigin<'a> {
        #[component(name = "builtin")]
        Builtin,
        #[component(name = "plugin")]
        Plugin(In<'a, String>),
        #[component(name = "mcp")]
        Mcp(In<'a, String>),
        #[component(name = "external")]
        External,
    }

    impl Given for contract::ToolOrigin {
        type Wire<'a> = ToolOrigin<'a>;

        fn given(&self) -> ToolOrigin<'_> {
            match self {
                contract::ToolOrigin::Builtin => ToolOrigin::Builtin,
                contract::ToolOrigin::Plugin(value) => ToolOrigin::Plugin(value.given()),
                contract::ToolOrigin::Mcp(value) => ToolOrigin::Mcp(value.given()),
                contract::ToolOrigin::External => ToolOrigin::External,
            }
        }
    }

    #[derive(Clone, Copy, ComponentType, Lower)]
    #[component(enum)]
    #[repr(u8)]
    pub(crate) enum ShellDialect {
        #[component(name = "posix")]
        Posix,
        #[component(name = "powershell")]
        Powershell,
        #[component(name = "cmd")]
        Cmd,
        #[component(name = "unknown")]
        Unknown,
    }

    impl Given for contract::ShellDialect {
        type Wire<'a> = ShellDialect;

        fn given(&self) -> ShellDialect {
            match self {
                contract::ShellDialect::Posix => ShellDialect::Posix,
                contract::ShellDialect::Powershell => ShellDialect::Powershell,
                contract::ShellDialect::Cmd => ShellDialect::Cmd,
                contract::ShellDialect::Unknown => ShellDialect::Unknown,
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct ShellCommand<'a> {
        command: In<'a, String>,
        cwd: In<'a, String>,
        dialect: In<'a, contract::ShellDialect>,
    }

    impl Given for contract::ShellCommand {
        type Wire<'a> = ShellCommand<'a>;

        fn given(&self) -> ShellCommand<'_> {
            let contract::ShellCommand { command, cwd, dialect } = self;
            ShellCommand {
                command: command.given(),
                cwd: cwd.given(),
                dialect: dialect.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct McpTool<'a> {
        server: In<'a, Option<String>>,
        tool: In<'a, String>,
    }

    impl Given for contract::McpTool {
        type Wire<'a> = McpTool<'a>;

        fn given(&self) -> McpTool<'_> {
            let contract::McpTool { server, tool } = self;
            McpTool {
                server: server.given(),
                tool: tool.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(variant)]
    pub(crate) enum Action<'a> {
        #[component(name = "shell")]
        Shell(In<'a, contract::ShellCommand>),
        #[component(name = "read-file")]
        ReadFile(In<'a, String>),
        #[component(name = "write-files")]
        WriteFiles(In<'a, Vec<String>>),
        #[component(name = "fetch")]
        Fetch(In<'a, String>),
        #[component(name = "mcp")]
        Mcp(In<'a, contract::McpTool>),
        #[component(name = "spawn-agent")]
        SpawnAgent(In<'a, String>),
        #[component(name = "other")]
        Other(In<'a, String>),
    }

    impl Given for contract::Action {
        type Wire<'a> = Action<'a>;

        fn given(&self) -> Action<'_> {
            match self {
                contract::Action::Shell(value) => Action::Shell(value.given()),
                contract::Action::ReadFile(value) => Action::ReadFile(value.given()),
                contract::Action::WriteFiles(value) => Action::WriteFiles(value.given()),
                contract::Action::Fetch(value) => Action::Fetch(value.given()),
                contract::Action::Mcp(value) => Action::Mcp(value.given()),
                contract::Action::SpawnAgent(value) => Action::SpawnAgent(value.given()),
                contract::Action::Other(value) => Action::Other(value.given()),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct ToolCall<'a> {
        id: In<'a, String>,
        name: In<'a, String>,
        arguments: In<'a, contract::Json>,
        action: In<'a, contract::Action>,
        origin: In<'a, contract::ToolOrigin>,
    }

    impl Given for contract::ToolCall {
        type Wire<'a> = ToolCall<'a>;

        fn given(&self) -> ToolCall<'_> {
            let contract::ToolCall { id, name, arguments, action, origin } = self;
            ToolCall {
                id: id.given(),
                name: name.given(),
                arguments: arguments.given(),
                action: action.given(),
                origin: origin.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct ToolResult<'a> {
        text: In<'a, String>,
        #[component(name = "is-error")]
        is_error: In<'a, bool>,
        raw: In<'a, Option<contract::Json>>,
    }

    impl Given for contract::ToolResult {
        type Wire<'a> = ToolResult<'a>;

        fn given(&self) -> ToolResult<'_> {
            let contract::ToolResult { text, is_error, raw } = self;
            ToolResult {
                text: text.given(),
                is_error: is_error.given(),
                raw: raw.given(),
            }
        }
    }

    #[derive(Clone, Copy, ComponentType, Lower)]
    #[component(enum)]
    #[repr(u8)]
    pub(crate) enum ResultSource {
        #[component(name = "tool")]
        Tool,
        #[component(name = "plugin")]
        Plugin,
    }

    impl Given for contract::ResultSource {
        type Wire<'a> = ResultSource;

        fn given(&self) -> ResultSource {
            match self {
                contract::ResultSource::Tool => ResultSource::Tool,
                contract::ResultSource::Plugin => ResultSource::Plugin,
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Totals<'a> {
        #[component(name = "session-input-tokens")]
        session_input_tokens: In<'a, u64>,
        #[component(name = "session-output-tokens")]
        session_output_tokens: In<'a, u64>,
        #[component(name = "run-input-tokens")]
        run_input_tokens: In<'a, u64>,
        #[component(name = "run-output-tokens")]
        run_output_tokens: In<'a, u64>,
        #[component(name = "run-requests")]
        run_requests: In<'a, u32>,
    }

    impl Given for contract::Totals {
        type Wire<'a> = Totals<'a>;

        fn given(&self) -> Totals<'_> {
            let contract::Totals { session_input_tokens, session_output_tokens, run_input_tokens, run_output_tokens, run_requests } = self;
            Totals {
                session_input_tokens: session_input_tokens.given(),
                session_output_tokens: session_output_tokens.given(),
                run_input_tokens: run_input_tokens.given(),
                run_output_tokens: run_output_tokens.given(),
                run_requests: run_requests.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Inference<'a> {
        provider: In<'a, String>,
        model: In<'a, String>,
        #[component(name = "system-prompt")]
        system_prompt: In<'a, String>,
        prompt: In<'a, String>,
        tools: In<'a, Vec<String>>,
        #[component(name = "input-tokens")]
        input_tokens: In<'a, u64>,
        used: In<'a, contract::Totals>,
    }

    impl Given for contract::Inference {
        type Wire<'a> = Inference<'a>;

        fn given(&self) -> Inference<'_> {
            let contract::Inference { provider, model, system_prompt, prompt, tools, input_tokens, used } = self;
            Inference {
                provider: provider.given(),
                model: model.given(),
                system_prompt: system_prompt.given(),
                prompt: prompt.given(),
                tools: tools.given(),
                input_tokens: input_tokens.given(),
                used: used.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Response<'a> {
        text: In<'a, String>,
        #[component(name = "tool-calls")]
        tool_calls: In<'a, Vec<contract::ToolCall>>,
        #[component(name = "stop-reason")]
        stop_reason: In<'a, String>,
    }

    impl Given for contract::Response {
        type Wire<'a> = Response<'a>;

        fn given(&self) -> Response<'_> {
            let contract::Response { text, tool_calls, stop_reason } = self;
            Response {
                text: text.given(),
                tool_calls: tool_calls.given(),
                stop_reason: stop_reason.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Usage<'a> {
        provider: In<'a, String>,
        model: In<'a, String>,
        #[component(name = "input-tokens")]
        input_tokens: In<'a, u64>,
        #[component(name = "cached-input-tokens")]
        cached_input_tokens: In<'a, u64>,
        #[component(name = "output-tokens")]
        output_tokens: In<'a, u64>,
        #[component(name = "session-input-tokens")]
        session_input_tokens: In<'a, u64>,
        #[component(name = "session-output-tokens")]
        session_output_tokens: In<'a, u64>,
        #[component(name = "run-input-tokens")]
        run_input_tokens: In<'a, u64>,
        #[component(name = "run-output-tokens")]
        run_output_tokens: In<'a, u64>,
    }

    impl Given for contract::Usage {
        type Wire<'a> = Usage<'a>;

        fn given(&self) -> Usage<'_> {
            let contract::Usage { provider, model, input_tokens, cached_input_tokens, output_tokens, session_input_tokens, session_output_tokens, run_input_tokens, run_output_tokens } = self;
            Usage {
                provider: provider.given(),
                model: model.given(),
                input_tokens: input_tokens.given(),
                cached_input_tokens: cached_input_tokens.given(),
                output_tokens: output_tokens.given(),
                session_input_tokens: session_input_tokens.given(),
                session_output_tokens: session_output_tokens.given(),
                run_input_tokens: run_input_tokens.given(),
                run_output_tokens: run_output_tokens.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Task<'a> {
        prompt: In<'a, String>,
        title: In<'a, Option<String>>,
    }

    impl Given for contract::Task {
        type Wire<'a> = Task<'a>;

        fn given(&self) -> Task<'_> {
            let contract::Task { prompt, title } = self;
            Task {
                prompt: prompt.given(),
                title: title.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Plan<'a> {
        title: In<'a, String>,
        tasks: In<'a, Vec<contract::Task>>,
        #[component(name = "clear-existing")]
        clear_existing: In<'a, bool>,
    }

    impl Given for contract::Plan {
        type Wire<'a> = Plan<'a>;

        fn given(&self) -> Plan<'_> {
            let contract::Plan { title, tasks, clear_existing } = self;
            Plan {
                title: title.given(),
                tasks: tasks.given(),
                clear_existing: clear_existing.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Completion<'a> {
        status: In<'a, String>,
        turns: In<'a, u32>,
        #[component(name = "input-tokens")]
        input_tokens: In<'a, u64>,
        #[component(name = "output-tokens")]
        output_tokens: In<'a, u64>,
    }

    impl Given for contract::Completion {
        type Wire<'a> = Completion<'a>;

        fn given(&self) -> Completion<'_> {
            let contract::Completion { status, turns, input_tokens, output_tokens } = self;
            Completion {
                status: status.given(),
                turns: turns.given(),
                input_tokens: input_tokens.given(),
                output_tokens: output_tokens.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct PlanSummary<'a> {
        title: In<'a, String>,
        tasks: In<'a, u32>,
        completed: In<'a, u32>,
    }

    impl Given for contract::PlanSummary {
        type Wire<'a> = PlanSummary<'a>;

        fn given(&self) -> PlanSummary<'_> {
            let contract::PlanSummary { title, tasks, completed } = self;
            PlanSummary {
                title: title.given(),
                tasks: tasks.given(),
                completed: completed.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Progress<'a> {
        tasks: In<'a, u32>,
        turns: In<'a, u32>,
        #[component(name = "input-tokens")]
        input_tokens: In<'a, u64>,
        #[component(name = "output-tokens")]
        output_tokens: In<'a, u64>,
    }

    impl Given for contract::Progress {
        type Wire<'a> = Progress<'a>;

        fn given(&self) -> Progress<'_> {
            let contract::Progress { tasks, turns, input_tokens, output_tokens } = self;
            Progress {
                tasks: tasks.given(),
                turns: turns.given(),
                input_tokens: input_tokens.given(),
                output_tokens: output_tokens.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Turn<'a> {
        number: In<'a, u32>,
        #[component(name = "number-in-task")]
        number_in_task: In<'a, u32>,
    }

    impl Given for contract::Turn {
        type Wire<'a> = Turn<'a>;

        fn given(&self) -> Turn<'_> {
            let contract::Turn { number, number_in_task } = self;
            Turn {
                number: number.given(),
                number_in_task: number_in_task.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct TurnSummary<'a> {
        number: In<'a, u32>,
        #[component(name = "number-in-task")]
        number_in_task: In<'a, u32>,
        #[component(name = "tool-calls")]
        tool_calls: In<'a, u32>,
        #[component(name = "input-tokens")]
        input_tokens: In<'a, u64>,
        #[component(name = "cached-input-tokens")]
        cached_input_tokens: In<'a, u64>,
        #[component(name = "output-tokens")]
        output_tokens: In<'a, u64>,
    }

    impl Given for contract::TurnSummary {
        type Wire<'a> = TurnSummary<'a>;

        fn given(&self) -> TurnSummary<'_> {
            let contract::TurnSummary { number, number_in_task, tool_calls, input_tokens, cached_input_tokens, output_tokens } = self;
            TurnSummary {
                number: number.given(),
                number_in_task: number_in_task.given(),
                tool_calls: tool_calls.given(),
                input_tokens: input_tokens.given(),
                cached_input_tokens: cached_input_tokens.given(),
                output_tokens: output_tokens.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct ModelChoice<'a> {
        provider: In<'a, String>,
        model: In<'a, String>,
    }

    impl Given for contract::ModelChoice {
        type Wire<'a> = ModelChoice<'a>;

        fn given(&self) -> ModelChoice<'_> {
            let contract::ModelChoice { provider, model } = self;
            ModelChoice {
                provider: provider.given(),
                model: model.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Resolution<'a> {
        chosen: In<'a, contract::ModelChoice>,
        candidates: In<'a, Vec<contract::ModelChoice>>,
    }

    impl Given for contract::Resolution {
        type Wire<'a> = Resolution<'a>;

        fn given(&self) -> Resolution<'_> {
            let contract::Resolution { chosen, candidates } = self;
            Resolution {
                chosen: chosen.given(),
                candidates: candidates.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct RawRequest<'a> {
        provider: In<'a, String>,
        model: In<'a, String>,
        body: In<'a, contract::Json>,
    }

    impl Given for contract::RawRequest {
        type Wire<'a> = RawRequest<'a>;

        fn given(&self) -> RawRequest<'_> {
            let contract::RawRequest { provider, model, body } = self;
            RawRequest {
                provider: provider.given(),
                model: model.given(),
                body: body.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct RawResponse<'a> {
        provider: In<'a, String>,
        model: In<'a, String>,
        body: In<'a, contract::Json>,
    }

    impl Given for contract::RawResponse {
        type Wire<'a> = RawResponse<'a>;

        fn given(&self) -> RawResponse<'_> {
            let contract::RawResponse { provider, model, body } = self;
            RawResponse {
                provider: provider.given(),
                model: model.given(),
                body: body.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Subagent<'a> {
        #[component(name = "call-id")]
        call_id: In<'a, String>,
        depth: In<'a, u32>,
        prompt: In<'a, String>,
    }

    impl Given for contract::Subagent {
        type Wire<'a> = Subagent<'a>;

        fn given(&self) -> Subagent<'_> {
            let contract::Subagent { call_id, depth, prompt } = self;
            Subagent {
                call_id: call_id.given(),
                depth: depth.given(),
                prompt: prompt.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct SubagentSummary<'a> {
        session: In<'a, String>,
        #[component(name = "call-id")]
        call_id: In<'a, String>,
        status: In<'a, String>,
        text: In<'a, String>,
        turns: In<'a, u32>,
        #[component(name = "input-tokens")]
        input_tokens: In<'a, u64>,
        #[component(name = "output-tokens")]
        output_tokens: In<'a, u64>,
    }

    impl Given for contract::SubagentSummary {
        type Wire<'a> = SubagentSummary<'a>;

        fn given(&self) -> SubagentSummary<'_> {
            let contract::SubagentSummary { session, call_id, status, text, turns, input_tokens, output_tokens } = self;
            SubagentSummary {
                session: session.given(),
                call_id: call_id.given(),
                status: status.given(),
                text: text.given(),
                turns: turns.given(),
                input_tokens: input_tokens.given(),
                output_tokens: output_tokens.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Compaction<'a> {
        messages: In<'a, u32>,
        #[component(name = "input-tokens")]
        input_tokens: In<'a, u64>,
        #[component(name = "context-window")]
        context_window: In<'a, u64>,
    }

    impl Given for contract::Compaction {
        type Wire<'a> = Compaction<'a>;

        fn given(&self) -> Compaction<'_> {
            let contract::Compaction { messages, input_tokens, context_window } = self;
            Compaction {
                messages: messages.given(),
                input_tokens: input_tokens.given(),
                context_window: context_window.given(),
            }
        }
    }

    #[derive(ComponentType, Lower)]
    #[component(record)]
    pub(crate) struct Custom<'a> {
        name: In<'a, String>,
        payload: In<'a, contract::Json>,
    }

    impl Given for contract::Custom {
        type Wire<'a> = Custom<'a>;

        fn given(&self) -> Custom<'_> {
            let contract::Custom { name, payload } = self;
            Custom {
                name: name.given(),
                payload: payload.given(),
            }
        }
    }
}

/// Values from a component.
pub(crate) mod answered {
    use crate::contract;
    use crate::wire::{Answered, Out, json};
    use wasmtime::component::{ComponentType, Lift};

    #[derive(ComponentType, Lift)]
    #[component(record)]
    pub(crate) struct Refusal {
        reason: Out<String>,
        code: Out<Option<String>>,
        retryable: Out<bool>,
        stop: Out<bool>,
    }

    impl Answered for contract::Refusal {
        type Wire = Refusal;

        fn answered(wire: Refusal) -> Result<Self, String> {
            let Refusal { reason, code, retryable, stop } = wire;
            Ok(Self {
                reason: Answered::answered(reason)?,
                code: Answered::answered(code)?,
                retryable: Answered::answered(retryable)?,
                stop: Answered::answered(stop)?,
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(record)]
    pub(crate) struct Escalation {
        question: Out<String>,
        code: Out<Option<String>>,
    }

    impl Answered for contract::Escalation {
        type Wire = Escalation;

        fn answered(wire: Escalation) -> Result<Self, String> {
            let Escalation { question, code } = wire;
            Ok(Self {
                question: Answered::answered(question)?,
                code: Answered::answered(code)?,
            })
        }
    }

    #[derive(Clone, Copy, ComponentType, Lift)]
    #[component(enum)]
    #[repr(u8)]
    #[expect(dead_code, reason = "wasmtime creates the cases from numbers")]
    pub(crate) enum ShellDialect {
        #[component(name = "posix")]
        Posix,
        #[component(name = "powershell")]
        Powershell,
        #[component(name = "cmd")]
        Cmd,
        #[component(name = "unknown")]
        Unknown,
    }

    impl Answered for contract::ShellDialect {
        type Wire = ShellDialect;

        fn answered(wire: ShellDialect) -> Result<Self, String> {
            Ok(match wire {
                ShellDialect::Posix => Self::Posix,
                ShellDialect::Powershell => Self::Powershell,
                ShellDialect::Cmd => Self::Cmd,
                ShellDialect::Unknown => Self::Unknown,
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(record)]
    pub(crate) struct ShellCommand {
        command: Out<String>,
        cwd: Out<String>,
        dialect: Out<contract::ShellDialect>,
    }

    impl Answered for contract::ShellCommand {
        type Wire = ShellCommand;

        fn answered(wire: ShellCommand) -> Result<Self, String> {
            let ShellCommand { command, cwd, dialect } = wire;
            Ok(Self {
                command: Answered::answered(command)?,
                cwd: Answered::answered(cwd)?,
                dialect: Answered::answered(dialect)?,
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(record)]
    pub(crate) struct McpTool {
        server: Out<Option<String>>,
        tool: Out<String>,
    }

    impl Answered for contract::McpTool {
        type Wire = McpTool;

        fn answered(wire: McpTool) -> Result<Self, String> {
            let McpTool { server, tool } = wire;
            Ok(Self {
                server: Answered::answered(server)?,
                tool: Answered::answered(tool)?,
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum Action {
        #[component(name = "shell")]
        Shell(Out<contract::ShellCommand>),
        #[component(name = "read-file")]
        ReadFile(Out<String>),
        #[component(name = "write-files")]
        WriteFiles(Out<Vec<String>>),
        #[component(name = "fetch")]
        Fetch(Out<String>),
        #[component(name = "mcp")]
        Mcp(Out<contract::McpTool>),
        #[component(name = "spawn-agent")]
        SpawnAgent(Out<String>),
        #[component(name = "other")]
        Other(Out<String>),
    }

    impl Answered for contract::Action {
        type Wire = Action;

        fn answered(wire: Action) -> Result<Self, String> {
            Ok(match wire {
                Action::Shell(value) => Self::Shell(Answered::answered(value)?),
                Action::ReadFile(value) => Self::ReadFile(Answered::answered(value)?),
                Action::WriteFiles(value) => Self::WriteFiles(Answered::answered(value)?),
                Action::Fetch(value) => Self::Fetch(Answered::answered(value)?),
                Action::Mcp(value) => Self::Mcp(Answered::answered(value)?),
                Action::SpawnAgent(value) => Self::SpawnAgent(Answered::answered(value)?),
                Action::Other(value) => Self::Other(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(record)]
    pub(crate) struct ToolResult {
        text: Out<String>,
        #[component(name = "is-error")]
        is_error: Out<bool>,
        raw: Out<Option<contract::Json>>,
    }

    impl Answered for contract::ToolResult {
        type Wire = ToolResult;

        fn answered(wire: ToolResult) -> Result<Self, String> {
            let ToolResult { text, is_error, raw } = wire;
            Ok(Self {
                text: Answered::answered(text)?,
                is_error: Answered::answered(is_error)?,
                raw: raw.map(|raw| json("raw", raw)).transpose()?,
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum ToolCallVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "approve")]
        Approve(Out<String>),
        #[component(name = "modify")]
        Modify(Out<contract::Json>),
        #[component(name = "rewrite")]
        Rewrite(Out<contract::Action>),
        #[component(name = "escalate")]
        Escalate(Out<contract::Escalation>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
        #[component(name = "respond")]
        Respond(Out<contract::ToolResult>),
    }

    impl Answered for contract::ToolCallVerdict {
        type Wire = ToolCallVerdict;

        fn answered(wire: ToolCallVerdict) -> Result<Self, String> {
            Ok(match wire {
                ToolCallVerdict::Allow => Self::Allow,
                ToolCallVerdict::Approve(value) => Self::Approve(Answered::answered(value)?),
                ToolCallVerdict::Modify(value) => Self::Modify(json("modify", value)?),
                ToolCallVerdict::Rewrite(value) => Self::Rewrite(Answered::answered(value)?),
                ToolCallVerdict::Escalate(value) => Self::Escalate(Answered::answered(value)?),
                ToolCallVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
                ToolCallVerdict::Respond(value) => Self::Respond(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum BatchVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "escalate")]
        Escalate(Out<contract::Escalation>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::BatchVerdict {
        type Wire = BatchVerdict;

        fn answered(wire: BatchVerdict) -> Result<Self, String> {
            Ok(match wire {
                BatchVerdict::Allow => Self::Allow,
                BatchVerdict::Escalate(value) => Self::Escalate(Answered::answered(value)?),
                BatchVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum ToolResultVerdict {
        #[component(name = "keep")]
        Keep,
        #[component(name = "replace")]
        Replace(Out<contract::ToolResult>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::ToolResultVerdict {
        type Wire = ToolResultVerdict;

        fn answered(wire: ToolResultVerdict) -> Result<Self, String> {
            Ok(match wire {
                ToolResultVerdict::Keep => Self::Keep,
                ToolResultVerdict::Replace(value) => Self::Replace(Answered::answered(value)?),
                ToolResultVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(record)]
    pub(crate) struct InferenceChanges {
        provider: Out<Option<String>>,
        model: Out<Option<String>>,
        #[component(name = "system-prompt")]
        system_prompt: Out<Option<String>>,
        prompt: Out<Option<String>>,
        tools: Out<Option<Vec<String>>>,
    }

    impl Answered for contract::InferenceChanges {
        type Wire = InferenceChanges;

        fn answered(wire: InferenceChanges) -> Result<Self, String> {
            let InferenceChanges { provider, model, system_prompt, prompt, tools } = wire;
            Ok(Self {
                provider: Answered::answered(provider)?,
                model: Answered::answered(model)?,
                system_prompt: Answered::answered(system_prompt)?,
                prompt: Answered::answered(prompt)?,
                tools: Answered::answered(tools)?,
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum InferenceVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "modify")]
        Modify(Out<contract::InferenceChanges>),
        #[component(name = "escalate")]
        Escalate(Out<contract::Escalation>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
        #[component(name = "respond")]
        Respond(Out<String>),
    }

    impl Answered for contract::InferenceVerdict {
        type Wire = InferenceVerdict;

        fn answered(wire: InferenceVerdict) -> Result<Self, String> {
            Ok(match wire {
                InferenceVerdict::Allow => Self::Allow,
                InferenceVerdict::Modify(value) => Self::Modify(Answered::answered(value)?),
                InferenceVerdict::Escalate(value) => Self::Escalate(Answered::answered(value)?),
                InferenceVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
                InferenceVerdict::Respond(value) => Self::Respond(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum UsageVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::UsageVerdict {
        type Wire = UsageVerdict;

        fn answered(wire: UsageVerdict) -> Result<Self, String> {
            Ok(match wire {
                UsageVerdict::Allow => Self::Allow,
                UsageVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum TextVerdict {
        #[component(name = "keep")]
        Keep,
        #[component(name = "replace")]
        Replace(Out<String>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::TextVerdict {
        type Wire = TextVerdict;

        fn answered(wire: TextVerdict) -> Result<Self, String> {
            Ok(match wire {
                TextVerdict::Keep => Self::Keep,
                TextVerdict::Replace(value) => Self::Replace(Answered::answered(value)?),
                TextVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(record)]
    pub(crate) struct Task {
        prompt: Out<String>,
        title: Out<Option<String>>,
    }

    impl Answered for contract::Task {
        type Wire = Task;

        fn answered(wire: Task) -> Result<Self, String> {
            let Task { prompt, title } = wire;
            Ok(Self {
                prompt: Answered::answered(prompt)?,
                title: Answered::answered(title)?,
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(record)]
    pub(crate) struct Plan {
        title: Out<String>,
        tasks: Out<Vec<contract::Task>>,
        #[component(name = "clear-existing")]
        clear_existing: Out<bool>,
    }

    impl Answered for contract::Plan {
        type Wire = Plan;

        fn answered(wire: Plan) -> Result<Self, String> {
            let Plan { title, tasks, clear_existing } = wire;
            Ok(Self {
                title: Answered::answered(title)?,
                tasks: Answered::answered(tasks)?,
                clear_existing: Answered::answered(clear_existing)?,
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum PlanVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "modify")]
        Modify(Out<contract::Plan>),
        #[component(name = "escalate")]
        Escalate(Out<contract::Escalation>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::PlanVerdict {
        type Wire = PlanVerdict;

        fn answered(wire: PlanVerdict) -> Result<Self, String> {
            Ok(match wire {
                PlanVerdict::Allow => Self::Allow,
                PlanVerdict::Modify(value) => Self::Modify(Answered::answered(value)?),
                PlanVerdict::Escalate(value) => Self::Escalate(Answered::answered(value)?),
                PlanVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum CompletionVerdict {
        #[component(name = "finish")]
        Finish,
        #[component(name = "go-on")]
        GoOn(Out<Vec<contract::Task>>),
    }

    impl Answered for contract::CompletionVerdict {
        type Wire = CompletionVerdict;

        fn answered(wire: CompletionVerdict) -> Result<Self, String> {
            Ok(match wire {
                CompletionVerdict::Finish => Self::Finish,
                CompletionVerdict::GoOn(value) => Self::GoOn(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum TaskVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "modify")]
        Modify(Out<contract::Task>),
        #[component(name = "escalate")]
        Escalate(Out<contract::Escalation>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::TaskVerdict {
        type Wire = TaskVerdict;

        fn answered(wire: TaskVerdict) -> Result<Self, String> {
            Ok(match wire {
                TaskVerdict::Allow => Self::Allow,
                TaskVerdict::Modify(value) => Self::Modify(Answered::answered(value)?),
                TaskVerdict::Escalate(value) => Self::Escalate(Answered::answered(value)?),
                TaskVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum TurnVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "escalate")]
        Escalate(Out<contract::Escalation>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::TurnVerdict {
        type Wire = TurnVerdict;

        fn answered(wire: TurnVerdict) -> Result<Self, String> {
            Ok(match wire {
                TurnVerdict::Allow => Self::Allow,
                TurnVerdict::Escalate(value) => Self::Escalate(Answered::answered(value)?),
                TurnVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(record)]
    pub(crate) struct ModelChoice {
        provider: Out<String>,
        model: Out<String>,
    }

    impl Answered for contract::ModelChoice {
        type Wire = ModelChoice;

        fn answered(wire: ModelChoice) -> Result<Self, String> {
            let ModelChoice { provider, model } = wire;
            Ok(Self {
                provider: Answered::answered(provider)?,
                model: Answered::answered(model)?,
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum ResolutionVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "modify")]
        Modify(Out<contract::ModelChoice>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::ResolutionVerdict {
        type Wire = ResolutionVerdict;

        fn answered(wire: ResolutionVerdict) -> Result<Self, String> {
            Ok(match wire {
                ResolutionVerdict::Allow => Self::Allow,
                ResolutionVerdict::Modify(value) => Self::Modify(Answered::answered(value)?),
                ResolutionVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum RequestVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "modify")]
        Modify(Out<contract::Json>),
        #[component(name = "escalate")]
        Escalate(Out<contract::Escalation>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::RequestVerdict {
        type Wire = RequestVerdict;

        fn answered(wire: RequestVerdict) -> Result<Self, String> {
            Ok(match wire {
                RequestVerdict::Allow => Self::Allow,
                RequestVerdict::Modify(value) => Self::Modify(json("modify", value)?),
                RequestVerdict::Escalate(value) => Self::Escalate(Answered::answered(value)?),
                RequestVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum ResponseVerdict {
        #[component(name = "keep")]
        Keep,
        #[component(name = "replace")]
        Replace(Out<contract::Json>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::ResponseVerdict {
        type Wire = ResponseVerdict;

        fn answered(wire: ResponseVerdict) -> Result<Self, String> {
            Ok(match wire {
                ResponseVerdict::Keep => Self::Keep,
                ResponseVerdict::Replace(value) => Self::Replace(json("replace", value)?),
                ResponseVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum SubagentVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "modify")]
        Modify(Out<String>),
        #[component(name = "escalate")]
        Escalate(Out<contract::Escalation>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::SubagentVerdict {
        type Wire = SubagentVerdict;

        fn answered(wire: SubagentVerdict) -> Result<Self, String> {
            Ok(match wire {
                SubagentVerdict::Allow => Self::Allow,
                SubagentVerdict::Modify(value) => Self::Modify(Answered::answered(value)?),
                SubagentVerdict::Escalate(value) => Self::Escalate(Answered::answered(value)?),
                SubagentVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum CompactionVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
        #[component(name = "respond")]
        Respond(Out<String>),
    }

    impl Answered for contract::CompactionVerdict {
        type Wire = CompactionVerdict;

        fn answered(wire: CompactionVerdict) -> Result<Self, String> {
            Ok(match wire {
                CompactionVerdict::Allow => Self::Allow,
                CompactionVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
                CompactionVerdict::Respond(value) => Self::Respond(Answered::answered(value)?),
            })
        }
    }

    #[derive(ComponentType, Lift)]
    #[component(variant)]
    pub(crate) enum CustomVerdict {
        #[component(name = "allow")]
        Allow,
        #[component(name = "modify")]
        Modify(Out<contract::Json>),
        #[component(name = "escalate")]
        Escalate(Out<contract::Escalation>),
        #[component(name = "reject")]
        Reject(Out<contract::Refusal>),
    }

    impl Answered for contract::CustomVerdict {
        type Wire = CustomVerdict;

        fn answered(wire: CustomVerdict) -> Result<Self, String> {
            Ok(match wire {
                CustomVerdict::Allow => Self::Allow,
                CustomVerdict::Modify(value) => Self::Modify(json("modify", value)?),
                CustomVerdict::Escalate(value) => Self::Escalate(Answered::answered(value)?),
                CustomVerdict::Reject(value) => Self::Reject(Answered::answered(value)?),
            })
        }
    }
}
