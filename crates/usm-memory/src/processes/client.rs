//! The question to another process: which memory its handle stands for.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use super::SharedBuffer;
use super::message::{Answer, PATIENCE};
use super::reference::Reference;
use super::server::{address, is_of_this_user};
use crate::{Error, Result};

/// So often the question is asked again.
const RETRIES: u32 = 3;

/// The pause between two looks at the clock.
const LOOK: Duration = Duration::from_millis(100);

/// Asks the process of a handle for its memory, and opens it before that process may let it go.
pub(super) fn ask<T>(reference: &Reference, open: impl FnOnce(&SharedBuffer) -> Result<T>) -> Result<T> {
    let stale = |reason: String| Error::StaleHandle { process: reference.process, reason };
    let mut asked = request(reference);
    for _ in 0..RETRIES {
        // It ended between the question and the answer, and another process may answer for it.
        if !asked.as_ref().is_err_and(|error| is_end(error.kind())) {
            break;
        }
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
        Answer::Refused(reason) => Err(stale(reason)),
        Answer::Memory(shared) => {
            let opened = open(&shared)?;
            // One that is gone needs no word.
            let _ = (&stream).write_all(&[1]);
            Ok(opened)
        }
    }
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
    rustix::net::connect(&stream, &address)?;
    Ok(stream)
}

fn request(reference: &Reference) -> io::Result<(UnixStream, Answer)> {
    let stream = connect(&address(reference.process, reference.nonce))?;
    if !is_of_this_user(&stream)? {
        return Err(io::Error::other("a process of another user answers in its place"));
    }
    stream.set_read_timeout(Some(LOOK))?;
    (&stream).write_all(&reference.token)?;
    wait(&stream)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let answer = Answer::receive(&stream)?;
    Ok((stream, answer))
}

/// Waits for the first byte of the answer.
fn wait(stream: &UnixStream) -> io::Result<()> {
    let started = Instant::now();
    loop {
        let mut first = [0];
        match rustix::net::recv(stream, &mut first, rustix::net::RecvFlags::PEEK) {
            Ok(received) if received.1 > 0 => return Ok(()),
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error == rustix::io::Errno::INTR => {}
            Err(error) if error == rustix::io::Errno::AGAIN => {
                if started.elapsed() > PATIENCE {
                    let reason = format!("it did not answer in {} seconds", PATIENCE.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}
