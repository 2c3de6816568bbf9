//! The question to another process: which memory its handle stands for.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use usm_core::fork::PerProcess;

use super::message::{Answer, PATIENCE, poll_soon};
use super::server::{address, is_of_this_user};
use crate::processes::reference::Reference;
use crate::processes::{SharedBuffer, lock};
use crate::tracker::waits;
use crate::{Error, Result};

/// So often the question is asked again.
const RETRIES: u32 = 3;

/// An answer that takes longer than this is waited for in a way that the user may break off.
const SOON: Duration = Duration::from_millis(5);

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
        let asks_again = |(error, was_kept): &(Unanswered, bool)| match error {
            Unanswered::Io(error) => {
                is_end(error.kind()) || *was_kept && error.kind() == io::ErrorKind::TimedOut
            }
            Unanswered::Here(_) => false,
        };
        if !asked.as_ref().is_err_and(asks_again) {
            break;
        }
        lock(KEPT.get()).retain(|(known, _)| !is_of_process(known, reference));
        asked = request(reference);
    }
    let (stream, answer) = asked.map_err(|(error, _)| match error {
        Unanswered::Here(error) => error,
        Unanswered::Io(error) => stale(match error.kind() {
            io::ErrorKind::ConnectionRefused => "it has ended, or is in another network namespace".to_owned(),
            kind if is_end(kind) => "it ended meanwhile".to_owned(),
            _ => error.to_string(),
        }),
    })?;
    match answer {
        Err(reason) => {
            keep(reference, stream);
            Err(stale(reason))
        }
        Ok(shared) => {
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

/// Memory, or why it is refused.
type Answered = std::result::Result<SharedBuffer, String>;

/// Why there is no answer.
enum Unanswered {
    /// The other process, or the connection to it.
    Io(io::Error),
    /// The user broke off the wait.
    Here(Error),
}

impl From<io::Error> for Unanswered {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Error> for Unanswered {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

/// The answer, and its connection; or why there is none, and whether the connection was kept from before.
fn request(reference: &Reference) -> std::result::Result<(UnixStream, Answered), (Unanswered, bool)> {
    let kept = kept(reference);
    let was_kept = kept.is_some();
    let ask = || {
        let stream = kept.map_or_else(|| new_connection(reference), Ok)?;
        (&stream).write_all(&reference.token)?;
        // Children that were forked may have the socket, too, and the other process would go on to answer it.
        let answer = answer(&stream).inspect_err(|_| _ = stream.shutdown(Shutdown::Both))?;
        Ok((stream, answer))
    };
    ask().map_err(|error| (error, was_kept))
}

/// What the other process says in the end: it repeats that work is under way for as long as it is.
fn answer(stream: &UnixStream) -> std::result::Result<Answered, Unanswered> {
    loop {
        if !wait(stream)? {
            let reason = format!("it did not answer in {} seconds", PATIENCE.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason).into());
        }
        match Answer::receive(stream)? {
            Answer::Later => {}
            Answer::Memory(shared) => return Ok(Ok(shared)),
            Answer::Refused(reason) => return Ok(Err(reason)),
        }
    }
}

/// Waits for the first byte of an answer. False when it did not come in time.
fn wait(stream: &UnixStream) -> Result<bool> {
    let is_here = |longest: Duration| {
        // Of an error the next call says more.
        poll_soon(&mut [PollFd::new(stream, PollFlags::IN)], Some(longest), true)
            .unwrap_or_else(|error| error != Errno::INTR)
    };
    if is_here(SOON) {
        return Ok(true);
    }
    let started = Instant::now();
    waits::for_operation(&|longest| is_here(longest) || started.elapsed() >= PATIENCE)?;
    Ok(is_here(Duration::ZERO))
}
