//! Runs a kernel: one block after the other, the threads of a block in turns.
//!
//! A thread runs until it ends, or waits at a barrier or for its warp. When no thread of the block can run, the warps whose lanes have
//! all come go on, then the barriers. A block in which nothing can go on has a deadlock, which is a fault.

use crate::codes::Code;

use super::instruction::{
    AddressOperand, Combine, DYNAMIC, Guard, Instruction, Kernel, LOCAL, LaneMask, MODULE, Operand,
    Operation, PARAMETERS, Reduction, Register, SHARED, Shuffle, Special, Vote, WINDOW, WarpOperation,
};

/// What is wrong, and the code that the context returns from then on.
pub(crate) type Fault = (Code, String);

/// The memory outside of the kernel.
pub(crate) trait GlobalMemory {
    fn load(&mut self, address: u64, to: &mut [u8]) -> Result<(), Fault>;
    fn store(&mut self, address: u64, from: &[u8]) -> Result<(), Fault>;
}

/// The size of a launch, along x, y and z, and what the kernel gets.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    pub(crate) blocks: [u32; 3],
    pub(crate) threads: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub(crate) dynamic_bytes: usize,
    pub(crate) parameters: &'a [u8],
}

const LANES: usize = 32;
/// New memory and registers have no known contents.
const GARBAGE: u8 = 0xCB;
/// Instructions of a thread before another one has its turn, since it may wait for the other one.
const TURN: u32 = 1 << 16;
/// Instructions of a launch before it counts as endless.
const PATIENCE: u64 = 1 << 34;

impl Kernel {
    /// Runs all blocks. `variables` are those of the module.
    pub(crate) fn run(
        &self,
        grid: &Grid<'_>,
        variables: &mut [u8],
        memory: &mut dyn GlobalMemory,
    ) -> Result<(), Fault> {
        let count = grid.threads.iter().map(|&size| size as usize).product();
        let spaces = Spaces {
            shared: vec![0; self.shared_bytes],
            dynamic: vec![0; grid.dynamic_bytes],
            local: vec![0; self.local_bytes * count],
            local_bytes: self.local_bytes,
            variables,
            parameters: grid.parameters,
            memory,
        };
        let mut block = Block {
            kernel: self,
            grid,
            at: [0; 3],
            registers: vec![0; self.registers * count],
            threads: vec![Thread { pc: 0, state: State::Ready }; count],
            spaces,
            steps: 0,
        };
        for z in 0..grid.blocks[2] {
            for y in 0..grid.blocks[1] {
                for x in 0..grid.blocks[0] {
                    block.at = [x, y, z];
                    block.run()?;
                }
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// At a barrier of this number, which so many threads wait for; 0 for all.
    Barrier {
        number: u64,
        threads: u64,
    },
    /// Waits for other lanes.
    Warp,
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    /// The next instruction; of a thread that waits, the one behind that for which it waits.
    pc: usize,
    state: State,
}

/// The memory of a block.
struct Spaces<'a> {
    shared: Vec<u8>,
    dynamic: Vec<u8>,
    /// Of all threads, one after the other.
    local: Vec<u8>,
    local_bytes: usize,
    variables: &'a mut [u8],
    parameters: &'a [u8],
    memory: &'a mut dyn GlobalMemory,
}

struct Block<'a> {
    kernel: &'a Kernel,
    grid: &'a Grid<'a>,
    at: [u32; 3],
    /// Of all threads, one after the other.
    registers: Vec<u64>,
    threads: Vec<Thread>,
    spaces: Spaces<'a>,
    steps: u64,
}

/// Where a thread is, for special registers.
#[derive(Clone, Copy)]
struct Position<'a> {
    number: usize,
    block: [u32; 3],
    grid: &'a Grid<'a>,
    kernel: &'a Kernel,
    steps: u64,
}

impl Position<'_> {
    fn thread(&self) -> [usize; 3] {
        let [x, y, _] = self.grid.threads.map(|size| size as usize);
        [self.number % x, self.number / x % y, self.number / x / y]
    }

    fn special(&self, special: Special) -> u64 {
        let lane = self.number % LANES;
        match special {
            Special::Tid(axis) => self.thread()[usize::from(axis)] as u64,
            Special::Ntid(axis) => self.grid.threads[usize::from(axis)].into(),
            Special::Ctaid(axis) => self.block[usize::from(axis)].into(),
            Special::Nctaid(axis) => self.grid.blocks[usize::from(axis)].into(),
            Special::LaneId => lane as u64,
            Special::WarpId => (self.number / LANES) as u64,
            Special::NumWarps => {
                let threads: usize = self.grid.threads.iter().map(|&size| size as usize).product();
                threads.div_ceil(LANES) as u64
            }
            Special::LaneMask(mask) => {
                let less = (1_u64 << lane) - 1;
                let all = u64::from(u32::MAX);
                match mask {
                    LaneMask::Eq => 1 << lane,
                    LaneMask::Lt => less,
                    LaneMask::Le => less | 1 << lane,
                    LaneMask::Ge => all & !less,
                    LaneMask::Gt => all & !(less | 1 << lane),
                }
            }
            Special::SharedBytes { is_dynamic } => {
                let fixed = if is_dynamic { 0 } else { self.kernel.shared_bytes };
                (fixed + self.grid.dynamic_bytes) as u64
            }
            Special::Clock => self.steps,
            Special::Zero => 0,
        }
    }

    fn value(&self, operand: Operand, registers: &[u64]) -> u64 {
        match operand {
            Operand::Register(register) => registers[register as usize],
            Operand::Value(value) => value,
            Operand::Special(special) => self.special(special),
        }
    }

    fn address(&self, place: &AddressOperand, registers: &[u64]) -> u64 {
        let base = self.value(place.base, registers).wrapping_add(place.offset);
        // A window and an address of another window give an address of no window.
        base.wrapping_add(place.window)
    }
}

impl Spaces<'_> {
    /// The bytes of a range of a window, and whether they may be written; `None` for global memory.
    fn window(
        &mut self,
        thread: usize,
        address: u64,
        len_bytes: usize,
    ) -> Result<Option<(&mut [u8], usize)>, Fault> {
        let offset = address & !WINDOW;
        let (bytes, offset, what) = match address & WINDOW {
            SHARED if offset >= DYNAMIC => (&mut self.dynamic[..], offset - DYNAMIC, "dynamic shared memory"),
            SHARED => (&mut self.shared[..], offset, "shared memory"),
            LOCAL => {
                let start = thread * self.local_bytes;
                (&mut self.local[start..start + self.local_bytes], offset, "local memory")
            }
            MODULE => (&mut *self.variables, offset, "the variables of the module"),
            _ => return Ok(None),
        };
        let total = bytes.len();
        let start = usize::try_from(offset).ok().filter(|start| start.saturating_add(len_bytes) <= total);
        let outside = || {
            (Code::ILLEGAL_ADDRESS, format!("{offset:#x} + {len_bytes} leaves the {total} bytes of {what}"))
        };
        Ok(Some((bytes, start.ok_or_else(outside)?)))
    }

    fn load(&mut self, thread: usize, address: u64, to: &mut [u8]) -> Result<(), Fault> {
        check_alignment(address, to.len())?;
        if address & WINDOW == PARAMETERS {
            let start = usize::try_from(address & !WINDOW).unwrap_or(usize::MAX);
            let from = self.parameters.get(start..start.saturating_add(to.len()));
            let outside = || (Code::ILLEGAL_ADDRESS, format!("{start} + {} leaves the parameters", to.len()));
            to.copy_from_slice(from.ok_or_else(outside)?);
            return Ok(());
        }
        match self.window(thread, address, to.len())? {
            Some((bytes, start)) => {
                to.copy_from_slice(&bytes[start..start + to.len()]);
                Ok(())
            }
            None => self.memory.load(address, to),
        }
    }

    fn store(&mut self, thread: usize, address: u64, from: &[u8]) -> Result<(), Fault> {
        check_alignment(address, from.len())?;
        match self.window(thread, address, from.len())? {
            Some((bytes, start)) => {
                bytes[start..start + from.len()].copy_from_slice(from);
                Ok(())
            }
            None => self.memory.store(address, from),
        }
    }
}

fn check_alignment(address: u64, len_bytes: usize) -> Result<(), Fault> {
    if address.is_multiple_of(len_bytes as u64) {
        return Ok(());
    }
    Err((Code::MISALIGNED_ADDRESS, format!("{address:#x} is no multiple of {len_bytes}")))
}

impl Block<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        self.registers.fill(u64::from_ne_bytes([GARBAGE; 8]));
        for bytes in [&mut self.spaces.shared, &mut self.spaces.dynamic, &mut self.spaces.local] {
            bytes.fill(GARBAGE);
        }
        self.threads.fill(Thread { pc: 0, state: State::Ready });
        loop {
            for thread in 0..self.threads.len() {
                if self.threads[thread].state == State::Ready {
                    self.advance(thread)?;
                }
            }
            if self.steps > PATIENCE {
                return Err((Code::LAUNCH_TIMEOUT, format!("the block {:?} does not end", self.at)));
            }
            if self.threads.iter().any(|thread| thread.state == State::Ready) {
                continue;
            }
            if self.threads.iter().all(|thread| thread.state == State::Done) {
                return Ok(());
            }
            if !self.warps(false) && !self.warps(true) && !self.barriers() {
                return Err((Code::LAUNCH_TIMEOUT, self.deadlock()));
            }
        }
    }

    fn deadlock(&self) -> String {
        let waiting = self.threads.iter().filter(|thread| thread.state != State::Done);
        let mut lines: Vec<_> = waiting.map(|thread| self.kernel.code[thread.pc - 1].line).collect();
        lines.sort_unstable();
        lines.dedup();
        format!("the block {:?} waits for ever in the lines {lines:?}", self.at)
    }

    fn position(&self, number: usize) -> Position<'_> {
        Position { number, block: self.at, grid: self.grid, kernel: self.kernel, steps: self.steps }
    }

    fn registers(&self, thread: usize) -> &[u64] {
        let start = thread * self.kernel.registers;
        &self.registers[start..start + self.kernel.registers]
    }

    fn set(&mut self, thread: usize, register: Register, value: u64) {
        self.registers[thread * self.kernel.registers + register as usize] = value;
    }

    /// Runs a thread until it waits or ends.
    fn advance(&mut self, number: usize) -> Result<(), Fault> {
        let position =
            Position { number, block: self.at, grid: self.grid, kernel: self.kernel, steps: self.steps };
        let start = number * self.kernel.registers;
        let registers = &mut self.registers[start..start + self.kernel.registers];
        let code = &self.kernel.code[..];
        let mut pc = self.threads[number].pc;
        let mut state = State::Ready;
        for step in 0..TURN {
            // The last instruction is an exit, and branches lead to one of the code.
            let Instruction { guard, operation, line } = &code[pc];
            pc += 1;
            let runs = match *guard {
                Guard::Always => true,
                Guard::If(register) => registers[register as usize] != 0,
                Guard::Unless(register) => registers[register as usize] == 0,
            };
            if !runs {
                continue;
            }
            match step_of(operation, position, registers, &mut self.spaces) {
                Ok(Step::Next) => {}
                Ok(Step::Jump(target)) => pc = target as usize,
                Ok(Step::Wait(waiting)) => {
                    state = waiting;
                    self.steps += u64::from(step);
                    break;
                }
                Err((code, text)) => {
                    let (thread, block) = (position.thread(), self.at);
                    return Err((code, format!("{text}, line {line}, thread {thread:?} of block {block:?}")));
                }
            }
        }
        if state == State::Ready {
            self.steps += u64::from(TURN);
        }
        self.threads[number] = Thread { pc, state };
        Ok(())
    }

    /// Lets warps go on whose lanes have come; whether one did.
    fn warps(&mut self, is_mask_of_active: bool) -> bool {
        let mut has_run = false;
        for first in (0..self.threads.len()).step_by(LANES) {
            let lanes = first..(first + LANES).min(self.threads.len());
            for thread in lanes.clone() {
                if self.threads[thread].state != State::Warp {
                    continue;
                }
                let pc = self.threads[thread].pc;
                let kernel = self.kernel;
                let Operation::Warp { operation, mask } = &kernel.code[pc - 1].operation else { continue };
                let is_here = |other: &Thread| other.state == State::Warp && other.pc == pc;
                let is_of_active = matches!(operation, WarpOperation::ActiveMask { .. });
                if is_of_active != is_mask_of_active {
                    continue;
                }
                let mask = self.position(thread).value(*mask, self.registers(thread)) as u32;
                let is_member = |lane: usize| is_of_active || mask >> (lane - first) & 1 == 1;
                let members: Vec<usize> = lanes
                    .clone()
                    .filter(|&lane| is_member(lane) && self.threads[lane].state != State::Done)
                    .filter(|&lane| !is_of_active || is_here(&self.threads[lane]))
                    .collect();
                if members.contains(&thread) && members.iter().all(|&lane| is_here(&self.threads[lane])) {
                    self.together(*operation, first, &members);
                    for lane in members {
                        self.threads[lane].state = State::Ready;
                    }
                    has_run = true;
                }
            }
        }
        has_run
    }

    /// What the lanes of a warp that begins with a thread do together.
    fn together(&mut self, operation: WarpOperation, first: usize, members: &[usize]) {
        let value = |block: &Self, thread: usize, operand| {
            block.position(thread).value(operand, block.registers(thread))
        };
        match operation {
            WarpOperation::Synchronize => {}
            WarpOperation::ActiveMask { to } => {
                let mask = members.iter().fold(0, |mask, lane| mask | 1 << (lane - first));
                members.iter().for_each(|&thread| self.set(thread, to, mask));
            }
            WarpOperation::Vote { mode, to, value: operand, negated } => {
                let is_set = |thread: &usize| (value(self, *thread, operand) != 0) != negated;
                let count = members.iter().filter(|thread| is_set(thread)).count();
                let result = match mode {
                    Vote::All => u64::from(count == members.len()),
                    Vote::Any => u64::from(count > 0),
                    Vote::Uniform => u64::from(count == 0 || count == members.len()),
                    Vote::Ballot => {
                        let lanes = members.iter().filter(|thread| is_set(thread));
                        lanes.fold(0, |mask, lane| mask | 1 << (lane - first))
                    }
                };
                members.iter().for_each(|&thread| self.set(thread, to, result));
            }
            WarpOperation::Shuffle { mode, to, is_inside, value: operand, lane, clamp } => {
                let results: Vec<_> = members
                    .iter()
                    .map(|&thread| {
                        let own = thread - first;
                        let lane = value(self, thread, lane) as usize & 31;
                        let clamp = value(self, thread, clamp) as usize;
                        let (source, is_inside) = shuffle(mode, own, lane, clamp);
                        // A lane that takes no part, or does not exist, has no defined value.
                        let from = if members.contains(&(first + source)) { first + source } else { thread };
                        (thread, value(self, from, operand) & u64::from(u32::MAX), is_inside)
                    })
                    .collect();
                for (thread, result, inside) in results {
                    self.set(thread, to, result);
                    if let Some(register) = is_inside {
                        self.set(thread, register, inside.into());
                    }
                }
            }
        }
    }

    /// Opens barriers that all threads have come to; whether one was.
    fn barriers(&mut self) -> bool {
        let live = self.threads.iter().filter(|thread| thread.state != State::Done).count() as u64;
        let mut has_opened = false;
        for first in 0..self.threads.len() {
            let waiting = self.threads[first].state;
            let State::Barrier { number, threads } = waiting else { continue };
            let is_here = |thread: &Thread| thread.state == State::Barrier { number, threads };
            let here: Vec<usize> =
                (0..self.threads.len()).filter(|&thread| is_here(&self.threads[thread])).collect();
            let needed = if threads == 0 { live } else { threads };
            if (here.len() as u64) < needed {
                continue;
            }
            let reductions = here.iter().map(|&thread| {
                let operation = &self.kernel.code[self.threads[thread].pc - 1].operation;
                let Operation::Barrier { reduction: Some((mode, to, operand, negated)), .. } = operation
                else {
                    return None;
                };
                let value = self.position(thread).value(*operand, self.registers(thread));
                Some((thread, *mode, *to, (value != 0) != *negated))
            });
            let reductions: Vec<_> = reductions.flatten().collect();
            let count = reductions.iter().filter(|(.., is_set)| *is_set).count();
            for &(thread, mode, to, _) in &reductions {
                let result = match mode {
                    Reduction::Count => count as u64,
                    Reduction::And => u64::from(count == reductions.len()),
                    Reduction::Or => u64::from(count > 0),
                };
                self.set(thread, to, result);
            }
            for thread in here {
                self.threads[thread].state = State::Ready;
            }
            has_opened = true;
        }
        has_opened
    }
}

/// The lane that a lane reads, and whether it is inside of its segment, as the PTX manual has it.
fn shuffle(mode: Shuffle, own: usize, by: usize, clamp: usize) -> (usize, bool) {
    let segment = clamp >> 8 & 31;
    let max = own & segment | clamp & 31 & !segment;
    let min = own & segment;
    let (source, is_inside) = match mode {
        Shuffle::Up => (own.wrapping_sub(by), own >= by && own - by >= max),
        Shuffle::Down => (own + by, own + by <= max),
        Shuffle::Butterfly => (own ^ by, own ^ by <= max),
        Shuffle::Index => (min | by & !segment, min | by & !segment <= max),
    };
    if is_inside { (source, true) } else { (own, false) }
}

/// What a thread does after an instruction.
enum Step {
    Next,
    Jump(u32),
    Wait(State),
}

fn step_of(
    operation: &Operation,
    position: Position<'_>,
    registers: &mut [u64],
    spaces: &mut Spaces<'_>,
) -> Result<Step, Fault> {
    let value = |operand: Operand, registers: &[u64]| position.value(operand, registers);
    match operation {
        Operation::Compute { run, to, operands: [a, b, c, d] } => {
            let result =
                run(value(*a, registers), value(*b, registers), value(*c, registers), value(*d, registers));
            registers[*to as usize] = result;
        }
        Operation::Compare { run, combine, to, also, operands: [a, b, c] } => {
            let is = run(value(*a, registers), value(*b, registers), 0, 0) != 0;
            let other = value(*c, registers) != 0;
            let combined = |is: bool| match *combine {
                Combine::Only => is,
                Combine::And { negated } => is & (other != negated),
                Combine::Or { negated } => is | (other != negated),
                Combine::Xor { negated } => is ^ (other != negated),
            };
            registers[*to as usize] = combined(is).into();
            if let Some(also) = also {
                registers[*also as usize] = combined(!is).into();
            }
        }
        Operation::Convert { convert, to, from } => {
            registers[*to as usize] = convert.run(value(*from, registers));
        }
        Operation::Pack { to, parts, part_bits } => {
            let mask = u64::MAX >> (64 - part_bits);
            let packed = parts
                .iter()
                .rev()
                .fold(0_u64, |packed, part| packed << part_bits | value(*part, registers) & mask);
            registers[*to as usize] = packed;
        }
        Operation::Unpack { to, from, part_bits } => {
            let (from, mask) = (value(*from, registers), u64::MAX >> (64 - part_bits));
            for (to, index) in to.iter().zip(0..) {
                registers[*to as usize] = from >> (index * part_bits) & mask;
            }
        }
        Operation::Load { ty, to, count, place } => {
            let (size, count) = (ty.len_bytes(), usize::from(*count));
            let mut bytes = [0; 32];
            spaces.load(position.number, position.address(place, registers), &mut bytes[..size * count])?;
            for (to, bytes) in to.iter().zip(bytes[..size * count].chunks(size)) {
                let mut word = [0; 8];
                word[..size].copy_from_slice(bytes);
                registers[*to as usize] = ty.extend(u64::from_le_bytes(word));
            }
        }
        Operation::Store { ty, from, count, place } => {
            let (size, count) = (ty.len_bytes(), usize::from(*count));
            let mut bytes = [0; 32];
            for (bytes, from) in bytes[..size * count].chunks_mut(size).zip(from) {
                bytes.copy_from_slice(&value(*from, registers).to_le_bytes()[..size]);
            }
            spaces.store(position.number, position.address(place, registers), &bytes[..size * count])?;
        }
        Operation::Atomic { run, ty, to, operands: [a, b], place } => {
            let (size, address) = (ty.len_bytes(), position.address(place, registers));
            let mut word = [0; 8];
            spaces.load(position.number, address, &mut word[..size])?;
            let old = ty.extend(u64::from_le_bytes(word));
            let new = run(old, value(*a, registers), value(*b, registers), 0);
            spaces.store(position.number, address, &new.to_le_bytes()[..size])?;
            if let Some(to) = to {
                registers[*to as usize] = old;
            }
        }
        Operation::Branch { target } => return Ok(Step::Jump(*target)),
        Operation::BranchTable { index, targets } => {
            let index = value(*index, registers) as u32;
            let target = targets.get(index as usize).copied();
            let outside =
                || (Code::LAUNCH_FAILED, format!("{index} is no index of {} targets", targets.len()));
            return target.map(Step::Jump).ok_or_else(outside);
        }
        Operation::Barrier { number, threads, .. } => {
            let threads = threads.map_or(0, |threads| value(threads, registers) & u64::from(u32::MAX));
            let number = value(*number, registers) & u64::from(u32::MAX);
            return Ok(Step::Wait(State::Barrier { number, threads }));
        }
        Operation::Warp { .. } => return Ok(Step::Wait(State::Warp)),
        Operation::Nothing => {}
        Operation::Trap => return Err((Code::LAUNCH_FAILED, "a trap".to_owned())),
        Operation::Exit => return Ok(Step::Wait(State::Done)),
    }
    Ok(Step::Next)
}
