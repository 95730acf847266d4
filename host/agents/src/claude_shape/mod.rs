//! The format that several agents took over from Claude Code: a message is one object that names the hook point and the
//! tool, a reply has `hookSpecificOutput`, and a settings file has groups of hooks. The differences between the agents
//! are data: [`Keys`] for messages, [`Dialect`] for replies.

mod abilities;
mod decode;
mod draft;
mod encode;
mod result;
mod shaped;
mod strictest;

pub(super) use abilities::{CONTEXT, PROMPT, STOP, TELLS};
pub(super) use decode::{Keys, absolute, decode, first, point_of, text};
pub(super) use draft::{Draft, denies_by_decision, deny_twice, filled, in_place};
pub(super) use encode::{Dialect, No, denies, encode, fail, prompts, unsettled};
pub(super) use result::result;
pub(super) use shaped::{has_shape_of, is_media, shaped};
pub(super) use strictest::{Strictest, strictest};
