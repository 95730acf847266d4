//! The proxy between an editor and an agent: the kinds of call of the Agent Client Protocol, and the agent's requests
//! to its editor. Source: agentclientprotocol/agent-client-protocol, `schema/v1`; `hookhost-agents` determines the
//! arguments of the kinds.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["execute", "terminal/create"], &["command"], &["cwd"]);
    table.reads(&["read", "search", "fs/read_text_file"], &["path"]);
    table.writes(&["edit", "delete", "move", "fs/write_text_file"], &["path"]);
    table.fetches(&["fetch"], &["url"]);
}
