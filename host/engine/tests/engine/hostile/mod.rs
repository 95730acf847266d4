//! Plugins that mean harm, written by hand: what the host does about each, and that nobody else notices.

mod component;
mod generated;
mod limits;
mod probing;
mod schemas;
mod secrecy;
pub(crate) mod table;

pub(crate) use component::Shape;
