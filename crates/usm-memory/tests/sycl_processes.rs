//! Device memory of a SYCL GPU in several processes, over the loopback library in the form of dpctl 0.23. Needs no SYCL.
//!
//! The program starts itself as the other processes, which obey lines of text.
#![cfg(all(feature = "sycl", not(windows)))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use sycl_loopback::{Control, Form, Loopback};
use usm_memory::UsmBuffer;
use usm_memory::processes::{self, Handle};
use usm_memory::usm_core::{Queue, Runtime, RuntimeOptions, UsmKind};

const TEST: &str = "several_processes";
/// Set in a process that obeys.
const OBEYS: &str = "USM_TEST_OBEYS";
const ROOT: &str = "USM_SYCL_ROOT";
/// What answers begin with, on a standard output that the test runner writes to, too.
const MARK: &str = "answer: ";
const LENGTHS: [usize; 3] = [100, 50_000, 3 << 20];

fn queue() -> Queue {
    let runtime = Runtime::global();
    runtime.default_queue(&runtime.select("opencl:gpu").unwrap()).unwrap()
}

fn to_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_text(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// Buffers by name.
#[derive(Default)]
struct Memory(BTreeMap<String, (UsmBuffer, Option<Handle>)>);

impl Memory {
    fn obey(&mut self, line: &str) -> String {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["make", name, len, value] => {
                let buffer = UsmBuffer::allocate(&queue(), UsmKind::Device, len.parse().unwrap()).unwrap();
                buffer.fill(&[value.parse().unwrap()]).unwrap();
                self.0.insert(name.to_owned(), (buffer, None));
                "made".to_owned()
            }
            ["share", name] => {
                let known = self.0.get_mut(name).unwrap();
                let handle = Handle::new(&known.0).unwrap();
                let bytes = handle.bytes();
                known.1 = Some(handle);
                to_text(&bytes)
            }
            ["share_and_end", name] => match processes::bytes_for_one(&self.0[name].0, true) {
                Ok(_) => "shared".to_owned(),
                Err(error) => error.to_string(),
            },
            ["share_once", name] => to_text(&processes::bytes_for_one(&self.0[name].0, false).unwrap()),
            ["open", name, bytes] => match processes::open(&from_text(bytes), None) {
                Ok(buffer) => {
                    self.0.insert(name.to_owned(), (buffer, None));
                    "open".to_owned()
                }
                Err(error) => error.to_string(),
            },
            ["fill", name, value] => {
                self.0[name].0.fill(&[value.parse().unwrap()]).unwrap();
                "filled".to_owned()
            }
            ["read", name] => {
                let buffer = &self.0[name].0;
                let mut bytes = vec![0; buffer.len_bytes()];
                buffer.copy_to_host(&mut bytes, 0).unwrap();
                let is_one_value = bytes.iter().all(|byte| *byte == bytes[0]);
                format!(
                    "{} of {}",
                    if is_one_value { bytes[0].to_string() } else { "mixed".to_owned() },
                    bytes.len()
                )
            }
            ["address", name] => self.0[name].0.address().to_string(),
            ["drop", name] => {
                self.0.remove(name).unwrap();
                "dropped".to_owned()
            }
            ["held"] => processes::held_for_others().to_string(),
            ["opened"] => processes::opened().to_string(),
            ["faults"] => {
                let library = PathBuf::from(env::var_os(ROOT).unwrap()).join("libDPCTLSyclInterface.so");
                Control::open(&library).unwrap().faults().to_string()
            }
            _ => panic!("unknown: {line}"),
        }
    }
}

/// Another process.
struct Other {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Other {
    fn new(root: &Path) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args([TEST, "--exact", "--nocapture", "--test-threads=1"])
            .envs([(OBEYS, "1"), ("USM_CUDA", "0")])
            .env(ROOT, root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (questions, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, questions, answers: BufReader::new(answers) }
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.questions, "{line}").unwrap();
        let mut answer = String::new();
        loop {
            answer.clear();
            assert!(self.answers.read_line(&mut answer).unwrap() > 0, "it ended at: {line}");
            // The test runner begins a line, too.
            if let Some((_, answer)) = answer.trim_end().split_once(MARK) {
                return answer.to_owned();
            }
        }
    }

    /// Ends it as `kill -9` does.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Lets it end by itself.
    fn end(mut self) {
        assert_eq!(self.ask("faults"), "0");
        drop(self.questions);
        // Its own output is nobody's.
        for line in self.answers.lines() {
            line.unwrap();
        }
        assert!(self.child.wait().unwrap().success());
    }
}

fn obey() {
    let mut memory = Memory::default();
    for line in std::io::stdin().lines() {
        println!("{MARK}{}", memory.obey(&line.unwrap()));
    }
}

/// Waits for what a server does: it keeps memory until it has heard that the other process has opened it, or has gone.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what} after a minute");
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn several_processes() {
    if env::var_os(OBEYS).is_some() {
        return obey();
    }
    let loopback = Loopback::in_form(Form::Dpctl023).unwrap();
    let root = loopback.path().parent().unwrap();
    Runtime::init_global(|| RuntimeOptions::new().without_cuda().root(root));
    let mut here = Memory::default();
    for test in [
        memory_stays_while_others_have_it_open,
        a_killed_reader_holds_nothing,
        memory_outlives_a_killed_maker_where_it_is_open,
        memory_goes_on_to_a_third_process,
        memory_goes_with_its_process_before_anybody_has_opened_it,
    ] {
        test(root, &mut here);
        assert_eq!(here.0.len(), 0);
        until("something is kept", || (processes::held_for_others(), processes::opened()) == (0, 0));
        assert_eq!(loopback.faults(), 0);
    }
}

fn memory_stays_while_others_have_it_open(root: &Path, here: &mut Memory) {
    let mut maker = Other::new(root);
    for len in LENGTHS {
        maker.ask(&format!("make a {len} 1"));
        let address = maker.ask("address a");
        let handle = maker.ask("share a");
        assert_eq!(here.obey(&format!("open a {handle}")), "open");
        assert_eq!(here.obey("read a"), format!("1 of {len}"));
        here.obey("fill a 2");
        assert_eq!(maker.ask("read a"), format!("2 of {len}"));
        assert_eq!(here.obey(&format!("open b {handle}")), "open");
        assert_eq!((here.obey("opened"), here.obey("address a")), ("1".to_owned(), here.obey("address b")));
        here.obey("drop b");

        maker.ask("drop a");
        assert!(here.obey(&format!("open b {handle}")).contains("not on offer any more"));
        let names: Vec<_> = (0..10).map(|number| format!("x{number}")).collect();
        for name in &names {
            maker.ask(&format!("make {name} {len} 9"));
            assert_ne!(maker.ask(&format!("address {name}")), address);
        }
        assert_eq!(here.obey("read a"), format!("2 of {len}"));
        until("the memory does not wait", || maker.ask("held") == "1");
        here.obey("drop a");
        assert_eq!(maker.ask("held"), "0");
        // The range is used again.
        let mut others: Vec<_> = (0..2000).map(|number| format!("y{number}")).collect();
        let is_there = |name: &String| {
            maker.ask(&format!("make {name} {len} 9"));
            maker.ask(&format!("address {name}")) == address
        };
        let count = others.iter().position(is_there).expect("the address is used again") + 1;
        others.truncate(count);
        names.iter().chain(&others).for_each(|name| _ = maker.ask(&format!("drop {name}")));
    }
    maker.end();
}

fn a_killed_reader_holds_nothing(root: &Path, here: &mut Memory) {
    for len in LENGTHS {
        let mut reader = Other::new(root);
        here.obey(&format!("make a {len} 3"));
        let handle = here.obey("share a");
        assert_eq!(reader.ask(&format!("open a {handle}")), "open");
        here.obey("drop a");
        assert_eq!(reader.ask("read a"), format!("3 of {len}"));
        until("the memory does not wait", || here.obey("held") == "1");
        reader.kill();
        assert_eq!(here.obey("held"), "0");
    }
}

fn memory_outlives_a_killed_maker_where_it_is_open(root: &Path, here: &mut Memory) {
    for len in LENGTHS {
        let mut maker = Other::new(root);
        maker.ask(&format!("make a {len} 4"));
        let handle = maker.ask("share a");
        assert_eq!(here.obey(&format!("open a {handle}")), "open");
        maker.kill();
        assert_eq!(here.obey("read a"), format!("4 of {len}"));
        here.obey("fill a 5");
        assert_eq!(here.obey("read a"), format!("5 of {len}"));
        assert!(here.obey(&format!("open b {handle}")).contains("the process must keep the handle"));
        // Nobody else gets it any more.
        let again = here.obey("share a");
        let mut reader = Other::new(root);
        let refused = reader.ask(&format!("open a {again}"));
        assert!(refused.contains("the process that shares the memory has ended"), "{refused}");
        reader.end();
        here.obey("drop a");
    }
}

fn memory_goes_on_to_a_third_process(root: &Path, here: &mut Memory) {
    for len in LENGTHS {
        let [mut maker, mut reader] = [(); 2].map(|()| Other::new(root));
        maker.ask(&format!("make a {len} 6"));
        let handle = maker.ask("share a");
        assert_eq!(here.obey(&format!("open a {handle}")), "open");
        let handle = here.obey("share a");
        assert_eq!(reader.ask(&format!("open a {handle}")), "open");
        here.obey("drop a");
        maker.ask("drop a");
        assert_eq!(reader.ask("read a"), format!("6 of {len}"));
        until("the memory does not wait", || maker.ask("held") == "1");
        reader.kill();
        assert_eq!(maker.ask("held"), "0");
        maker.end();
    }
}

fn memory_goes_with_its_process_before_anybody_has_opened_it(root: &Path, here: &mut Memory) {
    let mut maker = Other::new(root);
    maker.ask("make a 50000 7");
    assert!(maker.ask("share_and_end a").contains("it goes with this process"));
    let [first, second] = [(); 2].map(|()| maker.ask("share_once a"));
    assert_eq!(here.obey(&format!("open a {first}")), "open");
    maker.end();
    assert_eq!(here.obey("read a"), "7 of 50000");
    assert!(here.obey(&format!("open b {second}")).contains("the process must keep the handle"));
    here.obey("drop a");
}
