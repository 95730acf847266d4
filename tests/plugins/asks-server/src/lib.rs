//! A plugin that sends HTTP requests. On `before-tool-call` it is the example of the guide. On `prompt-submit` it sends the requests
//! that the prompt describes, and answers with their results: see `scripted`.

use hookhost_guest::prelude::*;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{ErrorCode, Fields, OutgoingRequest, Scheme};

mod scripted;

/// Its settings.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    #[serde(default)]
    server: String,
    #[serde(default)]
    plain: bool,
}

static CONFIG: Configured<Config> = Configured::new();

/// The status with which a server answers a GET.
fn status(scheme: &Scheme, server: &str, path: &str) -> Result<u16, ErrorCode> {
    let request = OutgoingRequest::new(Fields::new());
    let is_well = request.set_scheme(Some(scheme)).is_ok()
        && request.set_authority(Some(server)).is_ok()
        && request.set_path_with_query(Some(path)).is_ok();
    if !is_well {
        return Err(ErrorCode::HttpRequestUriInvalid);
    }
    let waiting = handle(request, None)?;
    waiting.subscribe().block();
    match waiting.get() {
        Some(Ok(response)) => Ok(response?.status()),
        Some(Err(())) | None => Err(ErrorCode::InternalError(None)),
    }
}

/// The plugin.
#[derive(Debug)]
pub struct AsksServer;

#[plugin(priority = 40)]
impl Plugin for AsksServer {
    fn configure(config: Config) -> Result<(), String> {
        CONFIG.set(config);
        Ok(())
    }

    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let Some(url) = call.action.url() else { return Verdict::allow() };
        let Config { server, plain } = CONFIG.get();
        let scheme = if *plain { Scheme::Http } else { Scheme::Https };
        let host = url.split('/').nth(2).unwrap_or_default();
        match status(&scheme, server, &format!("/may-fetch/{host}")) {
            Ok(200) => Verdict::allow(),
            Ok(_) => Refusal::new(format!("{server} does not know `{host}`")).code("fetch.unknown").into(),
            Err(error) => Refusal::new(format!("{server} cannot be asked: {error}")).retryable().into(),
        }
    }

    fn prompt_submit(_session: &Session, prompt: &str) -> TextVerdict {
        TextVerdict::replace(scripted::run(prompt))
    }
}
