//! Running child processes: in silence or openly, never for ever.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use xshell::Cmd;

use crate::failure::{Failure, Outcome};
use crate::report::say;

/// The longest run of a command. Each test has a shorter limit of its own; this one is for what hangs outside of a test.
const LIMIT: Duration = Duration::from_secs(60 * 60);
/// The longest run of a campaign of `cargo xtask verify`.
const CAMPAIGN_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// The time between two signs of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(60);
/// The time between two looks at a command: short at first, so that a short command is not kept.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Runs a command and shows its output only when it fails.
pub(crate) fn quietly(command: Cmd<'_>) -> Outcome<String> {
    let line = command.to_string();
    let output = command.quiet().ignore_status().output()?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("this command failed ({}):\n$ {line}\n{stdout}{stderr}", output.status)))
}

/// Runs a command whose output is worth seeing while it runs. After an hour the command is ended, which is a failure.
pub(crate) fn openly(command: Cmd<'_>) -> Outcome<()> {
    run(command, LIMIT)
}

/// As [`openly`], for a campaign: a day.
pub(crate) fn openly_for_long(command: Cmd<'_>) -> Outcome<()> {
    run(command, CAMPAIGN_LIMIT)
}

fn run(command: Cmd<'_>, limit: Duration) -> Outcome<()> {
    let line = command.to_string();
    let mut child = Command::from(command)
        .spawn()
        .map_err(|error| Failure::new(format!("cannot start `{line}`: {error}")))?;
    let (start, mut pause, mut next_sign) = (Instant::now(), SHORTEST_PAUSE, SIGN_OF_LIFE);
    loop {
        let status =
            child.try_wait().map_err(|error| Failure::new(format!("cannot wait for `{line}`: {error}")))?;
        match status {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(Failure::new(format!("this command failed ({status}):\n$ {line}"))),
            None => {}
        }
        let took = start.elapsed();
        if took > limit {
            kill(&descendants(child.id()));
            let _ = child.wait();
            return Err(Failure::new(format!(
                "this command was ended after {} min:\n$ {line}",
                limit.as_secs() / 60
            )));
        }
        if took > next_sign {
            say(&format!("    … {} min", took.as_secs() / 60));
            next_sign += SIGN_OF_LIFE;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
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

fn kill(processes: &[u32]) {
    let numbers = processes.iter().map(u32::to_string);
    // What is gone already is an error that nobody needs.
    let _ = Command::new("kill").arg("-KILL").args(numbers).output();
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
        let command = shell.cmd("sh").args(["-c", &format!("{marked} & {marked}; wait")]);
        let failure = run(command, Duration::from_millis(300)).unwrap_err().to_string();
        assert!(failure.contains("was ended after 0 min") && failure.contains(marked), "{failure}");
        let left = Command::new("pgrep").args(["-f", &format!("^{marked}")]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&left.stdout), "");
    }

    #[test]
    fn the_failure_names_the_command_and_its_status() {
        let shell = Shell::new().unwrap();
        let failure = run(shell.cmd("sh").args(["-c", "exit 7"]), LIMIT).unwrap_err().to_string();
        assert!(failure.contains("exit status: 7") && failure.contains("exit 7"), "{failure}");
        run(shell.cmd("true"), LIMIT).unwrap();
    }
}
