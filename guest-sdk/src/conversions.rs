//! Conversions between the types of the SDK and those of a host that calls a plugin natively (`hookhost-contract`).

hookhost_guest_macros::conversions!();
