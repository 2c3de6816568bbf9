//! Memory of several processes where the system refuses: each call that needs a file descriptor, or address space, fails once. Each time
//! there is an error that says what failed, and nothing is lost.
//! One test alone in its process, which has limits of its own.
#![cfg(not(windows))] // memory is not shared there
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::{env, process, slice};

use usm_core::testing::{campaign, host_queue};
use usm_core::{Context, Queue, QueueProperties, UsmKind};
use usm_memory::processes::{self, Handle};
use usm_memory::resource::DirectResource;
use usm_memory::{Result, UsmBuffer};

/// In a process that offers memory to another one.
const ROLE: &str = "USM_TEST_PROCESS_LIMITS";
const LEN: usize = 1 << 16;

fn allocate(queue: &Queue, len_bytes: usize) -> Result<UsmBuffer> {
    let buffer = UsmBuffer::allocate_in(&DirectResource, queue, UsmKind::Shared, len_bytes)?;
    buffer.fill(&[7])?;
    Ok(buffer)
}

/// A queue of another context, whose memory is another process's for this one.
fn elsewhere(queue: &Queue) -> Queue {
    let context = Context::new(slice::from_ref(queue.device())).unwrap();
    context.create_queue(queue.device(), QueueProperties::default()).unwrap()
}

fn num_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Sets the limit of a resource of this process; `None` is the largest one.
fn limit(resource: libc::__rlimit_resource_t, value: Option<usize>) {
    let mut found = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a value for the limits.
    assert_eq!(unsafe { libc::getrlimit(resource, &raw mut found) }, 0);
    found.rlim_cur = value.map_or(found.rlim_max, |value| (value as u64).min(found.rlim_max));
    // SAFETY: a value with the limits.
    assert_eq!(unsafe { libc::setrlimit(resource, &raw const found) }, 0);
}

/// Leaves so many file descriptors while it runs something.
fn with_files<T>(free: usize, job: impl FnOnce() -> T) -> T {
    limit(libc::RLIMIT_NOFILE, Some(256));
    let mut taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    taken.truncate(taken.len() - free);
    let result = job();
    drop(taken);
    limit(libc::RLIMIT_NOFILE, None);
    result
}

/// Leaves so many bytes of address space while it runs something.
fn with_bytes<T>(free: usize, job: impl FnOnce() -> T) -> T {
    let used = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = used.split(' ').next().unwrap().parse().unwrap();
    limit(libc::RLIMIT_AS, Some(pages * 4096 + free));
    let result = job();
    limit(libc::RLIMIT_AS, None);
    result
}

/// A process that offers memory, and the bytes of its handle.
fn other_process() -> (Child, Vec<u8>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["each_refusal_of_the_system_is_an_error", "--exact", "--nocapture"])
        .env(ROLE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let line = lines.find_map(|line| line.strip_prefix("handle ").map(str::to_owned)).unwrap();
    let bytes = line
        .as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap());
    (child, bytes.collect())
}

fn offer_memory() {
    let handle = Handle::new(&allocate(&host_queue(), LEN).unwrap()).unwrap();
    let digits: String = handle.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("\nhandle {digits}");
    std::io::stdout().flush().unwrap();
    // Until the other process closes it.
    std::io::stdin().read_line(&mut String::new()).unwrap();
    // Nobody reads what the test program would print.
    process::exit(0);
}

type Run<'a> = &'a dyn Fn() -> Result<()>;

/// What is tried with fewer and fewer refusals.
struct Scenario<'a> {
    name: &'static str,
    run: Run<'a>,
}

/// Runs a scenario with 0, 1, 2, … of what is limited, until it passes twice in a row. Returns how often it failed.
fn sweep(scenario: &Scenario<'_>, step: usize, with: impl Fn(usize, Run<'_>) -> Result<()>) -> usize {
    let Scenario { name, run } = *scenario;
    let (mut failures, mut passed) = (0, 0);
    for free in (0..).map(|count| count * step) {
        assert!(free < 64 * step, "{name} never passes");
        let before = (num_files(), processes::opened(), processes::pending_handles());
        let is_first = before.2 == 0;
        match with(free, run) {
            Ok(()) => passed += 1,
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("failed") || text.contains("memory"), "{name}, {free} left: {text}");
                (failures, passed) = (failures + 1, 0);
            }
        }
        let after = (num_files(), processes::opened(), processes::pending_handles());
        // The server, and connections for the next question, stay.
        assert!(
            is_first || passed > 0 || after == before,
            "{name}, {free} left: {before:?} became {after:?}"
        );
        run().unwrap_or_else(|error| panic!("{name}, {free} left: {error} afterwards"));
        if passed == 2 {
            return failures;
        }
    }
    failures
}

#[test]
fn each_refusal_of_the_system_is_an_error() {
    if env::var_os(ROLE).is_some() {
        return offer_memory();
    }
    let queue = host_queue();
    let elsewhere = elsewhere(&queue);
    let (mut other, bytes) = other_process();
    let share = || allocate(&queue, LEN)?.share().map(drop);
    let offer = || Handle::new(&allocate(&queue, LEN)?).map(drop);
    let message = || {
        let bytes = processes::bytes_for_one(&allocate(&queue, LEN)?, true)?;
        processes::withdraw(&bytes).map(|is_kept| assert!(is_kept))
    };
    let open = || {
        let shared = allocate(&queue, LEN)?.share()?;
        let opened = UsmBuffer::open_shared(&elsewhere, &shared)?;
        assert_eq!(opened.to_vec()?, [7; LEN]);
        Ok(())
    };
    let ask = || {
        let opened = processes::open(&bytes, Some(&queue))?;
        assert_eq!(opened.to_vec()?, [7; LEN]);
        Ok(())
    };
    let scenarios = [
        Scenario { name: "share", run: &share },
        Scenario { name: "the first handle", run: &offer },
        Scenario { name: "a handle for one", run: &message },
        Scenario { name: "open", run: &open },
        Scenario { name: "ask another process", run: &ask },
    ];
    let mut points = 0;
    for scenario in &scenarios {
        let failures = sweep(scenario, 1, |free, run| with_files(free, run));
        assert!(failures > 0, "{}", scenario.name);
        points += failures;
    }
    // Longer than what the allocator of this process has left over.
    const LARGE: usize = 32 << 20;
    let share = || allocate(&queue, LARGE)?.share().map(drop);
    let open = || {
        let shared = allocate(&queue, LARGE)?.share()?;
        UsmBuffer::open_shared(&elsewhere, &shared).map(drop)
    };
    for (name, run) in [("share much", &share as Run<'_>), ("open much", &open)] {
        // A page of the heap is always there.
        let failures = sweep(&Scenario { name, run }, 8 << 20, |free, run| with_bytes(free + (8 << 20), run));
        assert!(failures > 0, "{name}");
        points += failures;
    }
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    let figure =
        format!("{} scenarios of memory of processes, {points} refusals of the system", scenarios.len() + 2);
    eprintln!("{figure}");
    campaign::figure(&figure).unwrap();
}
