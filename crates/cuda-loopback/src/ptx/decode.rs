//! Instructions of the text as the interpreter runs them. One that is not supported is refused by its name.

use std::collections::HashMap;

use super::alu;
use super::convert::Convert;
use super::float::Rounding;
use super::instruction::{
    AddressOperand, Combine, Guard, Instruction, LOCAL, LaneMask, MODULE, Operand, Operation, PARAMETERS,
    Reduction, Register, SHARED, Shuffle, Special, Vote, WarpOperation,
};
use super::parser::{Parsed, Parser, number};
use super::types::Type;

/// A name of the text outside of registers and labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol {
    /// The window of its state space.
    pub(super) window: u64,
    pub(super) offset: u64,
}

pub(super) type Symbols = HashMap<String, Symbol>;

/// The names of a kernel's body.
pub(super) struct Scope {
    symbols: Symbols,
    /// Registers by name, those of the innermost braces last.
    registers: Vec<HashMap<String, Register>>,
    count: Register,
    labels: HashMap<String, u32>,
    places: Vec<Option<u32>>,
    tables: HashMap<String, Vec<u32>>,
}

impl Scope {
    pub(super) fn new(symbols: Symbols) -> Self {
        // The first register takes results that nobody wants.
        Self {
            symbols,
            registers: vec![HashMap::new()],
            count: 1,
            labels: HashMap::new(),
            places: Vec::new(),
            tables: HashMap::new(),
        }
    }

    pub(super) fn enter(&mut self) {
        self.registers.push(HashMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.registers.pop();
    }

    pub(super) fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }

    pub(super) fn register_count(&self) -> usize {
        self.count as usize
    }

    /// Declares one register, or `name0` up to a count.
    pub(super) fn registers(&mut self, name: &str, count: Option<usize>) -> Parsed {
        if count.is_some_and(|count| count > 1 << 16) {
            return Err(format!("too many registers {name}"));
        }
        let names = match count {
            None => vec![name.to_owned()],
            Some(count) => (0..count).map(|index| format!("{name}{index}")).collect(),
        };
        for name in names {
            let register = self.count;
            self.count += 1;
            if let Some(innermost) = self.registers.last_mut() {
                innermost.insert(name, register);
            }
        }
        Ok(())
    }

    fn register(&self, name: &str) -> Option<Register> {
        self.registers.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    fn label_number(&mut self, name: &str) -> u32 {
        let next = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let number = *self.labels.entry(name.to_owned()).or_insert(next);
        if number == next {
            self.places.push(None);
        }
        number
    }

    /// Places a label in front of an instruction.
    pub(super) fn label(&mut self, name: String, at: u32) -> Parsed {
        let number = self.label_number(&name) as usize;
        match self.places[number].replace(at) {
            None => Ok(()),
            Some(_) => Err(format!("the label {name} exists already")),
        }
    }

    /// Declares the targets of an indirect branch.
    pub(super) fn table(&mut self, name: String, targets: Vec<String>) {
        let targets = targets.iter().map(|target| self.label_number(target)).collect();
        self.tables.insert(name, targets);
    }

    /// Gives all branches their targets.
    pub(super) fn place_labels(&self, code: &mut [Instruction], end: u32) -> Parsed {
        let place = |target: &mut u32| -> Parsed {
            let found = self.places.get(*target as usize).copied().flatten();
            let name =
                || self.labels.iter().find(|(_, number)| *number == target).map_or("", |(name, _)| name);
            *target = found.ok_or_else(|| format!("the label {} does not exist", name()))?.min(end);
            Ok(())
        };
        for instruction in code {
            match &mut instruction.operation {
                Operation::Branch { target } => place(target)?,
                Operation::BranchTable { targets, .. } => targets.iter_mut().try_for_each(place)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// An operand of the text.
#[derive(Debug)]
enum Argument {
    Register(Register),
    Special(Special),
    Number {
        word: String,
        is_negative: bool,
    },
    Symbol(Symbol),
    /// A label, or a name that nothing has.
    Name(String),
    Address {
        base: Box<Argument>,
        offset: u64,
    },
    Vector(Vec<Argument>),
    Pair(Register, Register),
    Not(Register),
}

impl Argument {
    fn read(parser: &mut Parser<'_>, scope: &Scope) -> Parsed<Self> {
        if parser.take("{") {
            let mut parts = Vec::new();
            while !parser.take("}") {
                parts.push(Self::read(parser, scope)?);
                parser.take(",");
            }
            return Ok(Self::Vector(parts));
        }
        if parser.take("[") {
            let base = Box::new(Self::read(parser, scope)?);
            let offset = match parser.peek() {
                "+" => {
                    parser.next()?;
                    parser.integer()?
                }
                "-" => parser.integer()?,
                _ => 0,
            };
            parser.expect("]")?;
            return Ok(Self::Address { base, offset: offset as u64 });
        }
        if parser.take("!") {
            let name = parser.next()?;
            return scope.register(name).map(Self::Not).ok_or_else(|| format!("{name} is no register"));
        }
        let is_negative = parser.take("-");
        let word = parser.next()?;
        if is_negative || word.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Self::Number { word: word.to_owned(), is_negative });
        }
        if let Some(special) = special(word) {
            return Ok(Self::Special(special));
        }
        let register = if word == "_" { Some(0) } else { scope.register(word) };
        if let Some(register) = register {
            if parser.take("|") {
                let name = parser.next()?;
                let also = if name == "_" { Some(0) } else { scope.register(name) };
                let also = also.ok_or_else(|| format!("{name} is no register"))?;
                return Ok(Self::Pair(register, also));
            }
            return Ok(Self::Register(register));
        }
        Ok(scope
            .symbols
            .get(word)
            .map_or_else(|| Self::Name(word.to_owned()), |symbol| Self::Symbol(*symbol)))
    }

    fn operand(&self, ty: Type) -> Parsed<Operand> {
        Ok(match self {
            Self::Register(register) => Operand::Register(*register),
            Self::Special(special) => Operand::Special(*special),
            Self::Number { word, is_negative } => {
                let value = number(word, ty).ok_or_else(|| format!("{word:?} is no number"))?;
                Operand::Value(if *is_negative { value.wrapping_neg() } else { value })
            }
            // Variables of modules have addresses of their own in global memory.
            Self::Symbol(Symbol { window: MODULE, offset }) => Operand::Value(MODULE + offset),
            Self::Symbol(symbol) => Operand::Value(symbol.offset),
            other => return Err(format!("the operand {other:?} is not supported")),
        })
    }

    fn register(&self) -> Parsed<Register> {
        match self {
            Self::Register(register) => Ok(*register),
            other => Err(format!("{other:?} is no register")),
        }
    }

    fn place(&self, window: u64) -> Parsed<AddressOperand> {
        let Self::Address { base, offset } = self else { return Err(format!("{self:?} is no address")) };
        Ok(AddressOperand { window, base: base.operand(Type::U64)?, offset: *offset })
    }

    /// The registers or values of a vector, or of a single operand.
    fn parts(&self) -> &[Self] {
        match self {
            Self::Vector(parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }

    fn name(&self) -> Parsed<&str> {
        match self {
            Self::Name(name) => Ok(name),
            other => Err(format!("{other:?} is no label")),
        }
    }

    /// A predicate, and whether it is negated.
    fn predicate(&self) -> Parsed<(Operand, bool)> {
        match self {
            Self::Not(register) => Ok((Operand::Register(*register), true)),
            _ => Ok((self.operand(Type::Pred)?, false)),
        }
    }
}

fn special(word: &str) -> Option<Special> {
    let name = word.strip_prefix('%')?;
    if let Some((vector, axis)) = name.split_once('.') {
        let axis = match axis {
            "x" => 0,
            "y" => 1,
            "z" => 2,
            _ => return None,
        };
        return match vector {
            "tid" => Some(Special::Tid(axis)),
            "ntid" => Some(Special::Ntid(axis)),
            "ctaid" => Some(Special::Ctaid(axis)),
            "nctaid" => Some(Special::Nctaid(axis)),
            _ => None,
        };
    }
    Some(match name {
        "laneid" => Special::LaneId,
        "warpid" => Special::WarpId,
        "nwarpid" => Special::NumWarps,
        "lanemask_eq" => Special::LaneMask(LaneMask::Eq),
        "lanemask_le" => Special::LaneMask(LaneMask::Le),
        "lanemask_lt" => Special::LaneMask(LaneMask::Lt),
        "lanemask_ge" => Special::LaneMask(LaneMask::Ge),
        "lanemask_gt" => Special::LaneMask(LaneMask::Gt),
        "dynamic_smem_size" => Special::SharedBytes { is_dynamic: true },
        "total_smem_size" => Special::SharedBytes { is_dynamic: false },
        "clock" | "clock64" | "globaltimer" => Special::Clock,
        "smid" => Special::Zero,
        _ => return None,
    })
}

/// One instruction with its guard, up to the semicolon.
pub(super) fn instruction(parser: &mut Parser<'_>, scope: &mut Scope) -> Parsed<Instruction> {
    let mut guard = Guard::Always;
    if parser.take("@") {
        let is_negated = parser.take("!");
        let name = parser.next()?;
        let register = scope.register(name).ok_or_else(|| format!("{name} is no register"))?;
        guard = if is_negated { Guard::Unless(register) } else { Guard::If(register) };
    }
    let name = parser.next()?.to_owned();
    let line = parser.line();
    let mut arguments = Vec::new();
    while !parser.take(";") {
        // Calls have lists in parentheses.
        if parser.peek() == "(" {
            return Err(format!("the instruction {name} is not supported"));
        }
        let argument = Argument::read(parser, scope);
        arguments
            .push(argument.map_err(|error| format!("the operands of {name} are not supported: {error}"))?);
        if parser.peek() != ";" {
            parser.expect(",")?;
        }
    }
    let operation = operation(&name, &arguments, scope)?;
    Ok(Instruction { guard, operation, line })
}

fn operation(name: &str, arguments: &[Argument], scope: &mut Scope) -> Parsed<Operation> {
    let unsupported = || format!("the instruction {name} is not supported");
    let mut words = name.split('.');
    let base = words.next().unwrap_or_default();
    let modifiers: Vec<&str> = words.collect();
    let ty = modifiers.last().and_then(|word| Type::named(word));
    let argument = |index: usize| arguments.get(index).ok_or_else(|| format!("{name} has too few operands"));
    Ok(match base {
        "ret" | "exit" => Operation::Exit,
        "trap" => Operation::Trap,
        "membar" | "fence" | "nanosleep" | "prefetch" | "prefetchu" => Operation::Nothing,
        "bra" => Operation::Branch { target: scope.label_number(argument(0)?.name()?) },
        "brx" => {
            let table = argument(1)?.name()?;
            let targets =
                scope.tables.get(table).cloned().ok_or_else(|| format!("{table} is no list of targets"))?;
            Operation::BranchTable { index: argument(0)?.operand(Type::U32)?, targets }
        }
        "bar" | "barrier" => barrier(&modifiers, arguments).ok_or_else(unsupported)??,
        "mov" => {
            let ty = ty.ok_or_else(unsupported)?;
            mov(ty, argument(0)?, argument(1)?)?
        }
        "ld" | "ldu" | "st" => {
            let access = Access::of(&modifiers).ok_or_else(unsupported)?;
            let (place, values) = if base == "st" { (0, 1) } else { (1, 0) };
            let place = argument(place)?.place(access.window)?;
            let parts = argument(values)?.parts();
            if parts.len() != usize::from(access.count) {
                return Err(format!("{name} has {} values", parts.len()));
            }
            let Access { ty, count, .. } = access;
            if base == "st" {
                let mut from = [Operand::Value(0); 4];
                for (from, part) in from.iter_mut().zip(parts) {
                    *from = part.operand(ty)?;
                }
                Operation::Store { ty, from, count, place }
            } else {
                let mut to = [0; 4];
                for (to, part) in to.iter_mut().zip(parts) {
                    *to = part.register()?;
                }
                Operation::Load { ty, to, count, place }
            }
        }
        "atom" | "red" => atomic(base == "atom", &modifiers, arguments).ok_or_else(unsupported)??,
        "cvta" => {
            let (is_to, space) = match modifiers[..] {
                ["to", space, "u64"] => (true, space),
                [space, "u64"] => (false, space),
                _ => return Err(unsupported()),
            };
            let run: alu::Alu = match (is_to, space) {
                (_, "global" | "const") => |a, _, _, _| a,
                (false, "shared") => |a, _, _, _| a.wrapping_add(SHARED),
                (true, "shared") => |a, _, _, _| a.wrapping_sub(SHARED),
                (false, "local") => |a, _, _, _| a.wrapping_add(LOCAL),
                (true, "local") => |a, _, _, _| a.wrapping_sub(LOCAL),
                (false, "param") => |a, _, _, _| a.wrapping_add(PARAMETERS),
                (true, "param") => |a, _, _, _| a.wrapping_sub(PARAMETERS),
                _ => return Err(unsupported()),
            };
            let zero = Operand::Value(0);
            let operands = [argument(1)?.operand(Type::U64)?, zero, zero, zero];
            Operation::Compute { run, to: argument(0)?.register()?, operands }
        }
        "cvt" => {
            let convert = convert(&modifiers).ok_or_else(unsupported)?;
            let from = argument(1)?.operand(convert.from)?;
            Operation::Convert { convert, to: argument(0)?.register()?, from }
        }
        "setp" => setp(&modifiers, arguments).ok_or_else(unsupported)??,
        "shfl" | "vote" | "activemask" => warp(base, &modifiers, arguments).ok_or_else(unsupported)??,
        _ => {
            let ty = ty.ok_or_else(unsupported)?;
            let before = &modifiers[..modifiers.len() - 1];
            // These choose how exact a result is at least, or are the only choice.
            let is_kept = |word: &&&str| !(ty.is_float() && matches!(**word, "rn" | "approx" | "full"));
            let mode: Vec<&str> = before.iter().filter(is_kept).copied().collect();
            let (run, count) = alu::find(base, &mode.join("."), ty).ok_or_else(unsupported)?;
            if arguments.len() != count + 1 {
                return Err(format!("{name} has {} operands", arguments.len()));
            }
            let mut operands = [Operand::Value(0); 4];
            for (operand, argument) in operands.iter_mut().zip(&arguments[1..]) {
                *operand = argument.operand(ty)?;
            }
            Operation::Compute { run, to: argument(0)?.register()?, operands }
        }
    })
}

fn mov(ty: Type, to: &Argument, from: &Argument) -> Parsed<Operation> {
    let part_bits = |parts: usize| {
        let bits = 8 * ty.len_bytes() / parts.max(1);
        u32::try_from(bits).map_err(|error| error.to_string())
    };
    if let Argument::Vector(parts) = from {
        let part_bits = part_bits(parts.len())?;
        let parts = parts.iter().map(|part| part.operand(ty)).collect::<Parsed<_>>()?;
        return Ok(Operation::Pack { to: to.register()?, parts, part_bits });
    }
    if let Argument::Vector(parts) = to {
        let part_bits = part_bits(parts.len())?;
        let to = parts.iter().map(Argument::register).collect::<Parsed<_>>()?;
        return Ok(Operation::Unpack { to, from: from.operand(ty)?, part_bits });
    }
    let zero = Operand::Value(0);
    let operands = [from.operand(ty)?, zero, zero, zero];
    Ok(Operation::Compute { run: |a, _, _, _| a, to: to.register()?, operands })
}

/// What the modifiers of a load or store say.
struct Access {
    window: u64,
    ty: Type,
    count: u8,
}

/// Whether a modifier changes nothing here, where all accesses are in order: caching, ordering, and its scope.
fn is_hint(word: &str) -> bool {
    const HINTS: [&str; 17] = [
        "volatile", "relaxed", "acquire", "release", "acq_rel", "weak", "cta", "gpu", "sys", "nc", "ca",
        "cg", "cs", "lu", "cv", "wb", "wt",
    ];
    HINTS.contains(&word) || word.starts_with("L1::") || word.starts_with("L2::")
}

fn window(space: &str) -> Option<u64> {
    Some(match space {
        "global" | "const" => 0,
        "shared" | "shared::cta" => SHARED,
        "local" => LOCAL,
        "param" | "param::entry" => PARAMETERS,
        _ => return None,
    })
}

impl Access {
    fn of(modifiers: &[&str]) -> Option<Self> {
        let (ty, before) = modifiers.split_last()?;
        let mut access = Self { window: 0, ty: Type::named(ty)?, count: 1 };
        for word in before.iter().filter(|word| !is_hint(word)) {
            match *word {
                "v2" => access.count = 2,
                "v4" => access.count = 4,
                space => access.window = window(space)?,
            }
        }
        (access.ty != Type::Pred).then_some(access)
    }
}

/// `None` for what is not supported.
type Found = Option<Parsed<Operation>>;

fn atomic(has_result: bool, modifiers: &[&str], arguments: &[Argument]) -> Found {
    let (ty, before) = modifiers.split_last()?;
    let ty = Type::named(ty)?;
    let (mut space, mut operation) = (0, None);
    for word in before.iter().filter(|word| !is_hint(word) && **word != "noftz") {
        match window(word) {
            Some(window) => space = window,
            None => operation = Some(*word),
        }
    }
    let (run, count) = alu::atomic(operation?, ty)?;
    let first = usize::from(has_result);
    if arguments.len() != first + 1 + count {
        return None;
    }
    let build = || {
        let to = if has_result { Some(arguments[0].register()?) } else { None };
        let mut operands = [Operand::Value(0); 2];
        for (operand, argument) in operands.iter_mut().zip(&arguments[first + 1..]) {
            *operand = argument.operand(ty)?;
        }
        Ok(Operation::Atomic { run, ty, to, operands, place: arguments[first].place(space)? })
    };
    Some(build())
}

fn convert(modifiers: &[&str]) -> Option<Convert> {
    let [before @ .., to, from] = modifiers else { return None };
    let (to, from) = (Type::named(to)?, Type::named(from)?);
    let mut convert =
        Convert { to, from, rounding: Rounding::Nearest, is_integral: false, is_saturated: false };
    for word in before {
        let (rounding, is_integral) = match *word {
            "rn" => (Rounding::Nearest, false),
            "rz" => (Rounding::Zero, false),
            "rm" => (Rounding::Down, false),
            "rp" => (Rounding::Up, false),
            "rni" => (Rounding::Nearest, true),
            "rzi" => (Rounding::Zero, true),
            "rmi" => (Rounding::Down, true),
            "rpi" => (Rounding::Up, true),
            "sat" => {
                convert.is_saturated = true;
                continue;
            }
            _ => return None,
        };
        (convert.rounding, convert.is_integral) = (rounding, is_integral);
    }
    Some(convert)
}

fn setp(modifiers: &[&str], arguments: &[Argument]) -> Found {
    let (comparison, combination, ty) = match modifiers {
        [comparison, ty] => (comparison, None, ty),
        [comparison, combination, ty] => (comparison, Some(*combination), ty),
        _ => return None,
    };
    let ty = Type::named(ty)?;
    let run = alu::compare(comparison, ty)?;
    let [to, a, b, rest @ ..] = arguments else { return None };
    let build = |combination: Option<&str>| {
        let (to, also) = match to {
            Argument::Pair(to, also) => (*to, Some(*also)),
            _ => (to.register()?, None),
        };
        let mut operands = [a.operand(ty)?, b.operand(ty)?, Operand::Value(0)];
        let mut combine = Combine::Only;
        if let (Some(name), [c]) = (combination, rest) {
            let (operand, negated) = c.predicate()?;
            operands[2] = operand;
            combine = match name {
                "and" => Combine::And { negated },
                "or" => Combine::Or { negated },
                _ => Combine::Xor { negated },
            };
        }
        Ok(Operation::Compare { run, combine, to, also, operands })
    };
    match (combination, rest.len()) {
        (None, 0) | (Some("and" | "or" | "xor"), 1) => Some(build(combination)),
        _ => None,
    }
}

fn barrier(modifiers: &[&str], arguments: &[Argument]) -> Found {
    let words: Vec<&str> =
        modifiers.iter().copied().filter(|word| !matches!(*word, "cta" | "aligned" | "all")).collect();
    match (&words[..], arguments) {
        (["warp", "sync"], [mask]) => Some(
            mask.operand(Type::B32)
                .map(|mask| Operation::Warp { operation: WarpOperation::Synchronize, mask }),
        ),
        (["sync"], [number, rest @ ..]) if rest.len() < 2 => {
            let build = || {
                let threads = rest.first().map(|threads| threads.operand(Type::U32)).transpose()?;
                Ok(Operation::Barrier { number: number.operand(Type::U32)?, threads, reduction: None })
            };
            Some(build())
        }
        (["red", mode, _], [to, number, rest @ .., predicate]) if rest.len() < 2 => {
            let mode = match *mode {
                "popc" => Reduction::Count,
                "and" => Reduction::And,
                "or" => Reduction::Or,
                _ => return None,
            };
            let build = || {
                let (predicate, negated) = predicate.predicate()?;
                let threads = rest.first().map(|threads| threads.operand(Type::U32)).transpose()?;
                let reduction = Some((mode, to.register()?, predicate, negated));
                Ok(Operation::Barrier { number: number.operand(Type::U32)?, threads, reduction })
            };
            Some(build())
        }
        _ => None,
    }
}

fn warp(base: &str, modifiers: &[&str], arguments: &[Argument]) -> Found {
    let build = |operation: WarpOperation, mask: &Argument| {
        Ok(Operation::Warp { operation, mask: mask.operand(Type::B32)? })
    };
    match (base, modifiers, arguments) {
        ("activemask", ["b32"], [to]) => Some(to.register().map(|to| Operation::Warp {
            operation: WarpOperation::ActiveMask { to },
            mask: Operand::Value(0),
        })),
        ("vote", ["sync", mode, _], [to, predicate, mask]) => {
            let mode = match *mode {
                "all" => Vote::All,
                "any" => Vote::Any,
                "uni" => Vote::Uniform,
                "ballot" => Vote::Ballot,
                _ => return None,
            };
            let operation = || {
                let (value, negated) = predicate.predicate()?;
                build(WarpOperation::Vote { mode, to: to.register()?, value, negated }, mask)
            };
            Some(operation())
        }
        ("shfl", ["sync", mode, "b32"], [to, value, lane, clamp, mask]) => {
            let mode = match *mode {
                "up" => Shuffle::Up,
                "down" => Shuffle::Down,
                "bfly" => Shuffle::Butterfly,
                "idx" => Shuffle::Index,
                _ => return None,
            };
            let operation = || {
                let (to, is_inside) = match to {
                    Argument::Pair(to, is_inside) => (*to, Some(*is_inside)),
                    _ => (to.register()?, None),
                };
                let [value, lane, clamp] =
                    [value.operand(Type::B32)?, lane.operand(Type::B32)?, clamp.operand(Type::B32)?];
                build(WarpOperation::Shuffle { mode, to, is_inside, value, lane, clamp }, mask)
            };
            Some(operation())
        }
        _ => None,
    }
}
