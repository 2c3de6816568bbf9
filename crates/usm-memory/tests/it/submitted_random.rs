//! Random operations of several queues on few buffers, imports and parts of them, against a model
#![allow(clippy::unwrap_used)]

use crate::common;
use std::sync::Arc;

use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::{DelayedBackend, Random, campaign};
use usm_memory::usm_core::{Event, Queue, QueueProperties, Runtime, UsmKind};
use usm_memory::{Operand, UsmBuffer, submit};

/// Bytes that are looked at. The slots are larger, so that a slab has few of them and they come back soon.
const LEN: usize = 32;
const SLOT_BYTES: usize = 256 << 10;

/// The same bytes by several buffers, and what they should be.
struct Known {
    aliases: Vec<UsmBuffer>,
    is_published: bool,
    /// Then nothing is published: others would know a lease, but not the memory below.
    is_leased: bool,
    bytes: [u8; LEN],
}

struct Machine {
    random: Random,
    queues: Vec<Queue>,
    pool: PoolResource,
    places: Vec<Known>,
}

impl Machine {
    fn queue(&mut self) -> Queue {
        let number = self.random.below(self.queues.len());
        self.queues[number].clone()
    }

    fn alias(&mut self, place: usize) -> UsmBuffer {
        let number = self.random.below(self.places[place].aliases.len());
        self.places[place].aliases[number].clone()
    }

    fn fill(&mut self, place: usize, start: usize, len_bytes: usize) {
        let (queue, buffer, value) = (self.queue(), self.alias(place), self.random.below(256) as u8);
        let operand = Operand::written(&buffer, start..start + len_bytes);
        let set = |to: &[*mut u8], after: &[Event]| {
            // SAFETY: the bytes of the operand.
            unsafe { queue.memset(to[0], value, len_bytes, after) }
        };
        // SAFETY: 1. The bytes of the operand. 2. Memory of the queue's context.
        unsafe { submit(&queue, &[operand], set) }.unwrap();
        self.places[place].bytes[start..start + len_bytes].fill(value);
    }

    /// Copies between two places, or within one.
    fn copy(&mut self) {
        let [to, from] = [0; 2].map(|_| self.random.below(self.places.len()));
        let len_bytes = 1 + self.random.below(LEN / 2);
        let [mut start, source] = [0; 2].map(|_| self.random.below(LEN / 2 - len_bytes + 1));
        start += if to == from { LEN / 2 } else { 0 };
        let (queue, target, read) = (self.queue(), self.alias(to), self.alias(from));
        let written = Operand::written(&target, start..start + len_bytes);
        let read = Operand::read(&read, source..source + len_bytes);
        let copy = |ends: &[*mut u8], after: &[Event]| {
            // SAFETY: the bytes of the operands, which do not overlap.
            unsafe { queue.memcpy(ends[0], ends[1], len_bytes, after) }
        };
        // SAFETY: 1. The bytes of the operands. 2. Memory of the queue's context.
        unsafe { submit(&queue, &[written, read], copy) }.unwrap();
        let bytes = self.places[from].bytes;
        self.places[to].bytes[start..start + len_bytes].copy_from_slice(&bytes[source..source + len_bytes]);
    }

    fn read(&mut self, place: usize) {
        let (buffer, start) = (self.alias(place), self.random.below(LEN));
        let mut found = [0; LEN];
        let found = &mut found[start..];
        buffer.copy_to_host(found, start).unwrap();
        assert_eq!(found, &self.places[place].bytes[start..], "place {place}");
    }

    fn write(&mut self, place: usize) {
        let (buffer, start, value) =
            (self.alias(place), self.random.below(LEN - 4), self.random.below(256) as u8);
        buffer.copy_from_host(&[value; 4], start).unwrap();
        self.places[place].bytes[start..start + 4].fill(value);
    }

    /// Other memory in place of that of a place.
    fn renew(&mut self, place: usize) {
        self.places[place].aliases.clear();
        (self.places[place].is_published, self.places[place].is_leased) = (false, false);
        let queue = self.queue();
        let memory = match self.random.below(3) {
            0 => common::direct(&queue, UsmKind::Device, LEN),
            _ => UsmBuffer::allocate_in(&self.pool, &queue, UsmKind::Device, SLOT_BYTES).unwrap(),
        };
        self.places[place].aliases.push(memory);
        self.fill(place, 0, LEN);
    }

    /// Another buffer for the bytes.
    fn share(&mut self, place: usize) {
        let (buffer, queue) = (self.alias(place), self.queue());
        let len_bytes = buffer.len_bytes();
        let alias = match self.random.below(4) {
            0 => buffer.on_queue(&queue).unwrap(),
            1 if self.places[place].is_published => return,
            1 => {
                self.places[place].is_leased = true;
                UsmBuffer::lease(buffer.sub_buffer(0, LEN).unwrap(), &queue, drop).unwrap()
            }
            _ if self.places[place].is_leased => return,
            other => {
                self.places[place].is_published = true;
                if other == 2 {
                    buffer.publish().unwrap();
                } else {
                    // What the queue gets from now on comes after that of the buffer.
                    buffer.publish_in_order().unwrap();
                    queue.barrier(&[buffer.queue().barrier(&[]).unwrap()]).unwrap();
                }
                let owner = Arc::new(buffer.clone());
                // SAFETY: 1. to 3. The owner is the buffer, whose guards are in one table.
                unsafe { UsmBuffer::borrow(&queue, buffer.address(), len_bytes, true, owner) }.unwrap()
            }
        };
        self.places[place].aliases.push(alias);
    }

    /// Memory goes while an operation that no block knows is under way.
    fn release(&mut self, place: usize) {
        let queue = self.queue();
        {
            let buffer = self.alias(place);
            let mut after = buffer.events();
            // Imports know what came before the publication by queues alone.
            let owners: Vec<_> = self.places[place].aliases.iter().map(|one| one.queue().clone()).collect();
            after.extend(owners.iter().map(|queue| queue.barrier(&[]).unwrap()));
            let start = std::ptr::with_exposed_provenance_mut(buffer.address());
            // SAFETY: the memory is released in the order of the queue.
            unsafe { queue.memset(start, 0xEE, LEN, &after) }.unwrap();
            buffer.release_on(&queue).unwrap();
        }
        self.renew(place);
    }

    fn step(&mut self) {
        let place = self.random.below(self.places.len());
        match self.random.below(20) {
            0..6 => self.copy(),
            6..11 => {
                let start = self.random.below(LEN);
                let len_bytes = 1 + self.random.below(LEN - start);
                self.fill(place, start, len_bytes);
            }
            11..14 => self.read(place),
            14 => self.write(place),
            15 | 16 => self.renew(place),
            17 => self.release(place),
            18 if self.places[place].aliases.len() < 4 => self.share(place),
            _ => {
                let aliases = &mut self.places[place].aliases;
                if aliases.len() > 1 {
                    let gone = self.random.below(aliases.len());
                    aliases.swap_remove(gone);
                }
            }
        }
    }
}

#[test]
fn random_operations_find_what_the_model_says() {
    // Each is as long as ten of the other tests of schedules.
    let schedules = campaign::number("USM_TEST_SCHEDULES", 600) / 10;
    for seed in 1..=schedules as u64 {
        let delayed =
            DelayedBackend::new(Arc::new(HostBackend::new()), seed).with_max_delay(match seed % 3 {
                0 => 4,
                1 => 100,
                _ => 1 << 40,
            });
        let delayed = Arc::new(delayed);
        let runtime = Runtime::with_backend(delayed.clone()).unwrap();
        let device = runtime.default_device().unwrap();
        let context = device.default_context().unwrap();
        let properties =
            [QueueProperties::IN_ORDER, QueueProperties::IN_ORDER, QueueProperties::OUT_OF_ORDER];
        let queues = properties.map(|properties| context.create_queue(&device, properties).unwrap());
        let mut machine = Machine {
            random: Random::new(seed),
            queues: queues.to_vec(),
            pool: PoolResource::new(Arc::new(DirectResource), PoolOptions::new()),
            places: (0..5)
                .map(|_| Known { aliases: vec![], is_published: false, is_leased: false, bytes: [0; LEN] })
                .collect(),
        };
        (0..5).for_each(|place| machine.renew(place));
        for step in 0..400 {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| machine.step()));
            assert!(done.is_ok(), "seed {seed}, step {step}");
            assert!(delayed.faults().is_empty(), "seed {seed}, step {step}: {:?}", delayed.faults());
        }
        (0..5).for_each(|place| machine.read(place));
        drop(machine);
        assert!(delayed.faults().is_empty(), "seed {seed}");
    }
    campaign::figure(&format!(
        "{schedules} schedules of 400 random operations, as the model says, 0 early releases"
    ))
    .unwrap();
}
