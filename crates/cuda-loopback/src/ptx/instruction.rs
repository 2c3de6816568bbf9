//! Instructions as the interpreter runs them.

use super::alu::Alu;
use super::convert::Convert;
use super::types::Type;

/// A register of a thread.
pub(super) type Register = u32;

/// Windows of addresses that no allocation has. A generic address is one of a window, or of global memory.
pub(super) const SHARED: u64 = 1 << 48;
pub(super) const LOCAL: u64 = 2 << 48;
pub(super) const MODULE: u64 = 3 << 48;
pub(super) const PARAMETERS: u64 = 4 << 48;
/// Dynamic shared memory begins here in the window of shared memory.
pub(super) const DYNAMIC: u64 = 1 << 24;
/// The bits that tell the window.
pub(super) const WINDOW: u64 = 0xffff << 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NumWarps,
    /// Lanes of the warp that are equal, less, and so on: the comparison of a lane's number with the own one.
    LaneMask(LaneMask),
    SharedBytes {
        is_dynamic: bool,
    },
    Clock,
    Zero,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneMask {
    Eq,
    Le,
    Lt,
    Ge,
    Gt,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Register(Register),
    Value(u64),
    Special(Special),
}

/// An instruction runs only if the predicate register is true, or false for the second.
#[derive(Clone, Copy, Debug)]
pub(super) enum Guard {
    Always,
    If(Register),
    Unless(Register),
}

#[derive(Debug)]
pub(super) struct Instruction {
    pub(super) guard: Guard,
    pub(super) operation: Operation,
    /// Line of the text.
    pub(super) line: u32,
}

/// Where an access goes: the window of a state space, or 0 for a generic address.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressOperand {
    pub(super) window: u64,
    pub(super) base: Operand,
    pub(super) offset: u64,
}

/// How `setp` combines a comparison with a predicate.
#[derive(Clone, Copy, Debug)]
pub(super) enum Combine {
    Only,
    And { negated: bool },
    Or { negated: bool },
    Xor { negated: bool },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// What the lanes of a warp do together.
#[derive(Clone, Copy, Debug)]
pub(super) enum WarpOperation {
    Shuffle {
        mode: Shuffle,
        to: Register,
        is_inside: Option<Register>,
        value: Operand,
        lane: Operand,
        clamp: Operand,
    },
    Vote {
        mode: Vote,
        to: Register,
        value: Operand,
        negated: bool,
    },
    ActiveMask {
        to: Register,
    },
    Synchronize,
}

/// What all threads of a block tell each other at a barrier.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reduction {
    Count,
    And,
    Or,
}

#[derive(Debug)]
pub(super) enum Operation {
    Compute {
        run: Alu,
        to: Register,
        operands: [Operand; 4],
    },
    Compare {
        run: Alu,
        combine: Combine,
        to: Register,
        also: Option<Register>,
        operands: [Operand; 3],
    },
    Convert {
        convert: Convert,
        to: Register,
        from: Operand,
    },
    /// Several registers as one, the lowest bits first.
    Pack {
        to: Register,
        parts: Vec<Operand>,
        part_bits: u32,
    },
    Unpack {
        to: Vec<Register>,
        from: Operand,
        part_bits: u32,
    },
    Load {
        ty: Type,
        to: [Register; 4],
        count: u8,
        place: AddressOperand,
    },
    Store {
        ty: Type,
        from: [Operand; 4],
        count: u8,
        place: AddressOperand,
    },
    Atomic {
        run: Alu,
        ty: Type,
        to: Option<Register>,
        operands: [Operand; 2],
        place: AddressOperand,
    },
    Branch {
        target: u32,
    },
    BranchTable {
        index: Operand,
        targets: Vec<u32>,
    },
    Barrier {
        number: Operand,
        threads: Option<Operand>,
        reduction: Option<(Reduction, Register, Operand, bool)>,
    },
    Warp {
        operation: WarpOperation,
        mask: Operand,
    },
    Nothing,
    Trap,
    Exit,
}

/// A variable of a module with its first bytes.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    pub(super) bytes: Vec<u8>,
}

impl Bytes {
    /// Adds space for a variable; its offset.
    pub(super) fn reserve(&mut self, len_bytes: usize, align_bytes: usize) -> usize {
        let start = self.bytes.len().next_multiple_of(align_bytes.max(1));
        self.bytes.resize(start + len_bytes, 0);
        start
    }
}

/// A kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// Offset and size of each parameter, in bytes.
    pub(crate) parameters: Vec<(usize, usize)>,
    /// The most threads of a block by its directives.
    pub(crate) max_threads: Option<u32>,
    /// The block that its directives demand.
    pub(crate) required: Option<[u32; 3]>,
    /// Shared memory without the dynamic part, in bytes.
    pub(crate) shared_bytes: usize,
    /// Memory of each thread, in bytes.
    pub(crate) local_bytes: usize,
    pub(crate) registers: usize,
    pub(super) code: Vec<Instruction>,
}

impl Kernel {
    /// Length of all parameters, in bytes.
    pub(crate) fn parameter_bytes(&self) -> usize {
        self.parameters.last().map_or(0, |(offset, len_bytes)| offset + len_bytes)
    }
}
