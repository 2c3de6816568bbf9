//! The interpreter against the same computations in Rust: single instructions, then kernels that a compiler made.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::{Fault, GlobalMemory, Grid, Module};
use crate::codes::Code;

/// Global memory: bytes from an address on.
struct Memory {
    bytes: Vec<u8>,
}

const BASE: u64 = 0x10_0000;

impl Memory {
    fn range(&self, address: u64, len_bytes: usize) -> Result<std::ops::Range<usize>, Fault> {
        let start = address.wrapping_sub(BASE) as usize;
        let end = start.saturating_add(len_bytes);
        if end > self.bytes.len() {
            return Err((Code::ILLEGAL_ADDRESS, format!("{address:#x} is outside")));
        }
        Ok(start..end)
    }
}

impl GlobalMemory for Memory {
    fn load(&mut self, address: u64, to: &mut [u8]) -> Result<(), Fault> {
        to.copy_from_slice(&self.bytes[self.range(address, to.len())?]);
        Ok(())
    }

    fn store(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        let range = self.range(address, from.len())?;
        self.bytes[range].copy_from_slice(from);
        Ok(())
    }
}

/// A launch along x, whose words are the parameters, in as many bytes as the kernel declares.
fn try_run(text: &str, name: &str, size: [u32; 2], words: &[u64], memory: &mut Memory) -> Result<(), Fault> {
    run_grid(text, name, [size[0], 1, 1], [size[1], 1, 1], words, memory)
}

fn run_grid(
    text: &str,
    name: &str,
    blocks: [u32; 3],
    threads: [u32; 3],
    words: &[u64],
    memory: &mut Memory,
) -> Result<(), Fault> {
    let module = Module::parse(text).unwrap();
    let kernel = module.kernels.iter().find(|kernel| kernel.name == name).unwrap();
    assert_eq!(kernel.parameters.len(), words.len());
    let mut parameters = vec![0; kernel.parameter_bytes()];
    for (&(offset, len_bytes), word) in kernel.parameters.iter().zip(words) {
        parameters[offset..offset + len_bytes].copy_from_slice(&word.to_le_bytes()[..len_bytes]);
    }
    let grid = Grid { blocks, threads, dynamic_bytes: 1024, parameters: &parameters };
    kernel.run(&grid, &mut module.variables.clone(), memory)
}

/// The text of a kernel with a body, which has the address in %rd1, and registers %rs, %r, %rd, %f, %d, %p, 16 of each.
fn kernel(body: &str) -> String {
    format!(
        ".version 6.3\n.target sm_70\n.address_size 64\n.extern .shared .align 16 .b8 dynamic[];\n\
         .visible .entry k(.param .u64 memory)\n{{\n.reg .pred %p<16>;\n.reg .b16 %rs<16>;\n.reg .b32 %r<16>;\n\
         .reg .b64 %rd<16>;\n.reg .f32 %f<16>;\n.reg .f64 %d<16>;\nld.param.u64 %rd1, [memory];\n{body}\nret;\n}}\n"
    )
}

/// What a body leaves in the first word of memory, whose next words are the given ones: %rd2, %rd3, and so on.
fn eval(body: &str, words: &[u64]) -> u64 {
    let loads: String =
        (0..words.len()).map(|i| format!("ld.global.b64 %rd{}, [%rd1+{}];\n", i + 2, 8 * (i + 1))).collect();
    let bytes = std::iter::once(&0).chain(words).flat_map(|word| word.to_le_bytes()).collect();
    let mut memory = Memory { bytes };
    let text = kernel(&format!("{loads}{body}\nst.global.b64 [%rd1], %rd15;"));
    try_run(&text, "k", [1, 1], &[BASE], &mut memory).unwrap_or_else(|error| panic!("{error:?} in {text}"));
    u64::from_le_bytes(memory.bytes[..8].try_into().unwrap())
}

/// The result of an instruction on operands of a type with 16, 32 or 64 bits.
fn instruction(name: &str, bits: u32, words: &[u64]) -> u64 {
    instruction_to(name, bits, bits, words)
}

fn instruction_to(name: &str, result_bits: u32, bits: u32, words: &[u64]) -> u64 {
    let prefix = |bits| match bits {
        16 => "%rs",
        32 => "%r",
        _ => "%rd",
    };
    let narrow = |i: usize| match bits {
        64 => String::new(),
        _ => format!("cvt.u{bits}.u64 {}{i}, %rd{i};\n", prefix(bits)),
    };
    let narrowed: String = (2..words.len() + 2).map(narrow).collect();
    let operands: String = (2..words.len() + 2).map(|i| format!(", {}{i}", prefix(bits))).collect();
    let widen = match result_bits {
        64 => String::new(),
        _ => format!("cvt.u64.u{result_bits} %rd15, {}15;", prefix(result_bits)),
    };
    eval(&format!("{narrowed}{name} {}15{operands};\n{widen}", prefix(result_bits)), words)
}

const WORDS: [u64; 12] = [
    0,
    1,
    2,
    7,
    33,
    0x7fff,
    0x8000,
    0xffff,
    0x8000_0000,
    0xffff_fff9,
    0x8000_0000_0000_0000,
    0x9e37_79b9_7f4a_7c15,
];

fn pairs() -> impl Iterator<Item = (u64, u64)> {
    WORDS.into_iter().flat_map(|a| WORDS.into_iter().map(move |b| (a, b)))
}

#[test]
fn integers_compute_as_in_rust() {
    for (a, b) in pairs() {
        macro_rules! check {
            ($($name:literal, $bits:literal, $ty:ty, |$x:ident, $y:ident| $result:expr;)+) => {$({
                let ($x, $y) = (a as $ty, b as $ty);
                let expected = ($result) as u64 & (u64::MAX >> (64 - $bits));
                assert_eq!(instruction($name, $bits, &[a, b]), expected, "{} {a:#x} {b:#x}", $name);
            })+};
        }
        check! {
            "add.s16", 16, i16, |x, y| x.wrapping_add(y);
            "add.u32", 32, u32, |x, y| x.wrapping_add(y);
            "sub.s64", 64, i64, |x, y| x.wrapping_sub(y);
            "sub.s32", 32, i32, |x, y| x.wrapping_sub(y);
            "add.sat.s32", 32, i32, |x, y| x.saturating_add(y);
            "mul.lo.s32", 32, i32, |x, y| x.wrapping_mul(y);
            "mul.lo.u64", 64, u64, |x, y| x.wrapping_mul(y);
            "mul.hi.u32", 32, u32, |x, y| (u64::from(x) * u64::from(y)) >> 32;
            "mul.hi.s32", 32, i32, |x, y| (i64::from(x) * i64::from(y)) >> 32;
            "mul.hi.u16", 16, u16, |x, y| (u32::from(x) * u32::from(y)) >> 16;
            "mul.hi.u64", 64, u64, |x, y| (u128::from(x) * u128::from(y)) >> 64;
            "mul.hi.s64", 64, i64, |x, y| (i128::from(x) * i128::from(y)) >> 64;
            "min.s32", 32, i32, |x, y| x.min(y);
            "min.u32", 32, u32, |x, y| x.min(y);
            "max.s64", 64, i64, |x, y| x.max(y);
            "max.u16", 16, u16, |x, y| x.max(y);
            "and.b32", 32, u32, |x, y| x & y;
            "or.b64", 64, u64, |x, y| x | y;
            "xor.b16", 16, u16, |x, y| x ^ y;
        }
        if b as u32 != 0 {
            check! {
                "div.u32", 32, u32, |x, y| x / y;
                "rem.u32", 32, u32, |x, y| x % y;
                "div.s32", 32, i32, |x, y| x.wrapping_div(y);
                "rem.s32", 32, i32, |x, y| x.wrapping_rem(y);
                "div.s64", 64, i64, |x, y| x.wrapping_div(y);
                "rem.u64", 64, u64, |x, y| x % y;
            }
        }
        let wide =
            |name, value| assert_eq!(instruction_to(name, 64, 32, &[a, b]), value, "{name} {a:#x} {b:#x}");
        wide("mul.wide.u32", u64::from(a as u32) * u64::from(b as u32));
        wide("mul.wide.s32", (i64::from(a as i32) * i64::from(b as i32)).cast_unsigned());
        assert_eq!(
            instruction_to("mul.wide.s16", 32, 16, &[a, b]) as i32,
            i32::from(a as i16) * i32::from(b as i16)
        );
        let c = 0x1234_5678_9abc_def0;
        assert_eq!(
            instruction("mad.lo.s32", 32, &[a, b, c]) as u32,
            (a as u32).wrapping_mul(b as u32).wrapping_add(c as u32)
        );
        assert_eq!(instruction("mad.lo.u64", 64, &[a, b, c]), a.wrapping_mul(b).wrapping_add(c));
        assert_eq!(
            eval(
                "cvt.u32.u64 %r2, %rd2;\ncvt.u32.u64 %r3, %rd3;\nmad.wide.u32 %rd15, %r2, %r3, %rd4;",
                &[a, b, c]
            ),
            (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)
        );
    }
}

#[test]
fn single_operands_compute_as_in_rust() {
    for a in WORDS {
        assert_eq!(instruction("neg.s32", 32, &[a]) as u32, (a as u32).wrapping_neg());
        assert_eq!(instruction("abs.s32", 32, &[a]) as u32, (a as i32).unsigned_abs());
        assert_eq!(instruction("abs.s64", 64, &[a]), a.cast_signed().unsigned_abs());
        assert_eq!(instruction("not.b64", 64, &[a]), !a);
        assert_eq!(instruction("cnot.b32", 32, &[a]), u64::from(a as u32 == 0));
        assert_eq!(instruction("popc.b32", 32, &[a]), u64::from((a as u32).count_ones()));
        assert_eq!(instruction_to("popc.b64", 32, 64, &[a]), u64::from(a.count_ones()));
        assert_eq!(instruction("clz.b32", 32, &[a]), u64::from((a as u32).leading_zeros()));
        assert_eq!(instruction_to("clz.b64", 32, 64, &[a]), u64::from(a.leading_zeros()));
        assert_eq!(instruction("brev.b32", 32, &[a]) as u32, (a as u32).reverse_bits());
        assert_eq!(instruction("brev.b64", 64, &[a]), a.reverse_bits());
        assert_eq!(instruction("bfind.u32", 32, &[a]) as u32, (a as u32).checked_ilog2().unwrap_or(u32::MAX));
        let differing = if (a as i32) < 0 { !(a as u32) } else { a as u32 };
        assert_eq!(instruction("bfind.s32", 32, &[a]) as u32, differing.checked_ilog2().unwrap_or(u32::MAX));
        assert_eq!(eval("mov.b64 {%r2, %r3}, %rd2;\nmov.b64 %rd15, {%r3, %r2};", &[a]), a.rotate_left(32));
        let halves = "cvt.u32.u64 %r2, %rd2;\nmov.b32 {%rs1, %rs2}, %r2;\nmov.b32 %r3, {%rs2, %rs1};\ncvt.u64.u32 %rd15, %r3;";
        assert_eq!(eval(halves, &[a]) as u32, (a as u32).rotate_left(16));
    }
}

#[test]
fn shifts_and_fields_are_those_of_the_manual() {
    for a in WORDS {
        for by in [0, 1, 5, 31, 32, 33, 63, 64, 200] {
            let shift = |name: &str, bits: u32| {
                let (register, narrow, widen) = match bits {
                    64 => ("%rd", "", ""),
                    _ => ("%r", "cvt.u32.u64 %r2, %rd2;", "cvt.u64.u32 %rd15, %r15;"),
                };
                eval(
                    &format!(
                        "{narrow}\ncvt.u32.u64 %r3, %rd3;\n{name} {register}15, {register}2, %r3;\n{widen}"
                    ),
                    &[a, by],
                )
            };
            let by = by as u32;
            assert_eq!(shift("shl.b32", 32) as u32, (a as u32).checked_shl(by).unwrap_or(0), "{a:#x} {by}");
            assert_eq!(shift("shr.u32", 32) as u32, (a as u32).checked_shr(by).unwrap_or(0));
            assert_eq!(shift("shr.s32", 32) as i32, a as i32 >> by.min(31));
            assert_eq!(shift("shl.b64", 64), a.checked_shl(by).unwrap_or(0));
            assert_eq!(shift("shr.u64", 64), a.checked_shr(by).unwrap_or(0));
            assert_eq!(shift("shr.s64", 64).cast_signed(), a.cast_signed() >> by.min(63));
            for (low, high) in [(a as u32, 0xdead_beef), (7, a as u32)] {
                let words = [low.into(), high.into(), by.into()];
                let both = u64::from(high) << 32 | u64::from(low);
                let funnel = |name| instruction(name, 32, &words) as u32;
                assert_eq!(funnel("shf.l.wrap.b32"), (both << (by & 31) >> 32) as u32);
                assert_eq!(funnel("shf.r.wrap.b32"), (both >> (by & 31)) as u32);
                assert_eq!(funnel("shf.l.clamp.b32"), (both << by.min(32) >> 32) as u32);
                assert_eq!(funnel("shf.r.clamp.b32"), (both >> by.min(32)) as u32);
            }
        }
        for (position, len) in [(0, 0), (0, 32), (4, 8), (30, 8), (31, 1), (40, 3), (0, 64), (60, 20)] {
            let mask = |len: u64| if len >= 64 { u64::MAX } else { (1 << len) - 1 };
            let narrow = u64::from(a as u32);
            let field = instruction("bfe.u32", 32, &[a, position, len]);
            assert_eq!(
                field,
                narrow.checked_shr(position as u32).unwrap_or(0) & mask(len),
                "{a:#x} {position} {len}"
            );
            if len > 0 && position + len <= 32 {
                let signed = (narrow << (64 - position - len)).cast_signed() >> (64 - len);
                assert_eq!(instruction("bfe.s32", 32, &[a, position, len]) as i32, signed as i32);
            }
            let place = mask(len) << position & 0xffff_ffff;
            let inserted = 0x1234_5678 & !place | narrow << position & place;
            assert_eq!(
                instruction("bfi.b32", 32, &[a, 0x1234_5678, position, len]),
                inserted,
                "{a:#x} {position} {len}"
            );
        }
    }
    let (a, b) = (0x8342_7110_u64, 0x7f65_0495);
    for (selector, expected) in
        [(0x3210, a), (0x7654, b), (0x0123, 0x1071_4283), (0x7531, 0x7f04_8371), (0xbb88, 0xffff_0000)]
    {
        assert_eq!(instruction("prmt.b32", 32, &[a, b, selector]), expected, "{selector:#x}");
    }
    let majority = eval(
        "cvt.u32.u64 %r2, %rd2;\ncvt.u32.u64 %r3, %rd3;\nlop3.b32 %r4, %r2, %r3, 0xff00ff, 0xe8;\ncvt.u64.u32 %rd15, %r4;",
        &[a, b],
    );
    assert_eq!(majority, a & b | a & 0xff_00ff | b & 0xff_00ff);
}

#[test]
fn comparisons_combine_and_know_what_is_no_number() {
    let compare = |text: &str, a: u64, b: u64| {
        eval(
            &format!("cvt.u32.u64 %r2, %rd2;\ncvt.u32.u64 %r3, %rd3;\n{text}\nselp.b64 %rd15, 1, 0, %p1;"),
            &[a, b],
        ) == 1
    };
    for (a, b) in pairs() {
        let (x, y, s, t) = (a as u32, b as u32, a as i32, b as i32);
        let cases: [(&str, bool); 10] = [
            ("eq.b32", x == y),
            ("ne.s32", x != y),
            ("lt.u32", x < y),
            ("le.s32", s <= t),
            ("gt.s32", s > t),
            ("ge.u32", x >= y),
            ("lo.u32", x < y),
            ("ls.u32", x <= y),
            ("hi.u32", x > y),
            ("hs.u32", x >= y),
        ];
        for (name, expected) in cases {
            assert_eq!(
                compare(&format!("setp.{name} %p1, %r2, %r3;"), a, b),
                expected,
                "{name} {a:#x} {b:#x}"
            );
        }
        let combined =
            "setp.lt.u32 %p2, %r2, 100;\nsetp.eq.and.s32 %p1|%p3, %r2, %r3, !%p2;\nor.pred %p1, %p1, %p3;";
        assert_eq!(compare(combined, a, b), x >= 100, "{a:#x} {b:#x}");
        assert_eq!(
            compare("setp.eq.u32 %p2, %r2, 0;\nsetp.lt.xor.s32 %p1, %r2, %r3, %p2;", a, b),
            (s < t) ^ (x == 0)
        );
        assert_eq!(
            compare("setp.eq.u32 %p2, %r2, 0;\nsetp.lt.or.s32 %p1, %r2, %r3, %p2;", a, b),
            s < t || x == 0
        );
    }
    for a in [1.0_f32, -0.0, 0.0, f32::NAN, f32::INFINITY] {
        for b in [1.0_f32, 0.0, f32::NAN, -2.5] {
            let is_nan = a.is_nan() || b.is_nan();
            let cases: [(&str, bool); 14] = [
                ("eq", a == b),
                ("ne", !is_nan && a != b),
                ("lt", a < b),
                ("le", a <= b),
                ("gt", a > b),
                ("ge", a >= b),
                ("equ", is_nan || a == b),
                ("neu", a != b),
                ("ltu", is_nan || a < b),
                ("leu", is_nan || a <= b),
                ("gtu", is_nan || a > b),
                ("geu", is_nan || a >= b),
                ("num", !is_nan),
                ("nan", is_nan),
            ];
            for (name, expected) in cases {
                let text = format!("setp.{name}.f32 %p1, %r2, %r3;");
                assert_eq!(
                    compare(&text, a.to_bits().into(), b.to_bits().into()),
                    expected,
                    "{name} {a} {b}"
                );
            }
        }
    }
}

#[test]
fn numbers_compute_as_in_rust() {
    let values =
        [0.0_f64, -0.0, 1.0, -1.5, 3.25, 1e-40, 1e38, 1e-310, 1e300, f64::INFINITY, f64::NAN, 0.1, -7.7];
    for a in values {
        for b in values {
            let same64 = |name, expected: f64| {
                let found = f64::from_bits(instruction(name, 64, &[a.to_bits(), b.to_bits()]));
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{name} {a} {b}"
                );
            };
            same64("add.f64", a + b);
            same64("sub.rn.f64", a - b);
            same64("mul.rn.f64", a * b);
            same64("div.rn.f64", a / b);
            let (x, y) = (a as f32, b as f32);
            let same32 = |name, words: &[f32], expected: f32| {
                let words: Vec<u64> = words.iter().map(|word| word.to_bits().into()).collect();
                let found = instruction(name, 32, &words) as u32;
                assert!(
                    found == expected.to_bits() || found == 0x7fff_ffff && expected.is_nan(),
                    "{name} {x} {y}"
                );
            };
            same32("add.rn.f32", &[x, y], x + y);
            same32("sub.f32", &[x, y], x - y);
            same32("mul.rn.f32", &[x, y], x * y);
            same32("div.rn.f32", &[x, y], x / y);
            same32("fma.rn.f32", &[x, y, 0.3], x.mul_add(y, 0.3));
            same32("sqrt.rn.f32", &[x], x.sqrt());
            same32("rcp.rn.f32", &[x], 1.0 / x);
            if x != y {
                same32("min.f32", &[x, y], x.min(y));
                same32("max.f32", &[x, y], x.max(y));
            }
        }
    }
    assert_eq!(instruction("min.f32", 32, &[0, 1 << 31]), 1 << 31);
    assert_eq!(instruction("max.f32", 32, &[1 << 31, 0]), 0);
    assert_eq!(instruction("neg.f32", 32, &[0x7fc0_1234]), 0xffc0_1234);
    assert_eq!(instruction("abs.f64", 64, &[1 << 63 | 5]), 5);
    // 1 + 2^-11 is a tie in 16 bits, and 2048 + 1 one, too.
    assert_eq!(instruction("add.f16", 16, &[0x3c00, 0x1000]), 0x3c00);
    assert_eq!(instruction("add.rn.f16", 16, &[0x3c01, 0x1000]), 0x3c02);
    assert_eq!(instruction("mul.f16", 16, &[0x4200, 0xc500]), 0xcb80);
    assert_eq!(instruction("fma.rn.f16", 16, &[0x4000, 0x4000, 0x3c00]), 0x4500);
    let constants = "mov.f32 %f1, 0f3fc00000;\nmov.f64 %d1, 0dBFF0000000000000;\ncvt.f64.f32 %d2, %f1;\nadd.f64 %d1, %d1, %d2;\nmov.b64 %rd15, %d1;";
    assert_eq!(f64::from_bits(eval(constants, &[])), 0.5);
}

#[test]
fn conversions_go_by_their_types_and_rounding() {
    let convert = |name: &str, bits: u64| {
        eval(&format!("cvt.u32.u64 %r2, %rd2;\ncvt.u16.u64 %rs2, %rd2;\n{name}"), &[bits])
    };
    let of = |value: f32| u64::from(value.to_bits());
    assert_eq!(convert("cvt.rzi.s32.f32 %r3, %r2;\ncvt.s64.s32 %rd15, %r3;", of(-2.9)).cast_signed(), -2);
    assert_eq!(convert("cvt.rmi.s32.f32 %r3, %r2;\ncvt.s64.s32 %rd15, %r3;", of(-2.1)).cast_signed(), -3);
    assert_eq!(convert("cvt.rpi.f32.f32 %r3, %r2;\ncvt.u64.u32 %rd15, %r3;", of(2.1)), of(3.0));
    assert_eq!(convert("cvt.rni.u64.f32 %rd15, %r2;", of(2.5)), 2);
    assert_eq!(convert("cvt.rn.f16.f32 %rs3, %r2;\ncvt.u64.u16 %rd15, %rs3;", of(1.0 / 3.0)), 0x3555);
    assert_eq!(convert("cvt.f32.f16 %r3, %rs2;\ncvt.u64.u32 %rd15, %r3;", 0xc248), of(-3.140_625));
    assert_eq!(
        convert("cvt.rz.f32.u64 %r3, %rd2;\ncvt.u64.u32 %rd15, %r3;", (1 << 25) + 3),
        of(33_554_432.0)
    );
    assert_eq!(convert("cvt.rn.f64.s32 %rd15, %r2;", 0xffff_fff0), (-16.0_f64).to_bits());
    assert_eq!(convert("cvt.s64.s8 %rd15, %rd2;", 0x80), (-128_i64).cast_unsigned());
    assert_eq!(convert("cvt.sat.u8.s32 %r3, %r2;\ncvt.u64.u32 %rd15, %r3;", 300), 255);
    assert_eq!(convert("cvt.rn.sat.f32.f64 %r3, %rd2;\ncvt.u64.u32 %rd15, %r3;", (-0.5_f64).to_bits()), 0);
}

#[test]
fn memory_is_read_and_written_by_type_and_space() {
    let body = "
        ld.global.s8 %r2, [%rd1+8];
        ld.global.u8 %r3, [%rd1+8];
        ld.global.v2.b16 {%rs1, %rs2}, [%rd1+8];
        st.shared.v4.b32 [dynamic+16], {%r2, %r3, %r2, %r3};
        mov.u64 %rd3, dynamic;
        cvta.shared.u64 %rd4, %rd3;
        ld.u32 %r4, [%rd4+20];
        ld.shared.v2.b32 {%r5, _}, [%rd3+24];
        cvt.u64.u32 %rd5, %r4;
        st.global.b64 [%rd1], %rd5;
        st.global.v2.b32 [%rd1+16], {%r5, 7};
        st.volatile.global.b16 [%rd1+24], %rs2;";
    let mut memory = Memory { bytes: vec![0; 32] };
    memory.bytes[8..12].copy_from_slice(&[0x80, 2, 3, 4]);
    try_run(&kernel(body), "k", [1, 1], &[BASE], &mut memory).unwrap();
    assert_eq!(memory.bytes[..8], [0x80, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(memory.bytes[16..26], [0x80, 255, 255, 255, 7, 0, 0, 0, 3, 4]);
    let fault = |body: &str| {
        try_run(&kernel(body), "k", [1, 1], &[BASE], &mut Memory { bytes: vec![0; 64] }).unwrap_err()
    };
    let (code, text) = fault("ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+8];");
    assert!(code == Code::MISALIGNED_ADDRESS && text.contains("no multiple of 16"), "{text}");
    assert!(text.contains("line 14, thread [0, 0, 0] of block [0, 0, 0]"), "{text}");
    for outside in [
        "st.global.b32 [%rd1+64], 1;",
        "st.shared.b32 [dynamic+1024], 1;",
        "ld.local.b32 %r1, [0];",
        "ld.param.b32 %r1, [memory+8];",
    ] {
        assert_eq!(fault(outside).0, Code::ILLEGAL_ADDRESS, "{outside}");
    }
    assert_eq!(fault("trap;").0, Code::LAUNCH_FAILED);
}

#[test]
fn atomic_operations_give_the_old_value() {
    let cases: [(&str, &str, u64, u64, u64); 10] = [
        ("add.u32", "3", 0xffff_fffe, 1, 32),
        ("min.s32", "-1", 5, 0xffff_ffff, 32),
        ("max.u32", "9", 5, 9, 32),
        ("and.b32", "12", 10, 8, 32),
        ("or.b32", "12", 10, 14, 32),
        ("xor.b32", "12", 10, 6, 32),
        ("exch.b64", "12", 1 << 40, 12, 64),
        ("cas.b64", "10, 77", 10, 77, 64),
        ("cas.b32", "11, 77", 10, 10, 32),
        ("inc.u32", "4", 4, 0, 32),
    ];
    for (name, operands, old, new, bits) in cases {
        let register = if bits == 64 { "%rd" } else { "%r" };
        let body = format!(
            "atom.global.{name} {register}5, [%rd1+8], {operands};\nst.global.b{bits} [%rd1], {register}5;"
        );
        let mut memory = Memory { bytes: [0_u64, old].iter().flat_map(|word| word.to_le_bytes()).collect() };
        try_run(&kernel(&body), "k", [1, 1], &[BASE], &mut memory).unwrap();
        let words: Vec<u64> =
            memory.bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        assert_eq!(words, [old, new], "{name}");
    }
    // All threads of two blocks, and a sum of numbers.
    let body = "red.relaxed.gpu.global.add.u32 [%rd1], 1;\natom.shared.add.u32 %r1, [dynamic], 1;\nmov.f32 %f1, 0f3f000000;\nred.global.add.f32 [%rd1+4], %f1;";
    let mut memory = Memory { bytes: vec![0; 8] };
    try_run(&kernel(body), "k", [2, 100], &[BASE], &mut memory).unwrap();
    assert_eq!(memory.bytes, [200_u32.to_le_bytes(), 100_f32.to_le_bytes()].concat());
}

/// The word of each thread, which a body leaves in %r15.
fn of_threads(body: &str, threads: u32) -> Vec<u32> {
    let store = "mov.u32 %r14, %tid.x;\nmul.wide.u32 %rd14, %r14, 4;\nadd.s64 %rd14, %rd14, %rd1;\nst.global.u32 [%rd14], %r15;";
    let mut memory = Memory { bytes: vec![0; 4 * threads as usize] };
    try_run(
        &kernel(&format!("mov.u32 %r1, %tid.x;\n{body}\n{store}")),
        "k",
        [1, threads],
        &[BASE],
        &mut memory,
    )
    .unwrap_or_else(|error| panic!("{error:?} in {body}"));
    memory.bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

#[test]
fn lanes_of_a_warp_exchange_values() {
    let shuffle = |text: &str| of_threads(&format!("add.s32 %r2, %r1, 1000;\n{text}"), 70);
    let expected =
        |lane: fn(u32) -> u32| -> Vec<u32> { (0..70).map(|i| 1000 + i / 32 * 32 + lane(i % 32)).collect() };
    assert_eq!(shuffle("shfl.sync.bfly.b32 %r15, %r2, 1, 31, -1;"), expected(|lane| lane ^ 1));
    assert_eq!(shuffle("shfl.sync.idx.b32 %r15, %r2, 3, 31, -1;"), expected(|_| 3));
    assert_eq!(
        shuffle("shfl.sync.up.b32 %r15, %r2, 2, 0, -1;"),
        expected(|lane| if lane < 2 { lane } else { lane - 2 })
    );
    // The third warp has six lanes.
    let down = shuffle("shfl.sync.down.b32 %r15, %r2, 4, 31, -1;");
    assert_eq!(down[..64], expected(|lane| if lane > 27 { lane } else { lane + 4 })[..64]);
    // Segments of eight lanes.
    let segments = shuffle("shfl.sync.idx.b32 %r15|%p1, %r2, 9, 0x181f, -1;\n@!%p1 mov.u32 %r15, 0;");
    assert_eq!(segments[..64], expected(|lane| lane / 8 * 8 + 1)[..64]);
    let odd = "and.b32 %r3, %r1, 1;\nsetp.ne.u32 %p2, %r3, 0;\n";
    let votes = of_threads(&format!("{odd}vote.sync.ballot.b32 %r15, %p2, -1;"), 40);
    assert!(
        votes[..32].iter().all(|&mask| mask == 0xaaaa_aaaa) && votes[32..].iter().all(|&mask| mask == 0xaa)
    );
    let any = of_threads(
        &format!(
            "{odd}vote.sync.any.pred %p3, !%p2, -1;\nvote.sync.all.pred %p4, %p2, -1;\nselp.b32 %r15, 1, 0, %p3;\n@%p4 mov.u32 %r15, 9;"
        ),
        32,
    );
    assert_eq!(any, [1; 32]);
    // Only odd lanes come, and a mask of them is enough.
    let some = of_threads(
        &format!(
            "mov.u32 %r15, 5;\n{odd}@!%p2 bra done;\nactivemask.b32 %r4;\nshfl.sync.idx.b32 %r15, %r4, 1, 31, 0xaaaaaaaa;\ndone:"
        ),
        32,
    );
    assert_eq!(some[..4], [5, 0xaaaa_aaaa, 5, 0xaaaa_aaaa]);
    assert_eq!(
        of_threads("mov.u32 %r2, %laneid;\nmov.u32 %r3, %warpid;\nmad.lo.u32 %r15, %r3, 100, %r2;", 34)[31..],
        [31, 100, 101]
    );
    assert_eq!(of_threads("mov.u32 %r15, %lanemask_le;", 3), [1, 3, 7]);
}

#[test]
fn barriers_wait_for_all_threads() {
    // Each thread reads what another one wrote.
    let rotate = "shl.b32 %r2, %r1, 2;\nmov.u32 %r3, dynamic;\nadd.u32 %r4, %r3, %r2;\nst.shared.u32 [%r4], %r1;\nbar.sync 0;
        add.u32 %r5, %r1, 50;\nrem.u32 %r5, %r5, 100;\nmad.lo.u32 %r6, %r5, 4, %r3;\nld.shared.u32 %r15, [%r6];";
    assert_eq!(of_threads(rotate, 100), (0..100).map(|i| (i + 50) % 100).collect::<Vec<u32>>());
    let count = "setp.lt.u32 %p1, %r1, 7;\nbar.red.popc.u32 %r15, 0, %p1;";
    assert_eq!(of_threads(count, 40), [7; 40]);
    // Threads that have ended count no more; two barriers are apart.
    let ended = "setp.gt.u32 %p1, %r1, 2;\nmov.u32 %r15, 4;\n@%p1 bra skip;\nbarrier.sync 1, 3;\nmov.u32 %r15, 6;\nskip:\nbar.sync 0;";
    assert_eq!(of_threads(ended, 5), [6, 6, 6, 4, 4]);
    let body = "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bar.sync 1;\nbar.sync 0;";
    let (code, text) =
        try_run(&kernel(body), "k", [1, 2], &[BASE], &mut Memory { bytes: vec![] }).unwrap_err();
    assert!(code == Code::LAUNCH_TIMEOUT && text.contains("waits for ever in the lines"), "{text}");
}

#[test]
fn what_is_not_supported_is_refused_by_its_name() {
    let refused: [(&str, &str); 9] = [
        ("tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [x, {%r5}];", "tex.1d.v4.s32.s32 are not supported"),
        ("add.rz.f32 %f1, %f2, %f3;", "add.rz.f32 is not supported"),
        ("add.ftz.f32 %f1, %f2, %f3;", "add.ftz.f32 is not supported"),
        ("call.uni (%r1), f, (%r2);", "call.uni is not supported"),
        ("bra nowhere;", "nowhere does not exist"),
        ("mov.u32 %r99, 1;", "no register"),
        ("add.u32 %r1, %r2;", "operands"),
        (".branchtargets x;", ".branchtargets"),
        ("{", "ends too early"),
    ];
    for (body, reason) in refused {
        let error = Module::parse(&kernel(body)).unwrap_err();
        assert!(error.starts_with("line ") && error.contains(reason), "{error}");
    }
    let function = ".version 6.3\n.func f() { ret; }";
    assert_eq!(Module::parse(function).unwrap_err(), "line 2: the directive .func is not supported");
}

#[test]
fn declarations_are_read() {
    let text = ".version 6.3
        .target sm_70, debug
        .address_size 64
        .visible .const .align 8 .b8 numbers[12] = {1, 0, 0, 0, 2};
        .visible .global .align 4 .u32 counter = 7;
        .entry a(.param .u8 x, .param .align 8 .b8 y[12], .param .u64 .ptr .global .align 4 z) .maxntid 64, 2, 1 .minnctapersm 2 { ret; }
        .visible .entry b() .reqntid 32 .pragma \"used\"; { .shared .align 16 .b8 tile[100]; .local .b8 stack[8]; .pragma \"nounroll\"; { .reg .u32 t; mov.u32 t, 1; } ret; }";
    let module = Module::parse(text).unwrap();
    assert_eq!(module.variables, [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]);
    let [a, b] = &module.kernels[..] else { panic!("two kernels") };
    assert_eq!((a.parameters.as_slice(), a.max_threads), (&[(0, 1), (8, 12), (24, 8)][..], Some(128)));
    assert_eq!((b.required, b.shared_bytes, b.local_bytes), (Some([32, 1, 1]), 100, 8));
}

const COMPILED: &str = include_str!("../../tests/ptx/kernels.ptx");

/// Random words.
fn noise(count: usize) -> Vec<u64> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(|_| next()).collect()
}

/// Runs a kernel on space for a result and the source behind it; the result.
fn compiled(
    name: &str,
    grid: ([u32; 3], [u32; 3]),
    result_bytes: usize,
    source: &[u8],
    rest: &[u64],
) -> Vec<u8> {
    let from = result_bytes.next_multiple_of(16);
    let mut memory = Memory { bytes: vec![0; from] };
    memory.bytes.extend_from_slice(source);
    let words = [&[BASE, BASE + from as u64][..], rest].concat();
    run_grid(COMPILED, name, grid.0, grid.1, &words, &mut memory).unwrap();
    memory.bytes.truncate(result_bytes);
    memory.bytes
}

fn bytes<const N: usize>(words: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
    words.into_iter().flatten().collect()
}

#[test]
fn compiled_tiles_transpose() {
    for (rows, columns) in [(64, 64), (33, 70), (1, 100)] {
        let source: Vec<u32> = noise(rows * columns).iter().map(|word| *word as u32).collect();
        let expected = (0..rows * columns).map(|i| source[i % rows * columns + i / rows].to_le_bytes());
        let blocks = [columns.div_ceil(32) as u32, rows.div_ceil(32) as u32, 1];
        let found = compiled(
            "transpose",
            (blocks, [32, 8, 1]),
            4 * source.len(),
            &bytes(source.iter().map(|word| word.to_le_bytes())),
            &[rows as u64, columns as u64],
        );
        assert_eq!(found, bytes(expected));
    }
}

#[test]
fn compiled_bytes_reverse() {
    let source = bytes(noise(2 * 70).iter().map(|word| word.to_le_bytes()));
    let mut expected = source.clone();
    expected.reverse();
    assert_eq!(compiled("reverse", ([2, 1, 1], [64, 1, 1]), source.len(), &source, &[70]), expected);
}

#[test]
fn compiled_casts_are_those_of_rust() {
    let words = noise(100);
    let numbers: Vec<f64> =
        words.iter().map(|&word| (word.cast_signed() >> (word % 50)) as f64 * 1e-3).collect();
    let (n, grid) = (words.len(), ([2, 1, 1], [64, 1, 1]));
    let cast = |kind: u64, result_bytes: usize, source: &[u8]| {
        compiled("casts", grid, n * result_bytes, source, &[kind, n as u64])
    };
    let of64 = bytes(words.iter().map(|word| word.to_le_bytes()));
    let of32 = bytes(words.iter().map(|word| (*word as u32).to_le_bytes()));
    let of_f32 = bytes(numbers.iter().map(|number| (*number as f32).to_le_bytes()));
    let of_f64 = bytes(numbers.iter().map(|number| number.to_le_bytes()));
    assert_eq!(cast(0, 4, &of32), bytes(words.iter().map(|word| (*word as i32 as f32).to_le_bytes())));
    assert_eq!(
        cast(1, 8, &of_f32),
        bytes(numbers.iter().map(|number| f64::from(*number as f32).to_le_bytes()))
    );
    assert_eq!(cast(2, 4, &of_f64), of_f32);
    assert_eq!(cast(3, 2, &of64), bytes(words.iter().map(|word| (*word as u16).to_le_bytes())));
    let of8: Vec<u8> = words.iter().map(|word| *word as u8).collect();
    assert_eq!(cast(4, 8, &of8), bytes(of8.iter().map(|byte| i64::from(byte.cast_signed()).to_le_bytes())));
    assert_eq!(
        cast(5, 4, &of_f32),
        bytes(numbers.iter().map(|number| (*number as f32 as i32).to_le_bytes()))
    );
    assert_eq!(cast(6, 1, &of_f64), bytes(numbers.iter().map(|number| [u8::from(*number != 0.0)])));
    assert_eq!(cast(8, 4, &of64), bytes(words.iter().map(|word| (*word as f32).to_le_bytes())));
    let halves = cast(7, 2, &of_f32);
    let back = cast(9, 4, &halves);
    let found = back.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word));
    for (found, number) in found.zip(&numbers) {
        let is_near = (f64::from(found) - number).abs() <= number.abs() / 2048.0 + 3e-8;
        assert!(is_near || found.is_infinite() && number.abs() >= 65_520.0, "{found} {number}");
    }
}

#[test]
fn compiled_indices_gather() {
    let (a, b, c) = (3_u64, 5, 7);
    let source = noise(512);
    let strides = [-70_i64, 11, 2];
    let start = 300_usize;
    let from = (8 * a * b * c).next_multiple_of(16);
    let mut memory = Memory { bytes: vec![0; from as usize] };
    memory.bytes.extend(bytes(source.iter().map(|word| word.to_le_bytes())));
    let origin = BASE + from + 8 * start as u64;
    let words = [
        BASE,
        origin,
        a,
        b,
        c,
        strides[0].cast_unsigned(),
        strides[1].cast_unsigned(),
        strides[2].cast_unsigned(),
    ];
    run_grid(COMPILED, "gather", [4, 1, 1], [32, 1, 1], &words, &mut memory).unwrap();
    for i in 0..a * b * c {
        let at =
            (i / c / b) as i64 * strides[0] + (i / c % b) as i64 * strides[1] + (i % c) as i64 * strides[2];
        let expected = source[(start as i64 + at) as usize].wrapping_add(i / 7 + i % 10);
        assert_eq!(memory.bytes[8 * i as usize..][..8], expected.to_le_bytes(), "{i}");
    }
}

#[test]
fn compiled_reductions_and_bits() {
    let words: Vec<u32> = noise(1000).iter().map(|word| (word >> 44) as u32).collect();
    let source = bytes(words.iter().map(|word| word.to_le_bytes()));
    let sum: u64 = words.iter().map(|&word| u64::from(word)).sum();
    assert_eq!(compiled("sum", ([4, 1, 1], [256, 1, 1]), 8, &source, &[1000]), sum.to_le_bytes());
    let ballot = |i: usize| {
        let warp = &words[i / 32 * 32..i / 32 * 32 + 32];
        warp.iter().filter(|&&word| word & 1 == 1).count() as u32
    };
    let expected = (0..64).flat_map(|i| {
        let v = words[i];
        let product = (u64::from(v).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
        let first = v.count_ones() + ((v | 1).leading_zeros() << 8) + (ballot(i) << 16);
        [first, v.rotate_left(7), v >> 5 & 0x3f, v.reverse_bits() ^ product].map(u32::to_le_bytes)
    });
    assert_eq!(compiled("bits", ([1, 1, 1], [64, 1, 1]), 64 * 16, &source, &[]), bytes(expected));
}

#[test]
fn compiled_tables_stacks_and_numbers() {
    let mut memory = Memory { bytes: vec![0; 40] };
    run_grid(COMPILED, "look", [1; 3], [10, 1, 1], &[BASE, 9], &mut memory).unwrap();
    let table = [2_u32, 3, 5, 7, 11];
    let expected = (0..10_u32).map(|i| {
        (0..9_u32)
            .fold(0_u32, |s, k| s.wrapping_mul(31).wrapping_add(table[((i + ((k * i) & 7)) % 5) as usize]))
            .to_le_bytes()
    });
    assert_eq!(memory.bytes, bytes(expected));

    let pairs: Vec<f32> = vec![1.5, -2.25, 1e30, 1e-30, 0.1, 0.2, f32::NAN, 1.0, 7.0, 3.0];
    let source = bytes(pairs.iter().map(|number| number.to_le_bytes()));
    let mut memory = Memory { bytes: vec![0; 5 * 32 + 5 * 8 + 8] };
    memory.bytes.extend_from_slice(&source);
    let at = |offset: u64| BASE + offset;
    run_grid(COMPILED, "numbers", [1; 3], [5, 1, 1], &[at(0), at(208), at(160)], &mut memory).unwrap();
    for (i, pair) in pairs.chunks(2).enumerate() {
        let [a, b] = [pair[0], pair[1]];
        let expected = [
            a.mul_add(b, 1.5),
            a / b,
            a.min(b),
            a.max(b),
            a.sqrt(),
            if a < b { a } else { -b },
            if a >= b { 2.0 } else { 1.0 },
            a.abs() - b,
        ];
        for (k, expected) in expected.into_iter().enumerate() {
            let found = f32::from_le_bytes(memory.bytes[32 * i + 4 * k..][..4].try_into().unwrap());
            assert!(
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                "{i} {k} {found} {expected}"
            );
        }
        let found = f64::from_le_bytes(memory.bytes[160 + 8 * i..][..8].try_into().unwrap());
        let expected = f64::from(a) * f64::from(b) / 3.0;
        assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan());
    }

    let pairs: Vec<i64> = vec![100, 7, -100, 7, i64::MIN + 1, -3, 1 << 40, -(1 << 20), 5, -9];
    let found = compiled(
        "divide",
        ([1; 3], [5, 1, 1]),
        5 * 32,
        &bytes(pairs.iter().map(|word| word.to_le_bytes())),
        &[],
    );
    let expected = pairs.chunks(2).flat_map(|pair| {
        let [a, b] = [pair[0], pair[1]];
        let narrow = (a as i32).wrapping_div(b as i32 | 1);
        [a / b, a % b, (a.cast_unsigned() / b.cast_unsigned()).cast_signed(), narrow.into()]
            .map(i64::to_le_bytes)
    });
    assert_eq!(found, bytes(expected));
}
