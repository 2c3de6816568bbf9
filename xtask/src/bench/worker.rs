//! A program that has cases and runs their contenders when it is told to: a line of words, a line of JSON.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// How long an answer may take. A neighbour's copy has been seen to wait for ever, in the driver's threads.
const PATIENCE: Duration = Duration::from_secs(300);

/// How a worker is started, again when it has died.
pub(super) struct Worker {
    command: Command,
    running: Option<Running>,
    patience: Duration,
}

struct Running {
    child: Child,
    requests: ChildStdin,
    /// Lines, from a thread that ends with the program.
    answers: Receiver<io::Result<String>>,
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
    /// By how many programs of each worker it is measured, one after the other; 0 is one, too.
    #[serde(default)]
    pub(super) processes: usize,
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
        Self { command, running: None, patience: PATIENCE }
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
        let failure = |error: io::Error| Failure::new(format!("{request:?}: {error}"));
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(Running::start(&mut self.command)?),
        };
        writeln!(running.requests, "{request}").map_err(failure)?;
        let line = match running.answers.recv_timeout(self.patience) {
            Ok(line) => line.map_err(failure)?,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                return Err(Failure::new(format!(
                    "no answer to {request:?} within {} s",
                    self.patience.as_secs()
                )));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let ended = ended(&mut running.child);
                let ended = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
                return Err(Failure::new(format!("the program ended after {request:?}: {ended}")));
            }
        };
        serde_json::from_str(&line).map_err(|error| Failure::new(format!("{request:?}: {error}: {line}")))
    }

    /// Closing its input ends it; what does not end then is killed. The next request starts it again.
    pub(super) fn stop(&mut self) {
        if let Some(Running { mut child, requests, answers }) = self.running.take() {
            drop((requests, answers));
            let _ = ended(&mut child);
        }
    }
}

impl Running {
    fn start(command: &mut Command) -> Outcome<Self> {
        let mut child = command
            .spawn()
            .map_err(|error| Failure::new(format!("{}: {error}", command.get_program().display())))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(output)) => {
                let (sender, answers) = mpsc::channel();
                thread::spawn(move || BufReader::new(output).lines().try_for_each(|line| sender.send(line)));
                Ok(Self { child, requests, answers })
            }
            _ => Err(Failure::new("a program without input and output")),
        }
    }
}

/// How a program without input or output ends; one that goes on without is killed.
fn ended(child: &mut Child) -> io::Result<ExitStatus> {
    for _ in 0..100 {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_answer_or_is_stopped_starts_again() {
        let mut command = Command::new("sh");
        // Ends after two requests, and answers the first one but where it says never.
        command.args(["-c", "read line; case $line in *never*) ;; *) echo '[]';; esac; read line; exit 3"]);
        let mut worker = Worker::new(command);
        assert!(worker.list().unwrap().is_empty());
        let ended = worker.list().unwrap_err().to_string();
        assert!(ended.contains("the program ended") && ended.contains('3'), "{ended}");
        worker.patience = Duration::from_millis(300);
        let late = worker.open("never").unwrap_err().to_string();
        assert!(late.starts_with("no answer to \"open\\tnever\" within"), "{late}");
        worker.patience = PATIENCE;
        assert!(worker.list().unwrap().is_empty());
        worker.stop();
        assert!(worker.list().unwrap().is_empty(), "a new one, since the second request ends it");
    }
}
