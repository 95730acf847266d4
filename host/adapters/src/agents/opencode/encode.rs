//! Replies to our own plugin, in the language that it shares with the other agents' plugins.

use super::AGENT;
use crate::agents::own_plugin;
use crate::reply::Reply;

pub(super) use own_plugin::{encode, neutral};

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    own_plugin::fail(&AGENT, point, why)
}
