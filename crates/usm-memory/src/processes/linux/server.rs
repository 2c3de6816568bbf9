//! The thread of a process that answers others: which memory a handle stands for.
//!
//! It listens at an abstract address of a Unix socket, which is in no directory and goes with the process. It answers processes of the
//! same user alone, who name a token of 128 random bits. One thread has all connections, and waits for none of them alone: a process that
//! stops in the middle keeps nobody else waiting. The thread also gives freed memory another use soon after others have closed it.

// Invariant SV1: nothing uses a descriptor that is closed here by its number.
// Invariant SV2: the system gets pointers to values that outlive its call, with their lengths.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::rand::{GetRandomFlags, getrandom};
use usm_core::Event;
use usm_core::fork::{self, ForkHooks, ForkMutex, PerProcess};

use super::message::{Answer, poll_soon};
use crate::processes::reference::{Reference, TOKEN_BYTES, Token};
use crate::processes::{SharedBuffer, lock};
use crate::{Error, Operand, Result, UsmBuffer, buffer, submit_async};

/// A connection that has not named its memory after this time is closed, and one that does not take its answer.
const QUESTION: Duration = Duration::from_secs(1);
/// A process that waits for work on memory is told so again after this time: it knows then that this one goes on.
const REMINDER: Duration = Duration::from_secs(1);
/// The pause between two looks at work that others wait for.
const WORK: Duration = Duration::from_micros(500);
/// From so many connections on, those without a question are closed. Who has one asks by a new one.
const MANY_CONNECTIONS: usize = 256;
/// The shortest pause between two looks at freed memory that others have open.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
/// The pause is so many times as long as the look.
const PAUSES_PER_SWEEP: u32 = 20;
/// The pause after a failure of the system, which may have no more files at the moment.
const PAUSE: Duration = Duration::from_millis(10);

/// Memory that others may ask for.
#[derive(Debug)]
pub(super) struct Offer {
    /// Before the buffer: the memory of a buffer that drops is looked at for others that have its files.
    pub(super) shared: SharedBuffer,
    /// What keeps the memory; `None` where the files of `shared` do.
    pub(super) buffer: Option<UsmBuffer>,
    /// It goes when one process has opened it.
    pub(super) is_once: bool,
    /// Work that writes to the memory, for which others wait.
    pub(super) after: Option<Event>,
}

/// The user ID that the kernel shows in place of one that a user namespace does not have, unless the administrator has changed it.
const OVERFLOW_UID: u32 = 65534;
/// `/proc/self/uid_map` where each user has an ID.
const ALL_UIDS: [&str; 3] = ["0", "0", "4294967295"];

/// What a process offers, and where it answers.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) nonce: u64,
    pub(super) listener: UnixListener,
    pub(super) offers: Mutex<HashMap<Token, Offer>>,
    /// Can be read when freed memory waits for others to close it, and when the thread is to end.
    wake: OwnedFd,
    is_leaving: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Another process that asks.
struct Connection {
    stream: UnixStream,
    /// Its start, until its first question was answered. It stays open for more.
    started: Option<Instant>,
    /// The memory that it asks for, on which work is under way, and when it was told so.
    asked: Option<(Token, Instant)>,
    /// The memory that was sent, and what keeps it until the other process has it open. That says a word then, or is gone when it says
    /// nothing more.
    sent: Option<(Token, Option<UsmBuffer>)>,
}

impl Connection {
    fn new(stream: UnixStream) -> Self {
        Self { stream, started: Some(Instant::now()), asked: None, sent: None }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        ACCEPTED.lock().remove(&self.stream.as_raw_fd());
        // Children that were forked may have the socket, too.
        _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// The numbers of the sockets of all connections.
static ACCEPTED: ForkMutex<BTreeSet<RawFd>> = ForkMutex::new(BTreeSet::new());

/// A child has a server of its own: the parent goes on to answer for its own.
static SERVER: PerProcess<Mutex<Option<Arc<Server>>>> = PerProcess::new(Mutex::new(None));

/// The server of this process, if it has one.
pub(super) fn known() -> Option<Arc<Server>> {
    lock(SERVER.get()).clone()
}

pub(super) fn refused(call: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::Server { call, text: error.to_string() }
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    // The kernel gives up to 256 bytes at once.
    let got = getrandom(&mut bytes[..], GetRandomFlags::empty());
    match got.map_err(|error| refused("getrandom")(error.into()))? {
        got if got == N => Ok(bytes),
        _ => Err(refused("getrandom")(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// The address of a process.
pub(super) fn address(process: u32, nonce: u64) -> String {
    format!("usm-ipc-{process}-{nonce:016x}")
}

/// Whether the process at the other end is of the same user.
pub(super) fn is_of_this_user(stream: &UnixStream) -> io::Result<bool> {
    let own = rustix::process::geteuid().as_raw();
    if own == OVERFLOW_UID && fs::read_to_string("/proc/self/uid_map")?.split_whitespace().ne(ALL_UIDS) {
        let reason =
            format!("user {own} of this process may stand for any user outside of its user namespace");
        return Err(io::Error::other(reason));
    }
    // Not by rustix, which refuses processes of another PID namespace: their process ID is 0 here.
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    let (start, option) = ((&raw mut found).cast(), libc::SO_PEERCRED);
    // SAFETY: SV2.
    match unsafe { libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, option, start, &raw mut len) } {
        0 => Ok(found.uid == own),
        _ => Err(io::Error::last_os_error()),
    }
}

impl UsmBuffer {
    /// As [`share`](Self::share), without a wait where nothing happens to the memory. Others may read it after the event.
    fn share_later(&self) -> Result<(SharedBuffer, Option<Event>)> {
        let (queue, whole) = (self.queue(), self.all_of_block());
        if !queue.shares_in_place(self.kind()) || queue.capture()?.is_some() {
            return Ok((self.share()?, None));
        }
        let operand = Operand::read(&whole, 0..whole.len_bytes());
        // SAFETY: promises 1 to 3 of `submit_async`: a barrier uses no bytes, and the queue is that of the memory.
        let event = unsafe { submit_async(queue, &[operand], &[], |_, after| queue.barrier(after)) }?;
        // SAFETY: promise 1 of `share_from`: the queue leaves the memory as it is.
        let shared = unsafe { self.share_from(whole.address()) }?;
        Ok((shared, Some(event).filter(|event| !event.is_complete())))
    }
}

/// Offers the memory of a buffer to other processes.
pub(in crate::processes) fn offer(buffer: &UsmBuffer) -> Result<Reference> {
    let (shared, after) = buffer.share_later()?;
    add(Offer { shared, buffer: Some(buffer.clone()), is_once: false, after })
}

/// Offers the memory of a buffer to one other process, which may ask after the end of this one if `may_end`.
pub(in crate::processes) fn offer_once(buffer: &UsmBuffer, may_end: bool) -> Result<Reference> {
    let (shared, after) = buffer.share_later()?;
    if may_end && !shared.memory.is_kept_by_files {
        let reason = "it goes with this process, which may end before another one opens it; a copy works";
        return Err(usm_core::Error::NotShareable { reason: reason.to_owned() }.into());
    }
    add(Offer { shared, buffer: Some(buffer.clone()), is_once: true, after })
}

fn add(offer: Offer) -> Result<Reference> {
    let token = random::<TOKEN_BYTES>()?;
    let server = server()?;
    lock(&server.offers).insert(token, offer);
    Ok(Reference { process: process::id(), nonce: server.nonce, token })
}

/// The number of the listening socket; -1 for none.
static LISTENER: AtomicI32 = AtomicI32::new(-1);

/// In a child: closes the sockets of the parent, at which the child would keep others waiting that ask a parent which has ended.
const HOOKS: ForkHooks = ForkHooks {
    before: || {},
    after: || {},
    in_child: || {
        let listener = LISTENER.swap(-1, Ordering::Relaxed);
        if listener >= 0 {
            // SAFETY: SV1: the child leaks the value that the number belongs to (`PerProcess`).
            unsafe { libc::close(listener) };
        }
        let mut accepted = ACCEPTED.lock();
        for &stream in &*accepted {
            // SAFETY: SV1: the value is the server thread's, which is not here.
            unsafe { libc::close(stream) };
        }
        accepted.clear();
    },
};

/// The server of this process, a new one where there is none.
fn server() -> Result<Arc<Server>> {
    let mut known = lock(SERVER.get());
    if let Some(server) = &*known {
        return Ok(Arc::clone(server));
    }
    fork::set_hooks_of_sockets(HOOKS);
    let nonce = u64::from_le_bytes(random()?);
    let address = SocketAddr::from_abstract_name(address(process::id(), nonce)).map_err(refused("bind"))?;
    // No child is forked that has the socket and does not know its number.
    let bound = fork::hold_off(|| {
        UnixListener::bind_addr(&address)
            .inspect(|listener| LISTENER.store(listener.as_raw_fd(), Ordering::Relaxed))
    });
    let listener = bound.map_err(refused("bind"))?;
    let server = Server::new(nonce, listener, HashMap::new());
    let server = Arc::new(server.inspect_err(|_| LISTENER.store(-1, Ordering::Relaxed))?);
    let served = Arc::clone(&server);
    let start = || {
        server.listener.set_nonblocking(true)?;
        let serve = move || served.serve(None, || served.is_leaving.load(Ordering::Acquire));
        fork::spawn(Builder::new().name("usm-ipc".to_owned()), serve)
    };
    match start() {
        Ok(thread) => *lock(&server.thread) = Some(thread),
        Err(error) => {
            LISTENER.store(-1, Ordering::Relaxed);
            return Err(refused("thread")(error));
        }
    }
    *known = Some(Arc::clone(&server));
    buffer::set_wake(wake);
    Ok(server)
}

/// Wakes the thread for memory that waits.
fn wake() {
    if let Some(server) = known() {
        server.wake();
    }
}

impl Server {
    pub(super) fn new(nonce: u64, listener: UnixListener, offers: HashMap<Token, Offer>) -> Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let wake = wake.map_err(|error| refused("eventfd")(error.into()))?;
        let (offers, thread) = (Mutex::new(offers), Mutex::default());
        Ok(Self { nonce, listener, offers, wake, is_leaving: AtomicBool::new(false), thread })
    }

    /// Lets the thread look at what has changed.
    fn wake(&self) {
        _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Ends the thread: the offers stay as they are. Processes that ask from now on wait for whoever listens next.
    pub(super) fn leave(&self) -> io::Result<()> {
        let Some(thread) = lock(&self.thread).take() else { return Ok(()) };
        self.is_leaving.store(true, Ordering::Release);
        self.wake();
        thread.join().map_err(|_| io::Error::other("the thread that answers others has panicked"))
    }

    /// Answers until something can be read of `end`, or `is_over` says so, which is asked after each event.
    pub(super) fn serve(&self, end: Option<BorrowedFd<'_>>, is_over: impl Fn() -> bool) {
        let mut connections: Vec<Connection> = Vec::new();
        let mut pause = SHORTEST_PAUSE;
        let mut spare = self.spare();
        let mut is_conversation = false;
        while !is_over() {
            let is_awaited = buffer::held_count() > 0;
            let streams = connections.iter().map(|connection| connection.stream.as_fd());
            let all = [self.listener.as_fd(), self.wake.as_fd()].into_iter().chain(streams).chain(end);
            let mut polled: Vec<_> = all.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
            let has_question = connections.iter().any(|connection| connection.started.is_some());
            let has_asked = connections.iter().any(|connection| connection.asked.is_some());
            let times = [(is_awaited, pause), (has_question, QUESTION), (has_asked, WORK)];
            let longest = times.into_iter().filter_map(|(is_due, time)| is_due.then_some(time)).min();
            if poll_soon(&mut polled, longest, is_conversation).is_err_and(|error| error != Errno::INTR) {
                thread::sleep(PAUSE);
            }
            let is_ready: Vec<_> = polled.iter().map(|polled| !polled.revents().is_empty()).collect();
            is_conversation = is_ready.iter().enumerate().any(|(number, is_ready)| *is_ready && number != 1);
            if end.is_some() && is_ready.last() == Some(&true) {
                return;
            }
            if is_ready[1] {
                _ = rustix::io::read(&self.wake, &mut [0; 8]);
            }
            if is_awaited {
                let started = Instant::now();
                buffer::sweep();
                pause = SHORTEST_PAUSE.max(PAUSES_PER_SWEEP * started.elapsed());
            }
            let mut ready = is_ready.iter().skip(2);
            connections.retain_mut(|connection| match ready.next() {
                Some(true) => self.go_on(connection).unwrap_or(false),
                _ if let Some((token, told)) = connection.asked => {
                    self.answer(connection, token, Some(told)).is_ok()
                }
                _ => connection.started.is_none_or(|started| started.elapsed() < QUESTION),
            });
            spare = spare.or_else(|| self.spare());
            if connections.len() >= MANY_CONNECTIONS || spare.is_none() {
                let is_idle =
                    |connection: &Connection| connection.asked.is_none() && connection.sent.is_none();
                connections.retain(|connection| connection.started.is_some() || !is_idle(connection));
            }
            if is_ready[0] {
                connections.extend(self.accept(&mut spare));
            }
        }
        self.hear_out(connections);
    }

    /// Waits until processes that have got memory say that they have it open, or have gone.
    fn hear_out(&self, mut connections: Vec<Connection>) {
        let started = Instant::now();
        connections.retain(|connection| connection.sent.is_some());
        while !connections.is_empty() && started.elapsed() < QUESTION {
            let streams = connections.iter().map(|connection| connection.stream.as_fd());
            let mut polled: Vec<_> =
                streams.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
            if poll_soon(&mut polled, Some(PAUSE), false).is_err() {
                continue;
            }
            let is_ready: Vec<_> = polled.iter().map(|polled| !polled.revents().is_empty()).collect();
            let mut ready = is_ready.iter();
            connections.retain_mut(|connection| {
                // A word ends it here: the next question goes to whoever listens then.
                ready.next() != Some(&true)
                    || (self.go_on(connection).unwrap_or(false) && connection.sent.is_some())
            });
        }
    }

    /// A file descriptor that a connection can have in a process without others: what it shares may have taken all.
    fn spare(&self) -> Option<OwnedFd> {
        self.wake.try_clone().ok()
    }

    fn accept(&self, spare: &mut Option<OwnedFd>) -> Option<Connection> {
        // No child is forked that has the socket and does not know its number.
        let accept = || {
            fork::hold_off(|| {
                let accepted = self.listener.accept();
                accepted.inspect(|(stream, _)| _ = ACCEPTED.lock().insert(stream.as_raw_fd()))
            })
        };
        let accepted = match accept() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock && spare.take().is_some() => accept(),
            accepted => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = Connection::new(stream);
                connection.stream.set_write_timeout(Some(QUESTION)).ok()?;
                Some(connection)
            }
            // One that has gone again.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(_) => {
                thread::sleep(PAUSE);
                None
            }
        }
    }

    /// Takes what another process says. False at the end of its connection.
    fn go_on(&self, connection: &mut Connection) -> io::Result<bool> {
        let stream = &connection.stream;
        // What keeps the memory is dropped at the end, without the lock.
        if let Some((token, _kept)) = connection.sent.take() {
            // One byte: the next question may be behind it.
            let received = recv(stream, &mut [0; 1], RecvFlags::DONTWAIT).map_or(0, |(_, received)| received);
            let mut offers = lock(&self.offers);
            let is_done = offers.get(&token).is_some_and(|offer| offer.is_once);
            let gone = is_done.then(|| offers.remove(&token));
            drop(offers);
            drop(gone);
            return Ok(received == 1);
        }
        if connection.asked.is_some() {
            return Ok(false); // it has gone: who waits says nothing
        }
        let mut token = Token::default();
        let (_, received) = recv(stream, &mut token, RecvFlags::DONTWAIT)?;
        if received != TOKEN_BYTES {
            return Ok(false);
        }
        if !is_of_this_user(stream).unwrap_or(false) {
            Answer::Refused("it is of another user".to_owned()).send(stream)?;
            return Ok(false);
        }
        connection.started = None;
        self.answer(connection, token, None)?;
        Ok(true)
    }

    /// Answers a process that asks for memory, or says that work on the memory is under way: `told` is when it said so.
    fn answer(&self, connection: &mut Connection, token: Token, told: Option<Instant>) -> io::Result<()> {
        let stream = &connection.stream;
        let after = lock(&self.offers).get(&token).and_then(|offer| offer.after.clone());
        if after.as_ref().is_some_and(|event| !event.is_complete()) {
            if told.is_none_or(|told| told.elapsed() >= REMINDER) {
                Answer::Later.send(stream)?;
                connection.asked = Some((token, Instant::now()));
            }
            return Ok(());
        }
        connection.asked = None;
        if let Some(error) = after.and_then(|event| event.wait().err()) {
            return Answer::Refused(format!("the work that writes to the memory failed: {error}"))
                .send(stream);
        }
        let found = lock(&self.offers).get_mut(&token).map(|offer| {
            offer.after = None;
            (offer.shared.clone(), offer.buffer.clone())
        });
        let Some((mut shared, kept)) = found else {
            return Answer::Refused("the memory is not on offer any more".to_owned()).send(stream);
        };
        // Memory of a third process, which uses it for something else if this one ends before the other has opened it. Without a free
        // file descriptor, it had better not.
        if kept.as_ref().is_some_and(|buffer| buffer.ownership().is_open()) {
            _ = shared.memory.hold();
        }
        Answer::Memory(shared).send(stream)?;
        connection.sent = Some((token, kept));
        Ok(())
    }

    /// Waits for the work on memory on offer. Memory on which it failed is on offer no more.
    pub(super) fn wait_for_work(&self) {
        let after: Vec<_> = lock(&self.offers)
            .iter()
            .filter_map(|(token, offer)| Some((*token, offer.after.clone()?)))
            .collect();
        for (token, event) in after {
            if event.wait().is_err() {
                let gone = lock(&self.offers).remove(&token);
                drop(gone);
            }
        }
    }
}

/// The buffer of a handle of this process; `None` for those of others.
pub(in crate::processes) fn own(reference: &Reference) -> Option<Result<UsmBuffer>> {
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

/// Ends an offer. Whether there was one.
pub(in crate::processes) fn withdraw(reference: &Reference) -> bool {
    let Some(server) = known().filter(|server| server.nonce == reference.nonce) else { return false };
    let gone = lock(&server.offers).remove(&reference.token);
    gone.is_some()
}

pub(in crate::processes) fn num_offers() -> usize {
    known().map_or(0, |server| lock(&server.offers).len())
}

/// Ends the offers that nobody keeps.
pub(in crate::processes) fn withdraw_unkept() -> usize {
    let Some(server) = known() else { return 0 };
    let gone: Vec<_> = lock(&server.offers).extract_if(|_, offer| offer.is_once).collect();
    gone.len()
}
