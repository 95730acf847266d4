//! Times the rule in the languages of policy engines. The engines run in this process. They take turns with events of hookhost, on which a
//! separately built process decides. While one side is timed, the other side waits.

use crate::call::{CALLS, Call};
use crate::event_server::EventServer;
use crate::policies::{POLICIES, version};
use bench::measure::{Compared, compare_batches};
use bench::table::{Row, Table};
use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

/// The reference of all rows.
const REFERENCE: &str = "`hookhost`, a component, log off";

/// The reference of the rows of many rules, and their number.
const MANY: (&str, usize) = ("`hookhost`, 200 rules in words, log off", 200);

/// The subjects in which hookhost runs the rule without WebAssembly.
const NATIVE: [(&str, &str); 2] =
    [("plugin", "`hookhost`, the plugin natively"), ("closure", "`hookhost`, the rule as a closure")];

pub(crate) fn rows(server: &Path) -> Result<(), String> {
    let ours = SharedServer(RefCell::new(EventServer::start(server)?));
    let mut table = Table::begin();
    for call in &CALLS {
        ours.check("component", call)?;
        for (rule, name) in NATIVE {
            ours.check(rule, call)?;
            let compared =
                compare_batches(|events| ours.time(rule, call, events), |events| ours.reference(call, events));
            row(&mut table, call, name, "no-force-push", REFERENCE, &compared);
        }
        ours.check("rows", call)?;
        for (policy, rules) in POLICIES.iter().flat_map(|policy| [(policy, 1), (policy, MANY.1)]) {
            let failed = |why: String| format!("`{}`: {}: {why}", call.command, policy.name);
            let mut evaluate = (policy.prepare)(call, rules).map_err(failed)?;
            if evaluate().map_err(failed)? != call.is_force_push {
                return Err(failed("the verdict is wrong".to_owned()));
            }
            let theirs = |events: u32| {
                let began = Instant::now();
                let refused = (0..events).filter(|_| evaluate() == Ok(true)).count();
                let took = began.elapsed();
                assert_eq!(refused, if call.is_force_push { events as usize } else { 0 }, "{}", policy.name);
                took
            };
            let version = version(policy.package).unwrap_or_default();
            if rules == 1 {
                let compared = compare_batches(theirs, |events| ours.reference(call, events));
                row(&mut table, call, policy.name, version, REFERENCE, &compared);
            } else {
                let compared = compare_batches(theirs, |events| ours.time("rows", call, events));
                row(&mut table, call, &format!("{}, {rules} rules", policy.name), version, MANY.0, &compared);
            }
        }
    }
    Ok(())
}

/// The process of hookhost. Two subjects that take turns share it.
struct SharedServer(RefCell<EventServer>);

impl SharedServer {
    fn check(&self, rule: &str, call: &Call) -> Result<(), String> {
        let (_, rejected) = self.0.borrow_mut().ask(rule, call, 1)?;
        if rejected == call.is_force_push {
            Ok(())
        } else {
            Err(format!("`{}`: hookhost's {rule} is wrong", call.command))
        }
    }

    fn reference(&self, call: &Call, events: u32) -> Duration {
        self.time("component", call, events)
    }

    /// The caller has checked the verdict of one event. The process checks that the verdict is the same for all further events.
    fn time(&self, rule: &str, call: &Call, events: u32) -> Duration {
        match self.0.borrow_mut().ask(rule, call, events) {
            Ok((took, _)) => took,
            Err(why) => panic!("{why}"),
        }
    }
}

fn row(table: &mut Table, call: &Call, name: &str, component: &str, reference: &str, compared: &Compared) {
    let verdict = if call.is_force_push { "denies it" } else { "has no objection" };
    let what = format!("`{}`: {name}, which {verdict}", call.command);
    let row = Row { what: &what, component, log: "off", why: "" };
    table.compared(&row, compared, reference, None);
}
