//! Conversions between the types of the SDK and the types of `hookhost-contract`, which a host that calls a plugin
//! natively uses.

hookhost_guest_macros::conversions!();
