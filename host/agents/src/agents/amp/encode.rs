//! Replies to the hookhost plugin, in the format that all such plugins share.

use super::AGENT;
use crate::agents::own_plugin;
use crate::reply::Reply;

pub(super) use own_plugin::{encode, neutral};

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    own_plugin::fail(&AGENT, point, why)
}
