//! hookhost's own proxies, which ask the resident host like agents.

use hookhost_adapters::{Adapter, acp_proxy, mcp_proxy};

/// The adapter of the proxy that asks under this name; absent where no proxy has it.
pub(crate) fn by_name(name: &str) -> Option<&'static dyn Adapter> {
    [mcp_proxy::ADAPTER, acp_proxy::ADAPTER].into_iter().find(|proxy| proxy.agent().name == name)
}
