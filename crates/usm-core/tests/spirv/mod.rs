//! A small assembler for SPIR-V, and one kernel written in it. Numbers are those of SPIR-V 1.6, §3 (binary form).
#![allow(clippy::unwrap_used, dead_code)]

/// Instructions by name.
#[derive(Clone, Copy)]
#[repr(u16)]
pub(crate) enum Op {
    MemoryModel = 14,
    EntryPoint = 15,
    Capability = 17,
    TypeVoid = 19,
    TypeInt = 21,
    TypeVector = 23,
    TypePointer = 32,
    TypeFunction = 33,
    Function = 54,
    FunctionParameter = 55,
    FunctionEnd = 56,
    Variable = 59,
    Load = 61,
    Store = 62,
    InBoundsPtrAccessChain = 70,
    Decorate = 71,
    CompositeExtract = 81,
    Label = 248,
    Return = 253,
}

const ADDRESSES: u32 = 4;
const KERNEL: u32 = 6;
const INT64: u32 = 11;
const PHYSICAL64: u32 = 2;
const OPENCL: u32 = 2;
const INPUT: u32 = 1;
const CROSS_WORKGROUP: u32 = 5;
const BUILT_IN: u32 = 11;
const GLOBAL_INVOCATION_ID: u32 = 28;
const ALIGNED: u32 = 2;

/// The words of a module.
pub(crate) struct Assembler {
    words: Vec<u32>,
}

impl Assembler {
    /// A module of SPIR-V 1.0 whose identifiers are below `bound`.
    pub(crate) fn new(bound: u32) -> Self {
        Self { words: vec![0x0723_0203, 0x0001_0000, 0, bound, 0] }
    }

    /// One instruction: its number and length in words, then the operands.
    pub(crate) fn op(&mut self, op: Op, operands: &[u32]) -> &mut Self {
        let count = u32::try_from(operands.len() + 1).unwrap();
        self.words.push(count << 16 | u32::from(op as u16));
        self.words.extend_from_slice(operands);
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }
}

/// A text as an operand: zero-terminated, filled up to whole words, lowest byte first.
pub(crate) fn text(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    bytes.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect()
}

/// `kernel void NAME(global uint *to, uint value) { to[get_global_id(0)] = value; }`
pub(crate) fn fill_module(name: &str) -> Vec<u8> {
    let [void, uint, ulong, ids, ids_pointer, uint_pointer, signature] = [1, 2, 3, 4, 5, 6, 7];
    let [global_id, main, to, value, start, all_ids, id, element] = [8, 9, 10, 11, 12, 13, 14, 15];
    let mut module = Assembler::new(16);
    module
        .op(Op::Capability, &[ADDRESSES])
        .op(Op::Capability, &[KERNEL])
        .op(Op::Capability, &[INT64])
        .op(Op::MemoryModel, &[PHYSICAL64, OPENCL])
        .op(Op::EntryPoint, &[&[KERNEL, main], &text(name)[..], &[global_id]].concat())
        .op(Op::Decorate, &[global_id, BUILT_IN, GLOBAL_INVOCATION_ID])
        .op(Op::TypeVoid, &[void])
        .op(Op::TypeInt, &[uint, 32, 0])
        .op(Op::TypeInt, &[ulong, 64, 0])
        .op(Op::TypeVector, &[ids, ulong, 3])
        .op(Op::TypePointer, &[ids_pointer, INPUT, ids])
        .op(Op::TypePointer, &[uint_pointer, CROSS_WORKGROUP, uint])
        .op(Op::TypeFunction, &[signature, void, uint_pointer, uint])
        .op(Op::Variable, &[ids_pointer, global_id, INPUT])
        .op(Op::Function, &[void, main, 0, signature])
        .op(Op::FunctionParameter, &[uint_pointer, to])
        .op(Op::FunctionParameter, &[uint, value])
        .op(Op::Label, &[start])
        .op(Op::Load, &[ids, all_ids, global_id, ALIGNED, 32])
        .op(Op::CompositeExtract, &[ulong, id, all_ids, 0])
        .op(Op::InBoundsPtrAccessChain, &[uint_pointer, element, to, id])
        .op(Op::Store, &[element, value, ALIGNED, 4])
        .op(Op::Return, &[])
        .op(Op::FunctionEnd, &[])
        .bytes()
}
