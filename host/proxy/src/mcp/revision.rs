//! The revisions of the protocol.

use crate::jsonrpc::message::Message;

/// The revisions that the proxy knows.
pub(crate) const KNOWN_REVISIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The first revision in which each request names its revision.
pub(crate) const FIRST_STATELESS_REVISION: &str = "2026-07-28";

/// The member of `_meta` that names the revision of a request.
pub(crate) const REVISION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Returns the revision that a request names.
pub(crate) fn revision(message: &Message) -> Option<String> {
    let meta = message.params().ok()?.value("_meta")?;
    meta.get(REVISION_KEY)?.as_str().map(str::to_owned)
}
