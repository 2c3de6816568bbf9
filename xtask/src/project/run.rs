//! Running child processes: in silence or openly, never for ever.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use xshell::Cmd;

use crate::report::say;

/// The longest run of a command. Each test has a shorter limit of its own; this one is for what hangs outside of a test.
const LIMIT: Duration = Duration::from_secs(60 * 60);
/// The longest run of a campaign of `cargo xtask verify`.
const CAMPAIGN_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// The time between two signs of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(60);

/// Runs a command and shows its output only when it fails. After an hour the command is ended, which is a failure.
pub(crate) fn quietly(command: Cmd<'_>) -> Result<String> {
    let line = command.to_string();
    let mut command = Command::from(command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command, &line, LIMIT).map(|[printed, _]| printed)
}

/// Runs a command whose output is worth seeing while it runs. After an hour the command is ended, which is a failure.
pub(crate) fn openly(command: Cmd<'_>) -> Result<()> {
    let line = command.to_string();
    finish(command.into(), &line, LIMIT).map(drop)
}

/// As [`openly`], for a campaign: a day.
pub(crate) fn openly_for_long(command: Cmd<'_>) -> Result<()> {
    let line = command.to_string();
    finish(command.into(), &line, CAMPAIGN_LIMIT).map(drop)
}

/// Waits for a command, with a sign of life each minute, and ends it at the limit. Returns the output and the errors where
/// these are pipes.
fn finish(mut command: Command, line: &str, limit: Duration) -> Result<[String; 2]> {
    let cannot_run = || format!("cannot run `{line}`");
    // Nothing asks, also not where this runs in the background of a shell.
    let child = command.stdin(Stdio::null()).spawn().with_context(cannot_run)?;
    let (process, start) = (child.id(), Instant::now());
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    let Output { status, stdout, stderr } = loop {
        let left = limit.saturating_sub(start.elapsed());
        match receiver.recv_timeout(left.min(SIGN_OF_LIFE)) {
            Ok(output) => break output.with_context(cannot_run)?,
            Err(RecvTimeoutError::Timeout) if start.elapsed() < limit => {
                say(&format!("    … {} min", start.elapsed().as_secs() / 60));
            }
            Err(_) => {
                let processes = descendants(process).into_iter().map(|process| process.to_string());
                // What is gone already is an error that nobody needs.
                let _ = Command::new("kill").arg("-KILL").args(processes).output();
                // What it printed last tells where it hung.
                let output = receiver.recv_timeout(SIGN_OF_LIFE).ok().and_then(Result::ok);
                let printed = output.map(|output| text([output.stdout, output.stderr]).concat());
                let printed = printed.unwrap_or_default();
                bail!("this command was ended after {} min:\n$ {line}\n{printed}", limit.as_secs() / 60);
            }
        }
    };
    let [stdout, stderr] = text([stdout, stderr]);
    ensure!(status.success(), "this command failed ({status}):\n$ {line}\n{stdout}{stderr}");
    Ok([stdout, stderr])
}

fn text(streams: [Vec<u8>; 2]) -> [String; 2] {
    streams.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A process and all that it has started, as far as their parents still run.
fn descendants(process: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name of the program, in parentheses, may contain anything.
        let parent =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        parents.extend(number.zip(parent));
    }
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(child, _)| child));
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use xshell::Shell;

    use super::*;

    #[test]
    fn a_command_that_hangs_is_ended_with_its_children() {
        let shell = Shell::new().unwrap();
        let marked = "sleep 4242.42";
        let script = format!("echo begun; {marked} & {marked}; wait");
        let command = || shell.cmd("sh").args(["-c", &script]);
        let mut silent = Command::from(command());
        silent.stdout(Stdio::piped());
        for (command, printed) in [(Command::from(command()), ""), (silent, "begun")] {
            let failure = finish(command, marked, Duration::from_millis(300)).unwrap_err().to_string();
            assert!(failure.starts_with("this command was ended after 0 min"), "{failure}");
            assert!(failure.contains(marked) && failure.trim_end().ends_with(printed), "{failure}");
            let left = Command::new("pgrep").args(["-f", &format!("^{marked}")]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&left.stdout), "");
        }
    }

    #[test]
    fn the_failure_names_the_command_and_its_status() {
        let shell = Shell::new().unwrap();
        let fails = || shell.cmd("sh").args(["-c", "echo why; exit 7"]);
        let failure = openly(fails().ignore_stdout()).unwrap_err().to_string();
        assert!(failure.contains("exit status: 7") && failure.contains("exit 7"), "{failure}");
        let failure = quietly(fails()).unwrap_err().to_string();
        assert!(failure.contains("exit status: 7") && failure.ends_with("why\n"), "{failure}");
        assert_eq!(quietly(shell.cmd("echo").arg("said")).unwrap(), "said\n");
    }
}
