//! Random drops of every kind of handle with work under way: nothing hangs, nothing is lost, nothing piles up.
//!
//! `USM_TEST_DROPS` has the number of turns on each backend. With `USM_STRICT_DEVICE=1` queues do what host code does else.
#![allow(clippy::unwrap_used)]

use test_stacks as _;

mod common;

use std::slice::from_ref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use usm_memory::resource::DirectResource;
use usm_memory::usm_core::testing::Random;
use usm_memory::usm_core::{
    Context, Error as CoreError, Event, ExternalHandle, Kernel, KernelArgument, KernelBundle, Queue,
    QueueProperties, Runtime, UsmKind,
};
use usm_memory::{Completion, Operand, UsmBuffer, submit};

/// Turns in a short run.
const TURNS: usize = 1000;
/// A turn takes milliseconds, and seconds on a busy machine.
const LONGEST_TURN: Duration = Duration::from_secs(60);
const LEN: usize = 4096;

const SOURCE: &str = "kernel void fill_u32(global uint *to, uint value) { to[get_global_id(0)] = value; }";
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

fn turns() -> usize {
    env::var("USM_TEST_DROPS").ok().and_then(|turns| turns.parse().ok()).unwrap_or(TURNS)
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
        Self { context, queues, buffers, bundle, kernels, events, transfers, external: Vec::new() }
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
    for queue in common::queues() {
        if kinds(&queue).is_empty() {
            eprintln!("not tested, {} has no USM", queue.device().filter_string());
            continue;
        }
        let (begin, bytes, turns) = (Instant::now(), resident_bytes(), turns());
        let mut random = Random::new(11);
        let own = || Context::new(from_ref(queue.device())).unwrap();
        let mut worlds = [World::new(&queue, queue.context().clone()), World::new(&queue, own())];
        for turn in 0..turns {
            worlds[random.below(2)].turn(&mut random);
            // Built code stays in some runtimes until the process ends.
            if turn % 5000 == 4999 {
                let place = random.below(2);
                worlds[place].submit(&mut random);
                worlds[place] = World::new(&queue, [own(), queue.context().clone()][random.below(2)].clone());
            }
            TURN.fetch_add(1, Ordering::Relaxed);
        }
        let more_bytes = resident_bytes().saturating_sub(bytes);
        let device = queue.device().filter_string();
        eprintln!("{device}: {turns} turns in {:.1?}, {more_bytes} bytes more", begin.elapsed());
        drop(worlds);
        TURN.fetch_add(1, Ordering::Relaxed);
    }
}
