//! Decides on refunds with the embedding program's data about its customers. The program provides this data in its own interface, in
//! `wit/crm.wit`, which is not part of the contract.

use acme::crm::customers::{self, Tier};
use hookhost_guest::prelude::*;

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "crm" });
}

use bindings::acme;

/// The plugin.
#[derive(Debug)]
pub struct Customers;

#[plugin]
impl Plugin for Customers {
    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        if call.name != "refund" {
            return ToolCallVerdict::allow();
        }
        let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let (customer, cents) = (arguments["customer"].as_u64(), arguments["cents"].as_i64());
        let (Some(customer), Some(cents)) = (customer, cents) else {
            return Refusal::new("a refund names a customer and an amount in cents").code("refund.unclear").into();
        };
        match customers::find(customer) {
            Ok(Some(found)) if found.tier == Tier::Premium || cents <= found.credit => ToolCallVerdict::allow(),
            Ok(Some(found)) => Refusal::new(format!("{} has a credit of {} cents", found.name, found.credit))
                .code("refund.credit")
                .into(),
            Ok(None) => Refusal::new(format!("there is no customer {customer}")).code("refund.nobody").into(),
            Err(why) => Refusal::new(format!("the customer cannot be looked up: {why}")).code("refund.unknown").into(),
        }
    }

    fn prompt_submit(_session: &Session, prompt: &str) -> TextVerdict {
        if prompt == "how many customers?" {
            TextVerdict::replace(customers::count().to_string())
        } else {
            TextVerdict::keep()
        }
    }
}
