//! Checks that the checked-in types match the WIT.

#[test]
fn the_generated_types_are_those_of_the_wit() {
    let generated = hookhost_wit::host_types().expect("the contract is read");
    assert!(
        generated == include_str!("../src/generated.rs"),
        "host/contract/src/generated.rs is stale: run `cargo xtask contract`"
    );
}
