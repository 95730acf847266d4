//! `docs/agents.md` and the page of each agent below `docs/agents`: what is data in the adapters is written from it, and every
//! command runs.

mod commands;
mod generated;
