//! The question to another process: which memory its handle stands for.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use usm_core::fork::PerProcess;

use super::message::{Answer, PATIENCE};
use super::server::{address, is_of_this_user};
use crate::processes::reference::Reference;
use crate::processes::{SharedBuffer, lock};
use crate::{Error, Result};

/// So often the question is asked again.
const RETRIES: u32 = 3;

/// Most connections that wait for their next question.
const MOST_KEPT: usize = 16;

/// Connections to the processes of references, for the next question to each. A child makes its own.
static KEPT: PerProcess<Mutex<Vec<(Reference, UnixStream)>>> = PerProcess::new(Mutex::new(Vec::new()));

/// Asks the process of a handle for its memory, and opens it before that process may let it go.
pub(in crate::processes) fn ask<T>(
    reference: &Reference,
    open: impl FnOnce(&SharedBuffer) -> Result<T>,
) -> Result<T> {
    let stale = |reason: String| Error::StaleHandle { process: reference.process, reason };
    let mut asked = request(reference);
    for _ in 0..RETRIES {
        // It ended between the question and the answer, and another process may answer for it. Or it closed a connection that was kept.
        if !asked.as_ref().is_err_and(|(error, was_kept)| {
            is_end(error.kind()) || *was_kept && error.kind() == io::ErrorKind::TimedOut
        }) {
            break;
        }
        lock(KEPT.get()).retain(|(known, _)| !is_of_process(known, reference));
        asked = request(reference);
    }
    let (stream, answer) = asked.map_err(|(error, _)| {
        stale(match error.kind() {
            io::ErrorKind::ConnectionRefused => "it has ended, or is in another network namespace".to_owned(),
            kind if is_end(kind) => "it ended meanwhile".to_owned(),
            _ => error.to_string(),
        })
    })?;
    match answer {
        Answer::Refused(reason) => {
            keep(reference, stream);
            Err(stale(reason))
        }
        Answer::Memory(shared) => {
            // Children that were forked may have the socket, too, and the other process waits for a word or the end.
            let opened = open(&shared).inspect_err(|_| _ = stream.shutdown(Shutdown::Both))?;
            // One that is gone needs no word.
            if (&stream).write_all(&[1]).is_ok() {
                keep(reference, stream);
            }
            Ok(opened)
        }
    }
}

fn keep(reference: &Reference, stream: UnixStream) {
    let mut kept = lock(KEPT.get());
    let oldest = (kept.len() == MOST_KEPT).then(|| kept.remove(0));
    kept.push((*reference, stream));
    drop(kept);
    drop(oldest);
}

/// A connection to the process of a handle that was kept.
fn kept(reference: &Reference) -> Option<UnixStream> {
    let mut kept = lock(KEPT.get());
    let known = kept.iter().rposition(|(known, _)| is_of_process(known, reference))?;
    Some(kept.remove(known).1)
}

/// Whether one process answers for both.
fn is_of_process(first: &Reference, other: &Reference) -> bool {
    (first.process, first.nonce) == (other.process, other.nonce)
}

fn new_connection(reference: &Reference) -> io::Result<UnixStream> {
    let stream = connect(&address(reference.process, reference.nonce))?;
    if !is_of_this_user(&stream)? {
        return Err(io::Error::other("a process of another user answers in its place"));
    }
    Ok(stream)
}

fn is_end(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(kind, UnexpectedEof | ConnectionReset | BrokenPipe)
}

/// A connection, for which a process that has stopped is not waited for ever.
fn connect(name: &str) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
    let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let stream = UnixStream::from(stream);
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    rustix::io::retry_on_intr(|| rustix::net::connect(&stream, &address))?;
    Ok(stream)
}

/// The answer, and its connection; or the error, and whether the connection was kept from before.
fn request(reference: &Reference) -> Result<(UnixStream, Answer), (io::Error, bool)> {
    let kept = kept(reference);
    let was_kept = kept.is_some();
    let ask = || {
        let stream = kept.map_or_else(|| new_connection(reference), Ok)?;
        (&stream).write_all(&reference.token)?;
        wait(&stream)?;
        let answer = Answer::receive(&stream)?;
        Ok((stream, answer))
    };
    ask().map_err(|error| (error, was_kept))
}

/// Waits for the first byte of the answer.
fn wait(stream: &UnixStream) -> io::Result<()> {
    let started = Instant::now();
    while let Some(left) = PATIENCE.checked_sub(started.elapsed()) {
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&left)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    let reason = format!("it did not answer in {} seconds", PATIENCE.as_secs());
    Err(io::Error::new(io::ErrorKind::TimedOut, reason))
}
