//! All adapters against their fixtures: what each message means, and each outcome's reply, byte for byte.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod goldens;
mod guarded;
