//! Modules: the directives of a PTX text, which declare kernels, variables, registers and labels.

use std::collections::HashMap;
use std::sync::Arc;

use super::decode::{self, Scope};
use super::instruction::{Bytes, DYNAMIC, Instruction, Kernel, LOCAL, MODULE, Operation, PARAMETERS, SHARED};
use super::lexer::{Token, tokens};
use super::types::Type;

/// What a PTX text declares.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) kernels: Vec<Arc<Kernel>>,
    /// First contents of its variables.
    pub(crate) variables: Vec<u8>,
}

pub(super) type Parsed<T = ()> = Result<T, String>;

/// A name of the text outside of registers and labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol {
    /// The window of its state space.
    pub(super) window: u64,
    pub(super) offset: u64,
}

pub(super) type Symbols = HashMap<String, Symbol>;

impl Module {
    /// Reads a text. The error has the line and the reason.
    pub(crate) fn parse(text: &str) -> Parsed<Self> {
        let tokens = tokens(text);
        let mut parser = Parser { tokens: &tokens, at: 0 };
        let mut module = parser.module();
        if let Err(reason) = &mut module {
            *reason = format!("line {}: {reason}", parser.line());
        }
        module
    }
}

/// A position in the tokens.
pub(super) struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn line(&self) -> u32 {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens.get(self.at.saturating_sub(1).min(last)).map_or(0, |token| token.line)
    }

    pub(super) fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |token| &token.text)
    }

    pub(super) fn next(&mut self) -> Parsed<&'a str> {
        let token = self.tokens.get(self.at).ok_or_else(|| "the text ends too early".to_owned())?;
        self.at += 1;
        Ok(&token.text)
    }

    /// Takes a token if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.peek() == text;
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect(&mut self, text: &str) -> Parsed {
        let found = self.next()?;
        if found == text { Ok(()) } else { Err(format!("{found:?} instead of {text:?}")) }
    }

    pub(super) fn integer(&mut self) -> Parsed<i128> {
        let sign = if self.take("-") { -1 } else { 1 };
        let word = self.next()?;
        integer(word).map(|value| sign * value).ok_or_else(|| format!("{word:?} is no integer"))
    }

    fn count(&mut self) -> Parsed<usize> {
        usize::try_from(self.integer()?).map_err(|_| "a number is out of range".to_owned())
    }

    fn module(&mut self) -> Parsed<Module> {
        let (mut symbols, mut variables, mut shared) = (Symbols::new(), Bytes::default(), Bytes::default());
        let mut kernels: Vec<Arc<Kernel>> = Vec::new();
        while !self.peek().is_empty() {
            match self.next()? {
                ".version" | ".address_size" => drop(self.next()?),
                ".target" => {
                    self.next()?;
                    while self.take(",") {
                        self.next()?;
                    }
                }
                ".visible" | ".extern" | ".weak" | ".common" | ";" => {}
                ".pragma" => drop(self.next()?),
                ".entry" => kernels.push(Arc::new(self.kernel(&symbols, &shared)?)),
                space @ (".global" | ".const" | ".shared") => {
                    let window = if space == ".shared" { SHARED } else { MODULE };
                    let bytes = if space == ".shared" { &mut shared } else { &mut variables };
                    self.variable(window, bytes, &mut symbols)?;
                }
                other => return Err(format!("the directive {other} is not supported")),
            }
        }
        Ok(Module { kernels, variables: variables.bytes })
    }

    /// A variable behind its state space, up to the semicolon. Shared memory without a length is the dynamic part.
    fn variable(&mut self, window: u64, bytes: &mut Bytes, symbols: &mut Symbols) -> Parsed {
        let (ty, align_bytes) = self.variable_type()?;
        loop {
            let name = self.next()?.to_owned();
            let mut elements = Some(1_usize);
            while self.take("[") {
                let count = if self.peek() == "]" { None } else { Some(self.count()?) };
                self.expect("]")?;
                elements = elements.zip(count).map(|(all, count)| all.saturating_mul(count));
            }
            let mut values = Vec::new();
            if self.take("=") {
                self.initializer(ty, &mut values)?;
            }
            let len_bytes = match elements {
                Some(count) => count.saturating_mul(ty.len_bytes()),
                None => values.len(),
            };
            if elements.is_none() && values.is_empty() && window == SHARED {
                symbols.insert(name, Symbol { window, offset: DYNAMIC });
                return self.expect(";");
            }
            if len_bytes > 1 << 30 || values.len() > len_bytes {
                return Err(format!("{name} has {len_bytes} bytes, and {} values for them", values.len()));
            }
            let start = bytes.reserve(len_bytes, align_bytes);
            bytes.bytes[start..start + values.len()].copy_from_slice(&values);
            symbols.insert(name, Symbol { window, offset: start as u64 });
            if !self.take(",") {
                return self.expect(";");
            }
        }
    }

    fn variable_type(&mut self) -> Parsed<(Type, usize)> {
        let (mut ty, mut align_bytes) = (None, None);
        while self.peek().starts_with('.') {
            match self.next()? {
                ".align" => align_bytes = Some(self.count()?),
                ".ptr" | ".global" | ".shared" | ".const" | ".local" => {}
                word => {
                    let found = Type::named(&word[1..]);
                    ty = Some(found.ok_or_else(|| format!("the type {word} is not supported"))?);
                }
            }
        }
        let ty = ty.ok_or_else(|| "a declaration has no type".to_owned())?;
        Ok((ty, align_bytes.unwrap_or(ty.len_bytes())))
    }

    /// Numbers, in braces for arrays.
    fn initializer(&mut self, ty: Type, values: &mut Vec<u8>) -> Parsed {
        if self.take("{") {
            while !self.take("}") {
                self.initializer(ty, values)?;
                self.take(",");
            }
            return Ok(());
        }
        let is_negative = self.take("-");
        let word = self.next()?;
        let value = number(word, ty).ok_or_else(|| format!("the initial value {word:?} is not supported"))?;
        let value = if is_negative { value.wrapping_neg() } else { value };
        values.extend_from_slice(&value.to_le_bytes()[..ty.len_bytes()]);
        Ok(())
    }

    fn kernel(&mut self, symbols: &Symbols, shared: &Bytes) -> Parsed<Kernel> {
        let name = self.next()?.to_owned();
        let mut symbols = symbols.clone();
        let mut parameters: Vec<(usize, usize)> = Vec::new();
        if self.take("(") {
            while !self.take(")") {
                self.expect(".param")?;
                // `.align` behind `.ptr` is of the memory.
                let mut align_bytes = None;
                let mut ty = None;
                while self.peek().starts_with('.') {
                    match self.next()? {
                        ".align" if ty.is_none() => align_bytes = Some(self.count()?),
                        ".align" => drop(self.count()?),
                        ".ptr" | ".global" | ".shared" | ".const" | ".local" => {}
                        word => {
                            let found = Type::named(&word[1..]);
                            ty =
                                Some(found.ok_or_else(|| {
                                    format!("a parameter of the type {word} is not supported")
                                })?);
                        }
                    }
                }
                let ty = ty.ok_or_else(|| "a parameter has no type".to_owned())?;
                let parameter = self.next()?.to_owned();
                let mut len_bytes = ty.len_bytes();
                if self.take("[") {
                    len_bytes = len_bytes.saturating_mul(self.count()?);
                    self.expect("]")?;
                }
                let end = parameters.last().map_or(0, |(offset, len_bytes)| offset + len_bytes);
                let offset = end.next_multiple_of(align_bytes.unwrap_or(ty.len_bytes()).max(1));
                if len_bytes > 1 << 15 {
                    return Err(format!("{parameter} has {len_bytes} bytes"));
                }
                parameters.push((offset, len_bytes));
                symbols.insert(parameter, Symbol { window: PARAMETERS, offset: offset as u64 });
                self.take(",");
            }
        }
        let (mut max_threads, mut required) = (None, None);
        while self.peek().starts_with('.') {
            match self.next()? {
                directive @ (".maxntid" | ".reqntid") => {
                    let mut sizes = [1; 3];
                    sizes[0] = self.count()?;
                    for size in sizes.iter_mut().skip(1) {
                        if self.take(",") {
                            *size = self.count()?;
                        }
                    }
                    let sizes = sizes.map(|size| u32::try_from(size).unwrap_or(u32::MAX));
                    let all = sizes.iter().fold(1_u32, |all, &size| all.saturating_mul(size));
                    max_threads = Some(max_threads.unwrap_or(all).min(all));
                    if directive == ".reqntid" {
                        required = Some(sizes);
                    }
                }
                ".minnctapersm" | ".maxnreg" | ".maxnctapersm" => drop(self.count()?),
                ".pragma" => {
                    self.next()?;
                    self.take(";");
                }
                other => return Err(format!("the directive {other} is not supported")),
            }
        }
        self.expect("{")?;
        let mut body = Body {
            scope: Scope::new(symbols),
            shared: Bytes { bytes: shared.bytes.clone() },
            local: Bytes::default(),
            code: Vec::new(),
        };
        self.body(&mut body)?;
        let Body { scope, shared, local, mut code } = body;
        let end = u32::try_from(code.len()).unwrap_or(u32::MAX);
        // A body may end without an instruction for that.
        code.push(Instruction {
            guard: super::instruction::Guard::Always,
            operation: Operation::Exit,
            line: self.line(),
        });
        scope.place_labels(&mut code, end)?;
        Ok(Kernel {
            name,
            parameters,
            max_threads,
            required,
            shared_bytes: shared.bytes.len(),
            local_bytes: local.bytes.len(),
            registers: scope.register_count(),
            code,
        })
    }

    /// Statements up to the brace that closes the body.
    fn body(&mut self, body: &mut Body) -> Parsed {
        let mut depth = 0;
        loop {
            match self.peek() {
                "}" if depth == 0 => {
                    self.at += 1;
                    return Ok(());
                }
                "}" => {
                    self.at += 1;
                    depth -= 1;
                    body.scope.leave();
                }
                "{" => {
                    self.at += 1;
                    depth += 1;
                    body.scope.enter();
                }
                ";" => self.at += 1,
                _ => self.statement(body)?,
            }
        }
    }

    fn statement(&mut self, body: &mut Body) -> Parsed {
        let is_label = self.tokens.get(self.at + 1).is_some_and(|next| next.text == ":");
        if is_label {
            let label = self.next()?.to_owned();
            self.at += 1;
            if self.take(".branchtargets") {
                let mut targets = vec![self.next()?.to_owned()];
                while self.take(",") {
                    targets.push(self.next()?.to_owned());
                }
                body.scope.table(label, targets);
                return self.expect(";");
            }
            let here = u32::try_from(body.code.len()).unwrap_or(u32::MAX);
            return body.scope.label(label, here);
        }
        match self.peek() {
            ".reg" => {
                self.at += 1;
                self.variable_type()?;
                loop {
                    let name = self.next()?.to_owned();
                    let mut count = None;
                    if self.take("<") {
                        count = Some(self.count()?);
                        self.expect(">")?;
                    }
                    body.scope.registers(&name, count)?;
                    if !self.take(",") {
                        return self.expect(";");
                    }
                }
            }
            space @ (".shared" | ".local" | ".const" | ".global") => {
                self.at += 1;
                let (window, bytes) = match space {
                    ".shared" => (SHARED, &mut body.shared),
                    ".local" => (LOCAL, &mut body.local),
                    _ => return Err(format!("a variable of {space} within a kernel is not supported")),
                };
                self.variable(window, bytes, body.scope.symbols())
            }
            ".pragma" => {
                self.at += 2;
                self.expect(";")
            }
            directive if directive.starts_with('.') => {
                Err(format!("the directive {directive} is not supported"))
            }
            _ => {
                let instruction = decode::instruction(self, &mut body.scope)?;
                body.code.push(instruction);
                Ok(())
            }
        }
    }
}

/// A kernel's body while it is read.
struct Body {
    scope: Scope,
    shared: Bytes,
    local: Bytes,
    code: Vec<Instruction>,
}

/// A whole number without a sign.
pub(super) fn integer(word: &str) -> Option<i128> {
    let word = word.strip_suffix('U').unwrap_or(word);
    let hexadecimal = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let value = match hexadecimal {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse::<u64>(),
    };
    value.ok().map(i128::from)
}

/// The bits of a number as a type has them.
pub(super) fn number(word: &str, ty: Type) -> Option<u64> {
    let hexadecimal = |digits| u64::from_str_radix(digits, 16).ok();
    if let Some(digits) = word.strip_prefix("0f").or_else(|| word.strip_prefix("0F")) {
        let bits = u32::try_from(hexadecimal(digits)?).ok()?;
        return Some(if ty == Type::F64 { f64::from(f32::from_bits(bits)).to_bits() } else { bits.into() });
    }
    if let Some(digits) = word.strip_prefix("0d").or_else(|| word.strip_prefix("0D")) {
        let bits = hexadecimal(digits)?;
        return Some(if ty == Type::F32 { (f64::from_bits(bits) as f32).to_bits().into() } else { bits });
    }
    integer(word).map(|value| value as u64)
}
