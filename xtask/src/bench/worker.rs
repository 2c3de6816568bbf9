//! A program that has cases and runs their contenders when it is told to: a line of words, a line of JSON.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// How a worker is started, again when it has died.
pub(super) struct Worker {
    command: Command,
    running: Option<Running>,
}

struct Running {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// A case as its worker describes it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Listed {
    pub(super) case: String,
    pub(super) bytes: u64,
    pub(super) unit: String,
    #[serde(default)]
    pub(super) x: Option<f64>,
    /// Too long for a quick run.
    #[serde(default)]
    pub(super) long: bool,
    /// Each run is one sample: its result is not divided.
    #[serde(default)]
    pub(super) once: bool,
}

/// Who takes part in an open case.
#[derive(Debug, Deserialize)]
pub(super) struct Opened {
    pub(super) bytes: u64,
    pub(super) contenders: Vec<Ready>,
}

/// A contender, and why it cannot run.
#[derive(Debug, Deserialize)]
pub(super) struct Ready {
    pub(super) name: String,
    #[serde(default)]
    pub(super) missing: Option<String>,
}

impl Worker {
    pub(super) fn new(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self { command, running: None }
    }

    /// All of its cases.
    pub(super) fn list(&mut self) -> Outcome<Vec<Listed>> {
        self.ask("list")
    }

    /// Sets a case up.
    pub(super) fn open(&mut self, case: &str) -> Outcome<Opened> {
        self.ask(&format!("open\t{case}"))
    }

    /// Nanoseconds for `count` calls, or a value.
    pub(super) fn run(&mut self, contender: &str, count: u64) -> Outcome<f64> {
        self.ask(&format!("run\t{contender}\t{count}"))
    }

    /// Lets go of what the case needed.
    pub(super) fn close(&mut self) -> Outcome<()> {
        self.ask::<Value>("close").map(drop)
    }

    fn ask<T: DeserializeOwned>(&mut self, request: &str) -> Outcome<T> {
        let answer = self.exchange(request);
        if answer.is_err() {
            // The next request starts it again.
            self.stop();
        }
        let value: Value = answer?;
        if let Some(error) = value.get("error") {
            return Err(Failure::new(format!("{request:?}: {error}")));
        }
        serde_json::from_value(value).map_err(|error| Failure::new(format!("{request:?}: {error}")))
    }

    fn exchange(&mut self, request: &str) -> Outcome<Value> {
        let failure = |error: std::io::Error| Failure::new(format!("{request:?}: {error}"));
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(Running::start(&mut self.command)?),
        };
        writeln!(running.requests, "{request}").map_err(failure)?;
        let mut line = String::new();
        running.answers.read_line(&mut line).map_err(failure)?;
        if line.is_empty() {
            let ended =
                running.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            return Err(Failure::new(format!("the program ended after {request:?}: {ended}")));
        }
        serde_json::from_str(&line).map_err(|error| Failure::new(format!("{request:?}: {error}: {line}")))
    }

    /// Closing its input ends it; what does not end is killed.
    fn stop(&mut self) {
        if let Some(Running { mut child, requests, answers }) = self.running.take() {
            drop((requests, answers));
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Running {
    fn start(command: &mut Command) -> Outcome<Self> {
        let mut child = command
            .spawn()
            .map_err(|error| Failure::new(format!("{}: {error}", command.get_program().display())))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(answers)) => Ok(Self { child, requests, answers: BufReader::new(answers) }),
            _ => Err(Failure::new("a program without input and output")),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}
