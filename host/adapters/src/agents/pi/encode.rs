//! Replies to our own plugin, in the language that it shares with the other agents' plugins.

pub(super) use crate::agents::own_plugin::encode;
