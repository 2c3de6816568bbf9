//! The thread of a process that answers others: which memory a handle stands for.
//!
//! It listens at an abstract address of a Unix socket, which is in no directory and goes with the process. It answers processes of the
//! same user alone, who name a token of 128 random bits.

// Invariant SV1: the system gets pointers to values that outlive its call.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};
use std::{mem, process, ptr};

use usm_core::fork::{self, ForkHooks, PerProcess};

use super::SharedBuffer;
use super::message::{Answer, PATIENCE, TOKEN_BYTES, Token};
use super::reference::Reference;
use crate::{Error, Result, UsmBuffer};

/// Memory that others may ask for.
#[derive(Debug)]
struct Offer {
    /// What keeps the memory; `None` where the files of `shared` do.
    buffer: Option<UsmBuffer>,
    shared: SharedBuffer,
    /// It goes when one process has opened it.
    is_once: bool,
}

/// What this process offers, and where it answers.
#[derive(Debug)]
struct Server {
    nonce: u64,
    listener: UnixListener,
    offers: Mutex<HashMap<Token, Offer>>,
}

/// A child has a server of its own: the parent goes on to answer for its own.
static SERVER: PerProcess<Mutex<Option<Arc<Server>>>> = PerProcess::new(Mutex::new(None));

/// Memory on offer: who drops it holds no lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn known() -> Option<Arc<Server>> {
    lock(SERVER.get()).clone()
}

/// Random bytes.
fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    // SAFETY: SV1: the kernel writes up to so many bytes. It gives up to 256 at once.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), N, 0) };
    match usize::try_from(got) {
        Ok(got) if got == N => Ok(bytes),
        _ => Err(Error::Server { call: "getrandom", text: io::Error::last_os_error().to_string() }),
    }
}

/// The address of a process.
pub(super) fn address(process: u32, nonce: u64) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("usm-ipc-{process}-{nonce:016x}"))
}

/// The user whose processes are answered: that of this process.
pub(super) fn user() -> u32 {
    // SAFETY: SV1: it has no argument.
    unsafe { libc::geteuid() }
}

/// The user of the process at the other end.
pub(super) fn user_of(stream: &UnixStream) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(stream)?.uid.as_raw())
}

/// Offers the memory of a buffer to other processes.
pub(super) fn offer(buffer: &UsmBuffer, is_once: bool) -> Result<Reference> {
    let shared = buffer.share()?;
    let token = random::<TOKEN_BYTES>()?;
    let server = server()?;
    lock(&server.offers).insert(token, Offer { buffer: Some(buffer.clone()), shared, is_once });
    Ok(Reference { process: process::id(), nonce: server.nonce, token })
}

/// The listening socket; -1 for none.
static LISTENER: AtomicI32 = AtomicI32::new(-1);

/// In a child: closes the socket of the parent, at which the child would keep others waiting that call a parent which has ended.
const HOOKS: ForkHooks = ForkHooks {
    before: || {},
    after: || {},
    in_child: || {
        let listener = LISTENER.swap(-1, Ordering::Relaxed);
        if listener >= 0 {
            // SAFETY: SV1: a number of the parent's, whose value the child leaks (`PerProcess`).
            unsafe { libc::close(listener) };
        }
    },
};

/// The pause between two looks at who is there.
const PAUSE: Duration = Duration::from_millis(10);

/// The server of this process, a new one where there is none.
fn server() -> Result<Arc<Server>> {
    let mut known = lock(SERVER.get());
    if let Some(server) = &*known {
        return Ok(Arc::clone(server));
    }
    let nonce = u64::from_le_bytes(random()?);
    let refused = |call| move |error: io::Error| Error::Server { call, text: error.to_string() };
    let address = address(process::id(), nonce).map_err(refused("bind"))?;
    let listener = UnixListener::bind_addr(&address).map_err(refused("bind"))?;
    LISTENER.store(listener.as_raw_fd(), Ordering::Relaxed);
    fork::set_hooks_of_sockets(HOOKS);
    let server = Arc::new(Server { nonce, listener, offers: Mutex::default() });
    let served = Arc::clone(&server);
    let start = || fork::spawn(Builder::new().name("usm-ipc".to_owned()), move || served.serve());
    without_signals(start).map_err(refused("thread"))?;
    *known = Some(Arc::clone(&server));
    Ok(server)
}

/// Runs a function that starts a thread, which gets none of the signals for the program.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: SV1: a set of bits, for which zeros are a value.
    let mut all: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: SV1: writes to the set.
    unsafe { libc::sigfillset(&raw mut all) };
    let mut before = all;
    // SAFETY: SV1: reads one set, and writes to the other one.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) };
    let result = start();
    // SAFETY: SV1: reads the set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
    result
}

impl Server {
    fn serve(&self) {
        loop {
            self.serve_one();
        }
    }

    fn serve_one(&self) {
        match self.listener.accept() {
            Ok((stream, _)) => {
                // One that goes away, or says nothing in time, gets no answer.
                let _ = self.answer(&stream);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Nobody is there yet, or the process has too many files at the moment.
            Err(_) => thread::sleep(PAUSE),
        }
    }

    fn answer(&self, stream: &UnixStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE / 10))?;
        stream.set_write_timeout(Some(PATIENCE / 10))?;
        if user_of(stream)? != user() {
            return Answer::Refused("it is of another user".to_owned()).send(stream);
        }
        let mut token = Token::default();
        (&*stream).read_exact(&mut token)?;
        let found = lock(&self.offers).get(&token).map(|offer| (offer.shared.clone(), offer.is_once));
        let Some((shared, is_once)) = found else {
            return Answer::Refused("the memory is not on offer any more".to_owned()).send(stream);
        };
        let sent = Answer::Memory(shared).send(stream);
        // The other process has it open when it says so, or is gone when it says nothing. The memory stays until then.
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut done = [0];
        let confirmed = (&*stream).read(&mut done);
        if is_once && !matches!(&confirmed, Err(error) if is_late(error)) {
            // Dropped without the lock.
            let gone = lock(&self.offers).remove(&token);
            drop(gone);
        }
        sent
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// The buffer of a handle of this process; `None` for those of others.
pub(super) fn own(reference: &Reference) -> Option<Result<UsmBuffer>> {
    let server =
        known().filter(|server| reference.process == process::id() && reference.nonce == server.nonce)?;
    let mut offers = lock(&server.offers);
    let found = match offers.get(&reference.token) {
        Some(offer) if offer.is_once => offers.remove(&reference.token).and_then(|offer| offer.buffer),
        offer => offer.and_then(|offer| offer.buffer.clone()),
    };
    drop(offers);
    Some(found.ok_or_else(|| Error::StaleHandle {
        process: reference.process,
        reason: "the memory is not on offer any more".to_owned(),
    }))
}

/// Ends an offer.
pub(super) fn withdraw(reference: &Reference) {
    let Some(server) = known().filter(|server| server.nonce == reference.nonce) else { return };
    let gone = lock(&server.offers).remove(&reference.token);
    drop(gone);
}

pub(super) fn num_offers() -> usize {
    known().map_or(0, |server| lock(&server.offers).len())
}

/// Ends the offers that nobody keeps.
pub(super) fn withdraw_unkept() -> usize {
    let Some(server) = known() else { return 0 };
    let gone: Vec<_> = lock(&server.offers).extract_if(|_, offer| offer.is_once).collect();
    gone.len()
}

/// What a process that ends leaves to another one: the memory that nobody has opened yet, and the address at which others ask for it.
#[derive(Debug)]
pub struct Legacy {
    /// All descriptors that the other process inherits, under their numbers. The first one is of the socket, the second one of a file that
    /// says what the others are.
    pub files: Vec<OwnedFd>,
}

/// What [`keep`] in another process needs to go on for this one, when this one ends; `None` where no handle is left that can be opened
/// once. Memory without files is not among it.
///
/// # Errors
/// [`Error::Server`] when the process has no more file descriptors.
pub fn legacy() -> Result<Option<Legacy>> {
    let Some(server) = known() else { return Ok(None) };
    let refused = |error: io::Error| Error::Server { call: "dup", text: error.to_string() };
    let mut files = vec![server.listener.as_fd().try_clone_to_owned().map_err(refused)?];
    let state = rustix::fs::memfd_create(c"usm", rustix::fs::MemfdFlags::CLOEXEC);
    files.push(state.map_err(|error| refused(error.into()))?);
    let mut state = File::from(files[1].try_clone().map_err(refused)?);
    let mut has_some = false;
    for (token, offer) in lock(&server.offers).iter() {
        if !offer.is_once || offer.shared.memory.files.is_empty() || !offer.shared.memory.data.is_empty() {
            continue;
        }
        let answer = Answer::Memory(offer.shared.clone());
        let (body, of_offer) = answer.to_parts();
        let mut bytes = token.to_vec();
        for number in [body.len(), of_offer.len()] {
            bytes.extend((number as u64).to_le_bytes());
        }
        for file in of_offer {
            let file = file.try_clone().map_err(refused)?;
            bytes.extend((file.as_raw_fd() as u64).to_le_bytes());
            files.push(file);
        }
        bytes.extend(body);
        state.write_all(&bytes).map_err(refused)?;
        has_some = true;
    }
    state.rewind().map_err(refused)?;
    Ok(has_some.then_some(Legacy { files }))
}

/// Answers for a process that has ended: until others have opened all that is left of it, or the process `heir` has ended, too.
///
/// # Safety
/// 1. `listener` and `state` are descriptors that this process inherited of the [`legacy`], as all those that `state` names. Nothing else
///    uses them.
///
/// # Errors
/// [`Error::Server`] when they are others.
pub unsafe fn keep(listener: RawFd, state: RawFd, heir: u32) -> Result<()> {
    let refused = |error: io::Error| Error::Server { call: "keep", text: error.to_string() };
    // SAFETY: SV1: the caller's promise 1.
    let listener = UnixListener::from(unsafe { OwnedFd::from_raw_fd(listener) });
    listener.set_nonblocking(true).map_err(refused)?;
    // SAFETY: SV1: the caller's promise 1.
    let mut state = File::from(unsafe { OwnedFd::from_raw_fd(state) });
    let mut offers = HashMap::new();
    let mut token = Token::default();
    while state.read_exact(&mut token).is_ok() {
        let number = || -> io::Result<usize> {
            let mut bytes = [0; 8];
            (&state).read_exact(&mut bytes)?;
            Ok(u64::from_le_bytes(bytes) as usize)
        };
        let (len, num_files) = (number().map_err(refused)?, number().map_err(refused)?);
        let mut files = Vec::new();
        for _ in 0..num_files {
            let file = number().map_err(refused)? as RawFd;
            // SAFETY: SV1: the caller's promise 1.
            files.push(unsafe { OwnedFd::from_raw_fd(file) });
        }
        let mut body = vec![0; len];
        (&state).read_exact(&mut body).map_err(refused)?;
        if let Answer::Memory(shared) = Answer::from_parts(&body, files).map_err(refused)? {
            offers.insert(token, Offer { buffer: None, shared, is_once: true });
        }
    }
    let server = Server { nonce: 0, listener, offers: Mutex::new(offers) };
    let heir = format!("/proc/{heir}");
    let mut looked = Instant::now();
    while !lock(&server.offers).is_empty() {
        server.serve_one();
        if looked.elapsed() > PATIENCE / 100 {
            if !Path::new(&heir).exists() {
                break;
            }
            looked = Instant::now();
        }
    }
    Ok(())
}
