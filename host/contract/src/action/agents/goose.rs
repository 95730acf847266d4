//! goose. Source: aaif-goose/goose, `crates/goose/src/agents/platform_extensions/`, and its hooks guide. A hook gets
//! names such as `extension__tool`. The extensions that are part of goose are listed here; all others are MCP servers.

use super::Table;

pub(super) fn tools(table: &mut Table) {
    table.shell(&["shell", "developer__shell"], &["command"], &[]);
    table.reads(&["tree", "developer__tree"], &["path"]);
    table.writes(&["write", "developer__write", "edit", "developer__edit"], &["path"]);
    table.edits(&["text_editor", "developer__text_editor"], &["path"]);
    table.fetches(&["web_fetch", "developer__web_fetch"], &["url"]);
    table.spawns(&["delegate", "summon__delegate"], &["instructions"]);
    table.mcp_names("", Some("__"));
}
