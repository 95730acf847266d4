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

pub(crate) use abilities::{CONTEXT, PROMPT, STOP, TELLS};
pub(crate) use decode::{Keys, absolute, decode, first, point_of, text};
pub(crate) use draft::{Draft, denies_by_decision, deny_twice, filled, in_place};
pub(crate) use encode::{Dialect, No, denies, encode, fail, prompts, unsettled};
pub(crate) use result::result;
pub(crate) use shaped::{has_shape_of, is_media, shaped};
pub(crate) use strictest::{Strictest, strictest};
