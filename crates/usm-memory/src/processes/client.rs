//! The question to another process: which memory its handle stands for.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use usm_core::fork::PerProcess;

use super::SharedBuffer;
use super::message::{Answer, PATIENCE};
use super::reference::Reference;
use super::server::{address, is_of_this_user, lock};
use crate::{Error, Result};

/// So often the question is asked again.
const RETRIES: u32 = 3;

/// Most connections that wait for their next question.
const MOST_KEPT: usize = 16;

/// Connections to the processes of references, for the next question to each. A child makes its own.
static KEPT: PerProcess<Mutex<Vec<(Reference, UnixStream)>>> = PerProcess::new(Mutex::new(Vec::new()));

/// Asks the process of a handle for its memory, and opens it before that process may let it go.
pub(super) fn ask<T>(reference: &Reference, open: impl FnOnce(&SharedBuffer) -> Result<T>) -> Result<T> {
    let stale = |reason: String| Error::StaleHandle { process: reference.process, reason };
    let mut asked = request(reference);
    for _ in 0..RETRIES {
        // It ended between the question and the answer, and another process may answer for it. Or it closed a connection that was kept.
        if !asked.as_ref().is_err_and(|error| is_end(error.kind())) {
            break;
        }
        lock(KEPT.get()).retain(|(known, _)| !known.is_of_process(reference));
        asked = request(reference);
    }
    let (stream, answer) = asked.map_err(|error| {
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
            let opened = open(&shared)?;
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

/// A connection to the process of a handle that was kept, or a new one.
fn connection(reference: &Reference) -> io::Result<UnixStream> {
    let mut kept = lock(KEPT.get());
    let known = kept.iter().rposition(|(known, _)| known.is_of_process(reference));
    if let Some(known) = known.map(|known| kept.remove(known)) {
        return Ok(known.1);
    }
    drop(kept);
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
    rustix::net::connect(&stream, &address)?;
    Ok(stream)
}

fn request(reference: &Reference) -> io::Result<(UnixStream, Answer)> {
    let stream = connection(reference)?;
    (&stream).write_all(&reference.token)?;
    wait(&stream)?;
    let answer = Answer::receive(&stream)?;
    Ok((stream, answer))
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
