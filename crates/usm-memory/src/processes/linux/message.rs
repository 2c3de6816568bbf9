//! What processes say to each other: a question of fixed length, and an answer with the files of the memory.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::num::NonZero;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use usm_core::fork::ForkOnce;
use usm_core::{DeviceLocation, SharedMemory, UsmKind};

use crate::processes::SharedBuffer;

/// How long one side waits for the other one to go on.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// So long one side looks whether the other one goes on, before it sleeps: the time of two or three wakes of a processor that slept.
const MOMENT: Duration = Duration::from_micros(50);

/// Most files of one memory.
const MAX_FILES: usize = 4;
/// Longest text or data in an answer.
const MAX_BYTES: u64 = 1 << 16;

/// What the asked process answers.
#[derive(Debug)]
pub(super) enum Answer {
    Memory(SharedBuffer),
    Refused(String),
    /// Work on the memory is under way. Another answer follows.
    Later,
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer is malformed: {what}"))
}

/// Waits until something happens to one of the files, at most so long. True if something has. In a conversation the other side goes on
/// within microseconds as a rule, and a processor that sleeps needs more to wake up: where there is another one, this looks again and again
/// for a moment. Where that was in vain, all processors have other work, and the next waits sleep at once.
pub(super) fn poll_soon(
    files: &mut [PollFd<'_>],
    longest: Option<Duration>,
    is_conversation: bool,
) -> rustix::io::Result<bool> {
    if is_conversation && has_other_processor() {
        // Two threads may count one wait, or lose one.
        let sleeps = SLEEPS.load(Relaxed);
        if sleeps == 0 {
            let started = Instant::now();
            while started.elapsed() < MOMENT {
                if poll(files, Some(&Timespec::default()))? > 0 {
                    return Ok(true);
                }
            }
        }
        SLEEPS.store(sleeps.checked_sub(1).unwrap_or(SLEEPS_IN_VAIN), Relaxed);
    }
    let longest = longest.and_then(|longest| Timespec::try_from(longest).ok());
    poll(files, longest.as_ref()).map(|ready| ready > 0)
}

fn has_other_processor() -> bool {
    static NUM_PROCESSORS: ForkOnce<usize> = ForkOnce::new();
    *NUM_PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get)) > 1
}

/// So many of the next waits sleep at once.
static SLEEPS: AtomicU32 = AtomicU32::new(0);
const SLEEPS_IN_VAIN: u32 = 16;

/// Writes numbers, and bytes after their length.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn number(&mut self, number: usize) {
        self.0.extend((number as u64).to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.0.extend(bytes);
    }
}

/// Reads what a [`Writer`] wrote.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    pub(super) fn number(&mut self) -> io::Result<usize> {
        let (first, rest) = self.0.split_first_chunk().ok_or_else(|| invalid("it is too short"))?;
        self.0 = rest;
        usize::try_from(u64::from_le_bytes(*first)).map_err(|_| invalid("a number is too large"))
    }

    pub(super) fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let len = self.number()?;
        let (bytes, rest) = self.0.split_at_checked(len).ok_or_else(|| invalid("it is too short"))?;
        self.0 = rest;
        Ok(bytes.to_vec())
    }

    fn text(&mut self) -> io::Result<String> {
        String::from_utf8(self.bytes()?).map_err(|_| invalid("a text is not UTF-8"))
    }
}

impl Answer {
    /// The bytes, and the files that go with them.
    pub(super) fn to_parts(&self) -> (Vec<u8>, &[Arc<OwnedFd>]) {
        let mut body = Writer::default();
        match self {
            Self::Later => {
                body.number(2);
                (body.0, &[])
            }
            Self::Refused(reason) => {
                body.number(0);
                body.bytes(reason.as_bytes());
                (body.0, &[])
            }
            Self::Memory(shared) => {
                let SharedBuffer { memory, offset_bytes, len_bytes, is_writable, location } = shared;
                body.number(1);
                body.bytes(memory.kind.as_str().as_bytes());
                for number in [memory.address, memory.len_bytes, *offset_bytes, *len_bytes] {
                    body.number(number);
                }
                body.number(usize::from(*is_writable));
                body.bytes(&memory.data);
                body.bytes(location.root.as_bytes());
                body.bytes(location.pci_address.as_deref().unwrap_or("").as_bytes());
                (body.0, &memory.files)
            }
        }
    }

    pub(super) fn from_parts(bytes: &[u8], files: Vec<OwnedFd>) -> io::Result<Self> {
        let mut body = Reader(bytes);
        match body.number()? {
            0 => Ok(Self::Refused(body.text()?)),
            1 => {
                let kind: UsmKind = body.text()?.parse().map_err(|_| invalid("the kind is unknown"))?;
                let [address, block_bytes, offset_bytes, len_bytes] =
                    [body.number()?, body.number()?, body.number()?, body.number()?];
                let is_writable = body.number()? != 0;
                let (data, root, pci_address) = (body.bytes()?, body.text()?, body.text()?);
                let files = files.into_iter().map(Arc::new).collect();
                let memory = SharedMemory::new(kind, address, block_bytes, data, files);
                let pci_address = Some(pci_address).filter(|text| !text.is_empty());
                let location = DeviceLocation { root, pci_address, parts: Vec::new() };
                Ok(Self::Memory(SharedBuffer { memory, offset_bytes, len_bytes, is_writable, location }))
            }
            2 => Ok(Self::Later),
            _ => Err(invalid("its kind is unknown")),
        }
    }

    pub(super) fn send(&self, to: &UnixStream) -> io::Result<()> {
        let (body, files) = self.to_parts();
        let mut head = Writer::default();
        head.number(body.len());
        head.number(files.len());
        send_with_files(to, &[&head.0[..], &body].concat(), files)
    }

    pub(super) fn receive(from: &UnixStream) -> io::Result<Self> {
        let (head, files) = receive_with_files::<16>(from)?;
        let mut head = Reader(&head);
        let (len, num_files) = (head.number()?, head.number()?);
        if len as u64 > MAX_BYTES || num_files != files.len() {
            return Err(invalid("found another number of bytes or files than it says"));
        }
        let mut body = vec![0; len];
        (&*from).read_exact(&mut body)?;
        Self::from_parts(&body, files)
    }
}

/// Reads an answer without files, and writes what was read.
///
/// # Errors
/// The answer is malformed.
#[cfg(feature = "testing")]
pub fn reread_answer(bytes: &[u8]) -> io::Result<Vec<u8>> {
    Ok(Answer::from_parts(bytes, Vec::new())?.to_parts().0)
}

fn send_with_files(to: &UnixStream, bytes: &[u8], files: &[Arc<OwnedFd>]) -> io::Result<()> {
    let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::Error::other("memory with too many files"));
    }
    let sent = rustix::io::retry_on_intr(|| {
        sendmsg(to, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)
    })?;
    // The files went with the first bytes.
    (&*to).write_all(&bytes[sent..])
}

fn receive_with_files<const N: usize>(from: &UnixStream) -> io::Result<([u8; N], Vec<OwnedFd>)> {
    let mut bytes = [0; N];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(from, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut files = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            files.extend(received);
        }
    }
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    (&*from).read_exact(&mut bytes[received.bytes..])?;
    Ok((bytes, files))
}
