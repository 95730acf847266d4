//! Starts a server, lists and calls its tools, and ends the server with all processes that it started.

use super::bounded::{ALL_SERVERS, BoundedStream};
use super::http::{NOT_READ, Service};
use super::section::{Connection, ServerSection};
use super::tool::ListedTool;
use super::unanswered::AnsweringTransport;
use super::{MAX_TOOLS, McpError, answer};
use crate::launcher::Launcher;
use crate::tool::ToolOutput;
use hookhost::schema::Schema;
use hookhost_models::origin::{carries_a_key, is_in_the_clear};
use hookhost_models::process::ProcessGroup;
use hookhost_models::{Timeouts, http_client};
use reqwest::Url;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, Implementation, InitializeRequestParams, PaginatedRequestParams, Tool,
};
use rmcp::service::{ClientInitializeError, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, serve_client};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Maximum length of a tool's name in the providers' protocols.
const MAX_NAME_LEN: usize = 64;
/// Maximum length of a tool's description, in bytes; the rest is cut.
const MAX_DESCRIPTION_BYTES: usize = 4 * 1024;
/// Maximum number of notices per server about single tools that are left out.
const MAX_NOTICES: usize = 5;
/// Maximum number of content blocks in one result.
pub const MAX_BLOCKS: usize = 1_000;
/// Maximum number of pages of a tool list that are read.
const MAX_PAGES: usize = 64;
/// Number of bytes that are kept from the end of a program's standard error.
const KEPT_STDERR: usize = 1024;

/// Time limit for the end of a program after its streams have ended.
const EXIT_TIMEOUT: Duration = Duration::from_millis(250);

/// Time limit for the last error output of a program that has ended.
const STDERR_TIMEOUT: Duration = Duration::from_millis(250);

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    name: String,
    client: RunningService<RoleClient, InitializeRequestParams>,
    program: Option<Program>,
    /// Reason why nothing more is read from the server.
    refused: Arc<OnceLock<String>>,
    call_limit: NonZeroU32,
}

/// A program and its child processes. Dropping this value kills all of them.
#[derive(Debug)]
struct Program {
    group: tokio::sync::Mutex<ProcessGroup>,
    stderr: Arc<Mutex<Vec<u8>>>,
    /// Task that reads standard error; `None` once it was awaited.
    reading: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

/// Tools of a server, with notices about tools that are left out.
#[derive(Debug, Default)]
pub(super) struct ToolList {
    pub(super) tools: Vec<ListedTool>,
    pub(super) notices: Vec<String>,
}

impl Server {
    /// Starts the server and asks for its tools, within the time limit of the section.
    pub(super) async fn start(
        name: &str,
        section: &ServerSection,
        workspace: &Path,
        launcher: &Launcher,
    ) -> Result<(Self, ToolList), McpError> {
        let limit = section.start_seconds.unwrap_or(DEFAULT_START_SECONDS);
        let starting = async {
            let server = match section.reached(name)? {
                Connection::Program(command) => Self::program(name, command, section, workspace, launcher).await,
                Connection::Service(url) => Self::service(name, url, section).await,
            }?;
            let offer = server.offer(section).await?;
            Ok((server, offer))
        };
        match timeout(seconds(limit), starting).await {
            Ok(started) => started,
            Err(_) => Err(McpError::Silent { server: name.to_owned(), seconds: limit.get(), key: "start-seconds" }),
        }
    }

    async fn program(
        name: &str,
        command: &str,
        section: &ServerSection,
        workspace: &Path,
        launcher: &Launcher,
    ) -> Result<Self, McpError> {
        let failed = |reason: String| McpError::Start { server: name.to_owned(), command: command.to_owned(), reason };
        let mut starting = launcher.command(command);
        starting.args(&section.args).current_dir(section.cwd.as_deref().unwrap_or(workspace));
        starting.envs(&section.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = ProcessGroup::start(&mut starting).map_err(|error| failed(error.to_string()))?;
        let (Some(input), Some(output), Some(errors)) = group.take_pipes() else {
            return Err(failed("its standard streams cannot be reached".into()));
        };
        let (output, refused) = BoundedStream::new(output, &ALL_SERVERS);
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let reading = tokio::spawn(keep_last_words(errors, Arc::clone(&stderr)));
        let program =
            Program { group: tokio::sync::Mutex::new(group), stderr, reading: tokio::sync::Mutex::new(Some(reading)) };
        let transport = AnsweringTransport::new(AsyncRwTransport::new_client(output, input), Arc::clone(&refused));
        let client = match serve_client(client_info(), transport).await {
            Ok(client) => client,
            Err(error) => {
                let reason = match refused.get().cloned() {
                    Some(why) => return Err(McpError::Unusable { server: name.to_owned(), reason: why }),
                    None => program.ended().await,
                };
                let reason = match reason {
                    Some(how) => format!("it ended{how}"),
                    None => short(&error.to_string()),
                };
                return Err(McpError::Unusable { server: name.to_owned(), reason });
            }
        };
        Ok(Self { name: name.to_owned(), client, program: Some(program), refused, call_limit: call_limit(section) })
    }

    async fn service(name: &str, url: &str, section: &ServerSection) -> Result<Self, McpError> {
        let unusable = |reason: String| McpError::Unusable { server: name.to_owned(), reason };
        let parsed = Url::parse(url).map_err(|error| unusable(format!("`url` is not a URL, {error}")))?;
        let has_key = section.key_variable.is_some() || !section.header_variables.is_empty() || carries_a_key(&parsed);
        if has_key && is_in_the_clear(&parsed) {
            return Err(unusable("its key would travel in the clear to `url`: give it an https address".into()));
        }
        let variable = |variable: &str| match std::env::var(variable) {
            Ok(value) if !value.trim().is_empty() => Ok(value.trim().to_owned()),
            _ => Err(unusable(format!("the environment variable {variable} is not set"))),
        };
        let mut config = StreamableHttpClientTransportConfig::with_uri(url);
        config.auth_header = section.key_variable.as_deref().map(variable).transpose()?;
        config.custom_headers = section
            .header_variables
            .iter()
            .map(|(header, held_by)| {
                let header = header.parse().map_err(|_| unusable(format!("`{header}` is no name of a header")))?;
                let value = variable(held_by)?.parse();
                // The value may be a key, so the reason must not repeat it.
                let value = value.map_err(|_| {
                    unusable(format!("the value of the environment variable {held_by} cannot be a header's value"))
                })?;
                Ok((header, value))
            })
            .collect::<Result<HashMap<_, _>, McpError>>()?;
        let client = http_client(&parsed, Timeouts::default()).map_err(|error| unusable(short(&error.to_string())))?;
        let transport = StreamableHttpClientTransport::with_client(Service::new(client), config);
        let refused = Arc::new(OnceLock::new());
        let client = serve_client(client_info(), AnsweringTransport::new(transport, Arc::clone(&refused))).await;
        let client =
            client.map_err(|error| unusable(refused.get().cloned().unwrap_or_else(|| not_connected(url, &error))))?;
        Ok(Self { name: name.to_owned(), client, program: None, refused, call_limit: call_limit(section) })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Reads the list of tools, up to the limits.
    async fn offer(&self, section: &ServerSection) -> Result<ToolList, McpError> {
        let mut listed: Vec<Tool> = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let asked = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page = match self.client.peer().list_tools(Some(asked)).await {
                Ok(page) => page,
                Err(error) => return Err(self.failed(&error).await),
            };
            let wanted =
                |tool: &Tool| section.tools.as_ref().is_none_or(|names| names.iter().any(|name| *name == tool.name));
            listed.extend(page.tools.into_iter().filter(wanted));
            cursor = page.next_cursor;
            if cursor.is_none() || listed.len() > MAX_TOOLS {
                break;
            }
        }
        // Compiling schemas may take long. This work runs on a separate thread, so the time limit can take effect
        // meanwhile.
        let (name, (done, waiting)) = (self.name.clone(), tokio::sync::oneshot::channel());
        let reading = std::thread::Builder::new().name("mcp-tools".into()).spawn(move || {
            // The caller may have stopped waiting.
            let _ = done.send(offered(&name, listed));
        });
        let unusable = |reason: String| McpError::Unusable { server: self.name.clone(), reason };
        reading.map_err(|error| unusable(error.to_string()))?;
        waiting.await.map_err(|_| unusable("its list of tools cannot be read".into()))
    }

    pub(super) async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<ToolOutput, McpError> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(arguments);
        match timeout(seconds(self.call_limit), self.client.peer().call_tool(params)).await {
            Ok(Ok(result)) if result.content.len() > MAX_BLOCKS => Err(McpError::Unusable {
                server: self.name.clone(),
                reason: format!("it answered {} blocks of content, and {MAX_BLOCKS} is the most", result.content.len()),
            }),
            Ok(Ok(result)) => Ok(answer::output(&result)),
            Ok(Err(error)) => Err(self.failed(&error).await),
            Err(_) => {
                let (server, seconds) = (self.name.clone(), self.call_limit.get());
                Err(McpError::Silent { server, seconds, key: "call-seconds" })
            }
        }
    }

    async fn failed(&self, error: &ServiceError) -> McpError {
        let server = self.name.clone();
        match (error, &self.program) {
            (ServiceError::McpError(error), None) if error.code == NOT_READ => {
                McpError::Unusable { server, reason: short(&error.message) }
            }
            (ServiceError::McpError(error), _) => McpError::Refused { server, reason: short(&error.message) },
            _ if self.refused.get().is_some() => {
                McpError::Unusable { server, reason: self.refused.get().cloned().unwrap_or_default() }
            }
            (ServiceError::TransportClosed | ServiceError::TransportSend(_), Some(program)) => {
                McpError::Gone { server, how: program.ended().await.unwrap_or_default() }
            }
            (ServiceError::TransportClosed, None) => McpError::Gone { server, how: String::new() },
            (other, _) => McpError::Unusable { server, reason: short(&other.to_string()) },
        }
    }
}

const DEFAULT_START_SECONDS: NonZeroU32 = NonZeroU32::new(30).expect("30 is not 0");
const DEFAULT_CALL_SECONDS: NonZeroU32 = NonZeroU32::new(120).expect("120 is not 0");

fn call_limit(section: &ServerSection) -> NonZeroU32 {
    section.call_seconds.unwrap_or(DEFAULT_CALL_SECONDS)
}

fn seconds(limit: NonZeroU32) -> Duration {
    Duration::from_secs(u64::from(limit.get()))
}

fn client_info() -> InitializeRequestParams {
    let own = Implementation::new("hookhost", env!("CARGO_PKG_VERSION"));
    InitializeRequestParams::new(ClientCapabilities::default(), own)
}

impl Program {
    /// Describes the end of the program, such as `, with exit code 1, saying “…”`; `None` if it still runs.
    async fn ended(&self) -> Option<String> {
        // The program's streams usually end shortly before the program itself, so this waits a moment.
        let ended = async { self.group.lock().await.wait().await.ok() };
        let status = timeout(EXIT_TIMEOUT, ended).await.ok().flatten()?;
        // The last output may still arrive, so this waits for the end of the stream. The wait has a time limit, because
        // child processes may keep the stream open.
        if let Some(reading) = self.reading.lock().await.take() {
            let _ = timeout(STDERR_TIMEOUT, reading).await;
        }
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let stderr = String::from_utf8_lossy(&stderr).lines().rev().find(|line| !line.trim().is_empty()).map(short);
        let how = status.code().map_or_else(|| status.to_string(), |code| format!("with exit code {code}"));
        Some(match stderr {
            Some(stderr) => format!(", {how}, saying “{stderr}”"),
            None => format!(", {how}"),
        })
    }
}

async fn keep_last_words(mut errors: impl AsyncRead + Unpin, stderr: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = vec![0; 4 * 1024];
    while let Ok(length @ 1..) = errors.read(&mut chunk).await {
        let mut stderr = stderr.lock().unwrap_or_else(PoisonError::into_inner);
        stderr.extend_from_slice(&chunk[..length]);
        let excess = stderr.len().saturating_sub(KEPT_STDERR);
        stderr.drain(..excess);
    }
}

/// Returns the innermost reason of a failed connection.
fn not_connected(url: &str, error: &ClientInitializeError) -> String {
    let error = match error {
        ClientInitializeError::TransportError { error, .. } => error,
        ClientInitializeError::JsonRpcError(error) if error.code == NOT_READ => return short(&error.message),
        other => return short(&other.to_string()),
    };
    let mut innermost: &dyn std::error::Error = error.error.as_ref();
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    short(&format!("no connection to {url}: {innermost}"))
}

/// Shortens a server's words to one line of at most 300 characters.
fn short(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|character| !character.is_control()).take(300).collect()
}

/// Returns the tools under their full names, and notices about tools that are left out.
fn offered(server: &str, listed: Vec<Tool>) -> ToolList {
    let mut offer = ToolList::default();
    let mut names = HashSet::new();
    let mut untold = 0_usize;
    for tool in listed {
        if offer.tools.len() == MAX_TOOLS {
            offer.notices.push(format!(
                "the MCP server {server} lists more than {MAX_TOOLS} tools: the others are left out; name those that \
                 you need with `tools` of [mcp.{server}]"
            ));
            break;
        }
        let own: String =
            tool.name.chars().map(|character| if is_of_a_name(character) { character } else { '_' }).collect();
        let full_name = format!("mcp__{server}__{own}");
        let mut schema = Map::clone(&tool.input_schema);
        schema.entry("type").or_insert_with(|| "object".into());
        let why = if own.is_empty() || full_name.len() > MAX_NAME_LEN {
            Some(format!("its name has more than {MAX_NAME_LEN} characters, or none"))
        } else if !names.insert(full_name.clone()) {
            Some("another one has its name".to_owned())
        } else {
            let compiled = Schema::compile(&Value::Object(schema.clone()));
            compiled.err().map(|error| format!("its input schema {}", short(&error.to_string())))
        };
        match why {
            Some(_) if offer.notices.len() >= MAX_NOTICES => untold += 1,
            Some(why) => {
                let name = short(&tool.name);
                offer.notices.push(format!("the tool `{name}` of the MCP server {server} is left out: {why}"));
            }
            None => offer.tools.push(ListedTool {
                full_name,
                name: tool.name.into_owned(),
                description: cut(tool.description.unwrap_or_default().into_owned()),
                input_schema: schema,
            }),
        }
    }
    if untold > 0 {
        offer.notices.push(format!(
            "{untold} more tools of the MCP server {server} are left out for such reasons: fix the server, or name the \
             tools that you need with `tools` of [mcp.{server}]"
        ));
    }
    offer
}

fn is_of_a_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn cut(mut description: String) -> String {
    let end = (0..=MAX_DESCRIPTION_BYTES.min(description.len())).rev().find(|end| description.is_char_boundary(*end));
    description.truncate(end.unwrap_or(0));
    description
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "so that a test reads as what it hands over")]
    fn tool(name: &str, schema: Value) -> Tool {
        serde_json::from_value(json!({ "name": name, "description": "é".repeat(3000), "inputSchema": schema })).unwrap()
    }

    #[test]
    fn what_cannot_be_offered_is_left_out_and_reported() {
        let listed = vec![
            tool("read/file", json!({})),
            tool("read.file", json!({})),
            tool(&"n".repeat(80), json!({})),
            tool("bad", json!({ "properties": 3 })),
        ];
        let offer = offered("fs", listed);
        let names: Vec<_> = offer.tools.iter().map(|tool| (tool.full_name.as_str(), tool.name.as_str())).collect();
        assert_eq!(names, [("mcp__fs__read_file", "read/file")]);
        assert_eq!(offer.tools[0].description.len(), MAX_DESCRIPTION_BYTES);
        assert_eq!(offer.notices.len(), 3, "{:?}", offer.notices);
        assert!(offer.notices[0].contains("another one has its name"));
    }

    #[tokio::test]
    async fn a_key_never_travels_in_the_clear_to_another_machine() {
        for key in ["key-variable = 'PATH'", "header-variables = { X-Key = 'PATH' }"] {
            let text = format!("[far]\nurl = 'http://192.0.2.1/mcp'\n{key}\n");
            let section: super::super::McpSection = toml::from_str(&text).unwrap();
            let started = Server::start("far", &section.servers["far"], Path::new("/"), &Launcher::default()).await;
            let error = started.map(drop).unwrap_err().to_string();
            assert!(error.contains("the MCP server far") && error.contains("in the clear"), "{error}");
        }
    }

    #[test]
    fn ten_thousand_tools_are_cut_off_with_one_sentence() {
        let offer = offered("big", (0..10_000).map(|n| tool(&format!("t{n}"), json!({}))).collect());
        assert_eq!((offer.tools.len(), offer.notices.len()), (MAX_TOOLS, 1));
        assert!(offer.notices[0].starts_with("the MCP server big lists more than 128 tools"), "{:?}", offer.notices);
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_left_out_and_reported() {
        let offer = offered("x", vec![tool("loop", json!({ "type": "object", "$ref": "#" }))]);
        assert_eq!(offer.tools, []);
        assert!(offer.notices[0].contains("its input schema refers from `#` to itself"), "{:?}", offer.notices);
    }

    #[test]
    fn sixty_thousand_tools_that_cannot_be_offered_are_reported_with_a_number() {
        let offer = offered("big", (0..60_000).map(|_| tool(&"n".repeat(80), json!({}))).collect());
        assert_eq!((offer.tools.len(), offer.notices.len()), (0, MAX_NOTICES + 1));
        assert!(offer.notices[MAX_NOTICES].starts_with("59995 more tools"), "{:?}", offer.notices[MAX_NOTICES]);
    }
}
