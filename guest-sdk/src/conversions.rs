//! Conversions between the types of a plugin and those of a host that calls it natively (`hookhost-contract`): field by field.

hookhost_guest_macros::conversions!();
