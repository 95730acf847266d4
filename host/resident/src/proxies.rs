//! hookhost's own proxies, which send events to the resident host like agents.

use hookhost_agents::{Adapter, acp_proxy, mcp_proxy};

/// Returns the adapter of the proxy of this name.
pub(crate) fn by_name(name: &str) -> Option<&'static Adapter> {
    [mcp_proxy::ADAPTER, acp_proxy::ADAPTER].into_iter().find(|proxy| proxy.agent().name == name)
}
