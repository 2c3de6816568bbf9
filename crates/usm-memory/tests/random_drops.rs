//! Random drops of every kind of handle with work under way: nothing hangs, nothing is lost, nothing piles up.
//!
//! `USM_TEST_DROPS` has the number of handles that are dropped on each backend while their work is under way, fewer on a stand-in. With `USM_STRICT_DEVICE=1`
//! queues do what host code does else.
#![allow(clippy::unwrap_used)]

use test_stacks as _;

mod common;

use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, process, ptr, thread};

use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
use usm_memory::usm_core::testing::{Random, campaign};
use usm_memory::usm_core::{
    BackendId, Context, Error as CoreError, Event, ExternalHandle, HostTask, Kernel, KernelArgument,
    KernelBundle, Queue, QueueProperties, Runtime, UsmKind,
};
use usm_memory::{Completion, Operand, UsmBuffer, submit, submit_async};

/// Drops in a short run.
const DROPS: usize = 4000;
/// Operations of a burst, and turns between two bursts.
const BURST: usize = 16;
const TURNS: usize = 8;
/// The longest time that a gate stays shut, for a drop that waits.
const LONGEST_GATE: Duration = Duration::from_millis(2);
/// A turn takes milliseconds, and seconds on a busy machine.
const LONGEST_TURN: Duration = Duration::from_secs(60);
const LEN: usize = 4096;

const SOURCE: &str = "kernel void fill_u32(global uint *to, uint value) { to[get_global_id(0)] = value; }
kernel void gate(global volatile uint *is_open) { for (uint i = 0; i < 3000000 && !*is_open; i++) {} }";
const PTX: &str = ".version 6.3
.target sm_50
.address_size 64
.visible .entry fill_u32(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<5>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [to];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    mul.wide.u32 %d2, %r2, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r1;
    ret;
}
";

/// Turns so far. A process without progress ends with a message: a test that hangs is a failure.
static TURN: AtomicUsize = AtomicUsize::new(0);

fn watch() {
    thread::spawn(|| {
        let (mut seen, mut since) = (0, Instant::now());
        loop {
            thread::sleep(LONGEST_TURN / 20);
            let turn = TURN.load(Ordering::Relaxed);
            if turn != seen {
                (seen, since) = (turn, Instant::now());
            } else if since.elapsed() > LONGEST_TURN {
                eprintln!("turn {turn} hangs");
                process::abort();
            }
        }
    });
}

/// An operation that is complete when somebody opens it, and others that come after it until then.
enum Gate {
    /// On the host backend.
    Task(Event, Arc<AtomicBool>),
    /// On devices that see what host code writes while a kernel runs.
    Kernel(Event, UsmBuffer),
}

impl Gate {
    fn new(queue: &Queue, bundle: Option<&KernelBundle>) -> Option<Self> {
        if queue.runs_host_tasks() {
            let is_open = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&is_open);
            let task = HostTask::new(move |_| {
                let started = Instant::now();
                while !seen.load(Ordering::Acquire) && started.elapsed() < LONGEST_GATE {
                    thread::yield_now();
                }
                Ok(())
            });
            // SAFETY: 1. and 2. The task uses no memory. 3. It uses and drops a flag.
            let event = unsafe { queue.host_task(&[], task, &[]) }.unwrap();
            return Some(Self::Task(event, is_open));
        }
        let kernel = bundle?.kernel("gate").ok()?;
        let flag = UsmBuffer::allocate(queue, UsmKind::Shared, size_of::<u32>()).unwrap();
        flag.fill(&[0]).unwrap();
        let address = ptr::with_exposed_provenance_mut::<u8>(flag.address());
        // SAFETY: the kernel reads the flag, which stays until the gate is complete, since an operand of a barrier behind it.
        let event =
            unsafe { queue.submit_kernel(&kernel, &[KernelArgument::from(address)], 1, &[]) }.unwrap();
        Some(Self::Kernel(event, flag))
    }

    fn event(&self) -> &Event {
        match self {
            Self::Task(event, _) | Self::Kernel(event, _) => event,
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        match self {
            Self::Task(_, is_open) => is_open.store(true, Ordering::Release),
            Self::Kernel(event, flag) => {
                // SAFETY: shared memory of this length and alignment, which the gate alone reads.
                let is_open =
                    unsafe { AtomicU32::from_ptr(ptr::with_exposed_provenance_mut(flag.address())) };
                is_open.store(1, Ordering::Release);
                // The kernel has the flag as long as it runs.
                event.wait().unwrap();
            }
        }
    }
}

/// What is dropped with work under way.
enum Handle {
    Queue(Queue),
    Buffer(UsmBuffer),
    Kernel(Kernel),
    Event,
    Transfer(Completion),
}

/// The handles in one context.
struct World {
    context: Context,
    queues: Vec<Queue>,
    /// Each with the value of all its bytes.
    buffers: Vec<(UsmBuffer, u8)>,
    bundle: Option<KernelBundle>,
    kernels: Vec<Kernel>,
    events: Vec<Event>,
    transfers: Vec<Completion>,
    external: Vec<ExternalHandle>,
    pool: PoolResource,
}

impl World {
    fn new(of: &Queue, context: Context) -> Self {
        let device = of.device();
        let bundle = match KernelBundle::from_opencl_source(&context, device, SOURCE, "") {
            // SAFETY: valid PTX.
            Err(CoreError::NotSupported { .. }) => unsafe {
                KernelBundle::from_ptx(&context, device, PTX, "")
            },
            bundle => bundle,
        };
        let bundle = match bundle {
            Err(CoreError::NotSupported { .. }) => None,
            bundle => Some(bundle.unwrap()),
        };
        let queues = vec![context.create_queue(device, QueueProperties::OUT_OF_ORDER).unwrap()];
        let (buffers, kernels, events, transfers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
        Self { context, queues, buffers, bundle, kernels, events, transfers, external: Vec::new(), pool }
    }

    fn queue(&mut self, random: &mut Random) -> Queue {
        self.queues[random.below(self.queues.len())].clone()
    }

    fn add_queue(&mut self, random: &mut Random) {
        let order = [QueueProperties::OUT_OF_ORDER, QueueProperties::IN_ORDER][random.below(2)];
        let device = self.queues[0].device().clone();
        let queue = self.context.create_queue(&device, order).unwrap();
        self.queues.push(queue);
        if self.queues.len() > 6 {
            self.queues.swap_remove(random.below(6));
        }
    }

    fn add_buffer(&mut self, random: &mut Random) {
        let queue = self.queue(random);
        let kind = kinds(&queue)[random.below(kinds(&queue).len())];
        let buffer = match random.below(2) {
            0 => UsmBuffer::allocate_in(&DirectResource, &queue, kind, LEN).unwrap(),
            _ => UsmBuffer::allocate(&queue, kind, LEN).unwrap(),
        };
        buffer.submit_fill(&[1]).unwrap();
        self.buffers.push((buffer, 1));
        if self.buffers.len() > 8 {
            self.buffers.swap_remove(random.below(8));
        }
    }

    /// An operation of a queue that nobody has before, or of any; its event may be dropped.
    fn submit(&mut self, random: &mut Random) {
        if self.buffers.is_empty() || random.below(3) == 0 {
            self.add_buffer(random);
        }
        let is_new = random.below(3) == 0;
        if is_new {
            self.add_queue(random);
        }
        let queue = if is_new { self.queues.pop().unwrap() } else { self.queue(random) };
        let place = random.below(self.buffers.len());
        let value = random.below(256) as u8;
        if let Some(bundle) = &self.bundle
            && random.below(3) > 0
        {
            if self.kernels.is_empty() {
                self.kernels.push(bundle.kernel("fill_u32").unwrap());
            }
            let kernel = self.kernels[0].clone();
            let operand = Operand::written(&self.buffers[place].0, 0..LEN);
            let launch = |to: &[*mut u8], after: &[Event]| {
                let arguments = [KernelArgument::from(to[0]), (u32::from(value) * 0x0101_0101).into()];
                // SAFETY: the kernel writes as many words as the operand has.
                unsafe { queue.submit_kernel(&kernel, &arguments, LEN / 4, after) }
            };
            // SAFETY: 1. The bytes of the operand. 2. Memory of the queue's context.
            match unsafe { submit(&queue, &[operand], launch) } {
                Ok(event) => self.events.push(event),
                Err(_) => return, // a transfer has it
            }
            if random.below(8) == 0 {
                self.kernels.clear();
            }
        } else if random.below(4) == 0 {
            // Ordered after the work of other queues, and borrowed until it is complete.
            let on_queue = self.buffers[place].0.on_queue(&queue).unwrap();
            match on_queue.fill_async(&[value], &[]) {
                Ok(transfer) => self.transfers.push(transfer),
                Err(_) => return, // another transfer has it
            }
        } else if self.buffers[place].0.on_queue(&queue).unwrap().submit_fill(&[value]).is_err() {
            return;
        }
        self.buffers[place].1 = value;
        drop(queue);
        if random.below(2) == 0 {
            self.events.clear();
        }
    }

    /// Operations that come after one that nobody has opened yet, and drops of all their handles in any order. Returns the number of handles
    /// that were dropped under their work.
    fn burst(&mut self, random: &mut Random) -> usize {
        let gate = Gate::new(&self.queues[0], self.bundle.as_ref());
        let after = gate.as_ref().map(|gate| gate.event().clone());
        let mut events: Vec<Option<Event>> = Vec::new();
        let mut handles: Vec<(usize, Handle)> = Vec::new();
        let mut kernel = None;
        for operation in 0..BURST {
            // Some runtimes keep a part of each kernel until the process ends.
            if operation % 8 == 0 {
                kernel = self.bundle.as_ref().map(|bundle| bundle.kernel("fill_u32").unwrap());
                handles.extend(kernel.clone().map(|kernel| (operation, Handle::Kernel(kernel))));
            }
            let order = [QueueProperties::OUT_OF_ORDER, QueueProperties::IN_ORDER][random.below(2)];
            let device = self.queues[0].device().clone();
            let queue = match random.below(4) {
                0 => self.queue(random),
                _ => self.context.create_queue(&device, order).unwrap(),
            };
            let kinds = kinds(&queue);
            let kind = kinds[random.below(kinds.len())];
            // Memory that is of no pool is waited for where it is freed.
            let buffer = match random.below(8 * BURST) {
                0 => UsmBuffer::allocate_in(&DirectResource, &queue, kind, LEN).unwrap(),
                _ => UsmBuffer::allocate_in(&self.pool, &queue, kind, LEN).unwrap(),
            };
            let value = random.below(256) as u8;
            if operation % 8 == 7 {
                let transfer = buffer.fill_async(&[value], after.as_slice()).unwrap();
                events.push(transfer.events().first().cloned());
                handles.push((operation, Handle::Transfer(transfer)));
            } else {
                let operand = Operand::written(&buffer, 0..LEN);
                let kernel = kernel.as_ref().filter(|_| operation % 8 == 0 || random.below(2) == 0);
                let launch = |to: &[*mut u8], before: &[Event]| {
                    match kernel {
                        Some(kernel) => {
                            let arguments = [KernelArgument::from(to[0]), u32::from(value).into()];
                            // SAFETY: the kernel writes as many words as the operand has.
                            unsafe { queue.submit_kernel(kernel, &arguments, LEN / 4, before) }
                        }
                        // SAFETY: the bytes of the operand.
                        None => unsafe { queue.memset(to[0], value, LEN, before) },
                    }
                };
                // SAFETY: 1. The bytes of the operand. 2. Memory of the queue's context. 3. Memory that was just allocated.
                let event = unsafe { submit_async(&queue, &[operand], after.as_slice(), launch) }.unwrap();
                events.push(Some(event));
            }
            handles.push((operation, Handle::Queue(queue)));
            handles.push((operation, Handle::Buffer(buffer)));
            handles.push((operation, Handle::Event));
        }
        drop(kernel);
        let mut under_way = 0;
        while !handles.is_empty() {
            let (operation, handle) = handles.swap_remove(random.below(handles.len()));
            // The event may have been dropped already.
            let event = events[operation].as_ref().or(after.as_ref());
            under_way += usize::from(event.is_some_and(|event| !event.is_complete()));
            match handle {
                Handle::Queue(queue) => drop(queue),
                Handle::Buffer(buffer) => drop(buffer),
                Handle::Kernel(kernel) => drop(kernel),
                Handle::Event => events[operation] = None,
                Handle::Transfer(transfer) => drop(transfer),
            }
        }
        under_way
    }

    fn turn(&mut self, random: &mut Random) {
        match random.below(16) {
            0..=6 => self.submit(random),
            7 => self.add_queue(random),
            8 if self.queues.len() > 1 => drop(self.queues.swap_remove(random.below(self.queues.len()))),
            9 => drop(self.events.pop()),
            10 => self.transfers.clear(),
            11 => self.kernels.clear(),
            12 => {
                let queue = self.queue(random);
                if let Ok(handle) = queue.to_external() {
                    let backend = Runtime::global().sycl_backend().unwrap();
                    // SAFETY: a live `sycl::queue`.
                    let copy = unsafe { Queue::from_external(backend, handle.as_ptr().as_ptr()) };
                    self.queues.push(copy.unwrap());
                    self.external.push(handle);
                }
                if self.external.len() > 3 {
                    self.external.swap_remove(random.below(3));
                }
            }
            13 if !self.buffers.is_empty() => {
                self.transfers.clear();
                let place = random.below(self.buffers.len());
                let (buffer, value) = &self.buffers[place];
                let mut found = [0; 16];
                buffer.copy_to_host(&mut found, random.below(LEN - 16)).unwrap();
                assert_eq!(found, [*value; 16]);
            }
            14 => self.queue(random).wait().unwrap(),
            15 if !self.buffers.is_empty() => {
                drop(self.buffers.swap_remove(random.below(self.buffers.len())));
            }
            _ => {}
        }
    }
}

/// The kinds of memory to use; none on a device of PoCL before 6.
fn kinds(queue: &Queue) -> Vec<UsmKind> {
    let mut kinds = vec![UsmKind::Device, UsmKind::Device, UsmKind::Shared];
    kinds.retain(|&kind| queue.device().info().supports(kind));
    kinds
}

fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

#[test]
fn random_drops_with_work_under_way() {
    watch();
    let drops = campaign::number("USM_TEST_DROPS", DROPS);
    for queue in common::queues() {
        // The stand-in of the CUDA driver delays each operation, and interprets kernels.
        let is_stand_in = queue.backend_id() == BackendId::Cuda && env::var_os("USM_CUDA_DRIVER").is_some();
        let wanted = if is_stand_in { drops.div_ceil(50) } else { drops };
        if kinds(&queue).is_empty() {
            eprintln!("not tested, {} has no USM", queue.device().filter_string());
            continue;
        }
        let (begin, bytes) = (Instant::now(), resident_bytes());
        let mut random = Random::new(11);
        let own = || Context::new(from_ref(queue.device())).unwrap();
        let mut worlds = [World::new(&queue, queue.context().clone()), World::new(&queue, own())];
        let (mut turns, mut drops) = (0, 0);
        while drops < wanted {
            for _ in 0..TURNS {
                worlds[random.below(2)].turn(&mut random);
            }
            drops += worlds[random.below(2)].burst(&mut random);
            turns += TURNS;
            // A GPU may be quicker than a thread that drops what it works on.
            assert!(turns < 1_000_000 * TURNS || drops > turns / TURNS, "nothing is under way");
            // Built code stays in some runtimes until the process ends.
            if turns % (625 * TURNS) == 0 {
                let place = random.below(2);
                worlds[place].submit(&mut random);
                worlds[place] = World::new(&queue, [own(), queue.context().clone()][random.below(2)].clone());
            }
            TURN.fetch_add(1, Ordering::Relaxed);
        }
        let more_bytes = resident_bytes().saturating_sub(bytes);
        let (device, took) = (queue.device().filter_string(), begin.elapsed());
        eprintln!("{device}: {drops} drops, {turns} turns in {took:.1?}, {more_bytes} bytes more");
        campaign::figure(&format!("{drops} drops under work on {device}, 0 hangs")).unwrap();
        drop(worlds);
        TURN.fetch_add(1, Ordering::Relaxed);
    }
}
