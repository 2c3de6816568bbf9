//! Modules: the directives of a PTX text, which declare kernels, variables, registers and labels.

use std::sync::Arc;

use super::decode::{self, Scope, Symbol, Symbols};
use super::instruction::{Bytes, DYNAMIC, Instruction, Kernel, LOCAL, MODULE, Operation, PARAMETERS, SHARED};
use super::lexer::tokens;
use super::parser::{Parsed, Parser, number};
use super::types::Type;

/// What a PTX text declares.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) kernels: Vec<Arc<Kernel>>,
    /// First contents of its variables.
    pub(crate) variables: Vec<u8>,
}

impl Module {
    /// Reads a text. The error has the line and the reason.
    pub(crate) fn parse(text: &str) -> Parsed<Self> {
        let tokens = tokens(text);
        let mut parser = Parser::new(&tokens);
        let mut module = parser.module();
        if let Err(reason) = &mut module {
            *reason = format!("line {}: {reason}", parser.line());
        }
        module
    }
}

impl Parser<'_> {
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
                "}" if depth == 0 => return self.next().map(drop),
                "}" => {
                    self.next()?;
                    depth -= 1;
                    body.scope.leave();
                }
                "{" => {
                    self.next()?;
                    depth += 1;
                    body.scope.enter();
                }
                ";" => drop(self.next()?),
                _ => self.statement(body)?,
            }
        }
    }

    fn statement(&mut self, body: &mut Body) -> Parsed {
        let is_label = self.peek_second() == ":";
        if is_label {
            let label = self.next()?.to_owned();
            self.next()?;
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
                self.next()?;
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
                self.next()?;
                let (window, bytes) = match space {
                    ".shared" => (SHARED, &mut body.shared),
                    ".local" => (LOCAL, &mut body.local),
                    _ => return Err(format!("a variable of {space} within a kernel is not supported")),
                };
                self.variable(window, bytes, body.scope.symbols())
            }
            ".pragma" => {
                self.next()?;
                self.next()?;
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
