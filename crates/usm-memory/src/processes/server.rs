//! The thread of a process that answers others: which memory a handle stands for.
//!
//! It listens at an abstract address of a Unix socket, which is in no directory and goes with the process. It answers processes of the
//! same user alone, who name a token of 128 random bits.

// Invariant SV1: the system gets pointers to values that outlive its call.

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::{mem, process, ptr};

use usm_core::fork::{self, PerProcess};

use super::SharedBuffer;
use super::message::{Answer, PATIENCE, TOKEN_BYTES, Token};
use super::reference::Reference;
use crate::{Error, Result, UsmBuffer};

/// Memory that others may ask for.
#[derive(Debug)]
struct Offer {
    buffer: UsmBuffer,
    shared: SharedBuffer,
    /// It goes when one process has opened it.
    is_once: bool,
}

/// What this process offers, and where it answers.
#[derive(Debug)]
struct Server {
    nonce: u64,
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
    lock(&server.offers).insert(token, Offer { buffer: buffer.clone(), shared, is_once });
    Ok(Reference { process: process::id(), nonce: server.nonce, token })
}

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
    let server = Arc::new(Server { nonce, offers: Mutex::default() });
    let served = Arc::clone(&server);
    let start = || fork::spawn(Builder::new().name("usm-ipc".to_owned()), move || served.serve(&listener));
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
    fn serve(&self, listener: &UnixListener) {
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    // One that goes away, or says nothing in time, gets no answer.
                    let _ = self.answer(&stream);
                }
                // The process has too many files at the moment, or a peer is gone.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
        }
    }

    fn answer(&self, stream: &UnixStream) -> io::Result<()> {
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
        Some(offer) if offer.is_once => offers.remove(&reference.token).map(|offer| offer.buffer),
        offer => offer.map(|offer| offer.buffer.clone()),
    };
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
