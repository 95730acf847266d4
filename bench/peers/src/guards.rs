//! Times hooks as complete processes, which start, handle one call and exit. The runs of each hook alternate with runs of hookhost's own
//! hook, which agents start for every event, and which sends the event to the resident host.

use crate::call::{CALLS, Call};
use crate::home::Home;
use crate::obtain::{Peer, peers};
use crate::verdict::Verdict;
use bench::measure::{Compared, compare, compare_batches};
use bench::table::{Row, Table};
use std::cell::Cell;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;
use std::time::{Duration, Instant};

/// The reference of all rows.
const REFERENCE: &str = "`hookhost-hook`, through the resident host, log on";

/// The plugin of both homes.
const PLUGIN: &str = "no-force-push";

/// Measures all hooks. The error lists the hooks with a wrong answer.
pub(crate) fn rows(directory: &Path, resident: &Home, alone: &Home) -> Result<(), String> {
    let peers = peers(directory);
    let host = resident.serve()?;
    let processes = HookProcesses { resident, alone };
    let mut table = Table::begin();
    let mut wrong = Vec::new();
    for call in &CALLS {
        processes.ours(&mut table, call)?;
        for peer in &peers {
            wrong.extend(processes.peer(&mut table, call, peer).err());
        }
    }
    drop(host);
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

struct HookProcesses<'a> {
    /// The home with a running resident host.
    resident: &'a Home,
    /// The home without a resident host.
    alone: &'a Home,
}

impl HookProcesses<'_> {
    /// Measures hookhost without a running resident host.
    fn ours(&self, table: &mut Table, call: &Call) -> Result<(), String> {
        let is_right = |verdict: &Verdict, name: &str| {
            let why = || format!("`{}`: {name} {verdict}", call.command);
            if verdict.is_right(call.is_force_push) { Ok(()) } else { Err(why()) }
        };
        let hook = self.alone.hook();
        let name = "`hookhost-hook` that starts the resident host";
        let mut last = Verdict::NoObjection;
        let started = |runs: u32| -> Duration {
            let times = (0..runs).map(|_| {
                let began = Instant::now();
                last = self.alone.ask(&hook, call);
                let took = began.elapsed();
                self.alone.stop();
                took
            });
            times.sum()
        };
        let compared = compare_batches(started, |runs| {
            let began = Instant::now();
            (0..runs).for_each(|_| self.reference(call));
            began.elapsed()
        });
        is_right(&last, name)?;
        row(table, call, name, PLUGIN, true, &last, &compared);
        Ok(())
    }

    /// Runs the reference, and checks its answer, because the time of a hook that decides nothing would be meaningless.
    fn reference(&self, call: &Call) {
        let verdict = self.resident.ask(&self.resident.hook(), call);
        assert!(verdict.is_right(call.is_force_push), "`{}`: hookhost {verdict}", call.command);
    }

    /// Measures a hook of another guard. If the hook has the same rule as hookhost but gives another verdict, this is an error.
    fn peer(&self, table: &mut Table, call: &Call, peer: &Peer) -> Result<(), String> {
        let Peer { name, version, command, has_our_rule, logs } = peer;
        let not_measured = |table: &mut Table, why: &dyn Display| {
            let row = Row { what: &what(call, name), component: version, log: "–", why: "" };
            table.plain(&row, format!("not measured: {why}"), "", None);
        };
        let command: &[OsString] = match command {
            Ok(command) => command,
            Err(why) => {
                not_measured(table, why);
                return Ok(());
            }
        };
        let verdict = self.resident.ask(command, call);
        if matches!(verdict, Verdict::Failure(_)) {
            not_measured(table, &format_args!("it {verdict}"));
            return if *has_our_rule { Err(format!("{} {verdict}", what(call, name))) } else { Ok(()) };
        }
        if *has_our_rule && !verdict.is_right(call.is_force_push) {
            return Err(format!("`{}`: {name} {verdict}", call.command));
        }
        let is_steady = Cell::new(true);
        let asked = || {
            let same = self.resident.ask(command, call) == verdict;
            is_steady.set(is_steady.get() && same);
        };
        let compared = compare(asked, || self.reference(call));
        if is_steady.get() {
            row(table, call, name, version, *logs, &verdict, &compared);
        } else {
            not_measured(table, &"it does not always answer the same");
        }
        Ok(())
    }
}

fn what(call: &Call, name: &str) -> String {
    format!("`{}`: {name}", call.command)
}

fn row(
    table: &mut Table,
    call: &Call,
    name: &str,
    component: &str,
    logs: bool,
    verdict: &Verdict,
    compared: &Compared,
) {
    let what = format!("{}, which {verdict}", what(call, name));
    let row = Row { what: &what, component, log: if logs { "on" } else { "–" }, why: "" };
    table.compared(&row, compared, REFERENCE, None);
}
