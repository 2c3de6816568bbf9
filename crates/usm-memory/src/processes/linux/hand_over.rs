//! A process that ends leaves the memory to another one that nobody has opened yet: a worker puts an array into a queue and ends, before
//! others read the queue.

// Invariant KP1: a descriptor of a hand-over belongs to the process that inherited it, under its number.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::message::{Answer, Reader, Writer};
use super::server::{Offer, Server, known, refused};
use crate::Result;
use crate::processes::lock;
use crate::processes::reference::{TOKEN_BYTES, Token};

/// The descriptors by which [`keep`] in another process goes on for this one when it ends. The other process inherits all of them under their
/// numbers. The first one is of the socket at which others ask, the second one of a file that says what the others are. `None`
/// where nothing is left: each handle that can be opened once has been. Memory without files is not among it. This process answers others
/// no more.
///
/// # Errors
/// [`Error::Server`](crate::Error::Server) when the process has no more file descriptors.
pub fn hand_over() -> Result<Option<Vec<OwnedFd>>> {
    let Some(server) = known() else { return Ok(None) };
    let refused = refused("hand_over");
    // While the thread still tells others that the work goes on.
    server.wait_for_work();
    // Nothing of what is left is opened while it is written down: the other process would keep it without end.
    server.leave().map_err(&refused)?;
    // What came meanwhile.
    server.wait_for_work();
    let mut state = Writer::default();
    let mut files = Vec::new();
    for (token, offer) in lock(&server.offers).iter() {
        if !offer.is_once || !offer.shared.memory.is_kept_by_files {
            continue;
        }
        // This process has memory of others open until it ends, and the other process does not open it.
        let mut shared = offer.shared.clone();
        shared.memory.hold()?;
        let answer = Answer::Memory(shared);
        let (body, of_offer) = answer.to_parts();
        state.bytes(token);
        state.bytes(&body);
        state.number(of_offer.len());
        for file in of_offer {
            let file = file.try_clone().map_err(&refused)?;
            state.number(file.as_raw_fd() as usize);
            files.push(file);
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    let listener = server.listener.as_fd().try_clone_to_owned().map_err(&refused)?;
    let memory = rustix::fs::memfd_create(c"usm", rustix::fs::MemfdFlags::CLOEXEC);
    let mut file = File::from(memory.map_err(|error| refused(error.into()))?);
    file.write_all(&state.0).and_then(|()| file.rewind()).map_err(&refused)?;
    files.splice(0..0, [listener, file.into()]);
    Ok(Some(files))
}

/// Answers for a process that has ended, with the first two descriptors of its [`hand_over`]: until others have opened all that is left of
/// it, or until the process `parent` has ended, too.
///
/// # Safety
/// 1. KP1 holds for `listener`, `state`, and all that `state` names.
///
/// # Errors
/// [`Error::Server`](crate::Error::Server) when they are others, or `parent` has ended.
pub unsafe fn keep(listener: RawFd, state: RawFd, parent: u32) -> Result<()> {
    let refused = refused("keep");
    // SAFETY: KP1 (1).
    let listener = UnixListener::from(unsafe { OwnedFd::from_raw_fd(listener) });
    // SAFETY: KP1 (1).
    let state = File::from(unsafe { OwnedFd::from_raw_fd(state) });
    // SAFETY: KP1 (1).
    let offers = unsafe { offers(state) }.map_err(&refused)?;
    let parent = i32::try_from(parent).ok().and_then(Pid::from_raw);
    let parent = parent.ok_or_else(|| refused(io::ErrorKind::InvalidInput.into()))?;
    let parent = pidfd_open(parent, PidfdFlags::empty()).map_err(|error| refused(error.into()))?;
    let server = Server::new(0, listener, offers)?;
    server.serve(Some(parent.as_fd()), || lock(&server.offers).is_empty());
    Ok(())
}

/// # Safety
/// 1. KP1 holds for what `state` names.
unsafe fn offers(mut state: File) -> io::Result<HashMap<Token, Offer>> {
    let mut bytes = Vec::new();
    state.read_to_end(&mut bytes)?;
    let (mut state, mut offers) = (Reader(&bytes), HashMap::new());
    while !state.0.is_empty() {
        let (token, body) = (state.bytes()?, state.bytes()?);
        let token = <[u8; TOKEN_BYTES]>::try_from(token).map_err(|_| io::ErrorKind::InvalidData)?;
        let mut files = Vec::new();
        for _ in 0..state.number()? {
            let file = RawFd::try_from(state.number()?).map_err(|_| io::ErrorKind::InvalidData)?;
            // SAFETY: KP1 (1).
            files.push(unsafe { OwnedFd::from_raw_fd(file) });
        }
        if let Answer::Memory(shared) = Answer::from_parts(&body, files)? {
            offers.insert(token, Offer { buffer: None, shared, is_once: true, after: None });
        }
    }
    Ok(offers)
}
