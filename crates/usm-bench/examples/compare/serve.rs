//! Requests from standard input, answers to standard output.

use std::cell::RefCell;
use std::hint::black_box;
use std::io::{self, BufRead, Lines, StdinLock, Write};
use std::time::Instant;

use serde_json::{Value, json};

use super::contender::{Case, Contender, Run, Stage};

/// Goes through all cases, each time for one purpose.
pub(crate) struct Server {
    purpose: Purpose,
    requests: RefCell<Lines<StdinLock<'static>>>,
}

enum Purpose {
    List(RefCell<Vec<Value>>),
    Open { wanted: String, found: RefCell<bool> },
}

fn answer(value: &Value) {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}").and_then(|()| out.flush()).unwrap();
}

/// Answers requests until there are no more.
pub(crate) fn serve(all: &dyn Fn(&Server)) {
    let requests = RefCell::new(io::stdin().lock().lines());
    let mut server = Server { purpose: Purpose::List(RefCell::default()), requests };
    loop {
        let Some(Ok(line)) = server.requests.get_mut().next() else { return };
        server.purpose = match line.split_once('\t') {
            Some(("open", name)) => Purpose::Open { wanted: name.to_owned(), found: RefCell::new(false) },
            _ if line == "list" => Purpose::List(RefCell::default()),
            _ => {
                answer(&json!({ "error": format!("no such request: {line}") }));
                continue;
            }
        };
        all(&server);
        match &server.purpose {
            Purpose::List(cases) => answer(&Value::Array(cases.take())),
            Purpose::Open { wanted, found } if !*found.borrow() => {
                answer(&json!({ "error": format!("no such case: {wanted}") }));
            }
            Purpose::Open { .. } => answer(&json!({})),
        }
    }
}

impl Stage for Server {
    fn announce(&self, case: &Case<'_>) -> bool {
        match &self.purpose {
            Purpose::List(cases) => {
                cases.borrow_mut().push(json!({
                    "case": case.name,
                    "bytes": case.bytes,
                    "unit": case.unit,
                    "x": case.x,
                    "long": case.long,
                    "processes": case.processes,
                    "once": case.unit != "ns",
                }));
                false
            }
            Purpose::Open { wanted, .. } => wanted == case.name,
        }
    }

    fn perform(&self, case: &Case<'_>, mut contenders: Vec<Contender<'_>>) {
        if let Purpose::Open { found, .. } = &self.purpose {
            found.replace(true);
        }
        let describe = |contender: &Contender<'_>| match &contender.run {
            Run::Missing(reason) => json!({ "name": contender.name, "missing": reason }),
            _ => json!({ "name": contender.name }),
        };
        let names: Vec<Value> = contenders.iter().map(describe).collect();
        answer(&json!({ "bytes": case.bytes, "contenders": names }));
        loop {
            let Some(Ok(line)) = self.requests.borrow_mut().next() else { return };
            let words: Vec<&str> = line.split('\t').collect();
            match words[..] {
                ["close"] => return,
                ["run", name, count] => {
                    let count: u64 = count.parse().unwrap_or(1);
                    let contender = contenders.iter_mut().find(|contender| contender.name == name);
                    answer(&match contender {
                        Some(contender) => run(&mut contender.run, count),
                        None => json!({ "error": format!("no such contender: {name}") }),
                    });
                }
                _ => answer(&json!({ "error": format!("not while a case is open: {line}") })),
            }
        }
    }
}

/// Nanoseconds for `count` calls, or a value.
fn run(run: &mut Run<'_>, count: u64) -> Value {
    match run {
        Run::Timed(call) => {
            let start = Instant::now();
            for _ in 0..count {
                black_box(&mut *call)();
            }
            json!(start.elapsed().as_nanos() as f64)
        }
        Run::Value(value) => json!(value()),
        Run::Missing(reason) => json!({ "error": reason }),
    }
}
