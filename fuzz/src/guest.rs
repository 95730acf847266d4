//! Builds components of the contract from bytes. Every export has its right type and does what the bytes say.

use arbitrary::{Arbitrary, Result, Unstructured};
use std::path::Path;
use std::sync::LazyLock;
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, ImportSection, MemArg, MemorySection, MemoryType, Module, TypeSection, ValType,
};
use wasmparser::{ExternalKind, Parser, Payload, TypeRef};
use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser_of_wasmtime::{LiftLowerAbi, ManglingAndAbi, Resolve, WorldId, WorldItem};

/// A plugin with every capability, as a core module.
pub(crate) struct Contract {
    resolve: Resolve,
    world: WorldId,
    /// A module with all of its imports and exports, which does nothing.
    pub(crate) shape: Vec<u8>,
    imports: Vec<(String, String, Signature)>,
    exports: Vec<(String, Signature)>,
}

/// The signature of a core function.
#[derive(Clone)]
struct Signature {
    parameters: Vec<ValType>,
    results: Vec<ValType>,
}

/// The contract of a component that subscribes to every event, takes a configuration, and adds tools.
pub(crate) static ALL: LazyLock<Contract> = LazyLock::new(|| Contract::of(|_| true));

/// The contract of a component that only subscribes to every event. It is not called while it is loaded.
pub(crate) static EVENTS: LazyLock<Contract> =
    LazyLock::new(|| Contract::of(|export| !["setup", "tools"].contains(&export)));

/// The contract of a component that subscribes to one event of each shape. It compiles in a fraction of the time.
pub(crate) static FEW: LazyLock<Contract> = LazyLock::new(|| {
    Contract::of(|export| ["session-start", "prompt-submit", "before-tool-call", "stream-end"].contains(&export))
});

impl Contract {
    /// Returns a contract chosen by the first byte: mostly one that compiles fast.
    pub(crate) fn by(kind: u8) -> &'static Self {
        match kind / 2 % 16 {
            0 => &ALL,
            1 | 2 => &EVENTS,
            _ => &FEW,
        }
    }
}

const MEMORY: &str = "memory";
const REALLOC: &str = "cabi_realloc";

/// An address at which memory is zero, unless the script writes there. It reads as the first case of every verdict and as an empty list.
const ZEROS: Number = Number::Place(0xfff0);

/// The behaviour of a hostile plugin.
#[derive(Arbitrary, Clone, Debug, Default)]
pub(crate) struct Script {
    /// The code of the functions, in the order of the exports. It repeats if there are more exports.
    functions: Vec<Code>,
    /// The code that answers the host's requests for memory; `None` for correct answers.
    realloc: Option<Code>,
    /// The initial content of its memory, from address 0.
    memory: Vec<u8>,
}

#[derive(Arbitrary, Clone, Debug, Default)]
struct Code {
    steps: Vec<Step>,
    answer: Vec<Number>,
}

#[derive(Arbitrary, Clone, Debug)]
enum Step {
    /// Calls a function of the host.
    Call {
        import: u8,
        arguments: Vec<Number>,
    },
    /// Calls an export of its own.
    Again {
        export: u8,
    },
    Store {
        at: Number,
        value: u64,
    },
    Fill {
        at: Number,
        with: u8,
        bytes: Number,
    },
    Grow {
        pages: Number,
    },
    Repeat {
        steps: Vec<Step>,
    },
    Trap,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Number {
    /// A length, a case or a flag.
    Small(u8),
    /// An address that exists.
    Place(u16),
    Any(u64),
}

impl Script {
    /// Reads a script from bytes. The remaining bytes become its memory, so that it may contain anything.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        Self::arbitrary_take_rest(Unstructured::new(bytes))
    }

    /// Returns a script that answers each event with the value in memory at `address`.
    pub(crate) fn answering(address: u16, memory: Vec<u8>) -> Self {
        let code = Code { steps: Vec::new(), answer: vec![Number::Place(address)] };
        Self { functions: vec![code], realloc: None, memory }
    }

    /// Returns a component that runs the script.
    pub(crate) fn component(&self, of: &Contract) -> Vec<u8> {
        of.component(self.module(of))
    }

    fn module(&self, of: &Contract) -> Vec<u8> {
        let Contract { imports, exports, .. } = of;
        let (mut types, mut import, mut functions) = (TypeSection::new(), ImportSection::new(), FunctionSection::new());
        let (mut export, mut code) = (ExportSection::new(), CodeSection::new());
        let signatures = imports.iter().map(|(.., signature)| signature).chain(exports.iter().map(|(_, of)| of));
        for Signature { parameters, results } in signatures {
            types.ty().function(parameters.iter().copied(), results.iter().copied());
        }
        let mut index = 0;
        for (module, name, _) in imports {
            import.import(module, name, EntityType::Function(index));
            index += 1;
        }
        for (number, (name, signature)) in exports.iter().enumerate() {
            functions.function(index);
            export.export(name, ExportKind::Func, index);
            let of_export = self.functions.get(number % self.functions.len().max(1));
            code.function(&match (name.as_str(), &self.realloc, of_export) {
                (REALLOC, None, _) => bump(),
                (REALLOC, Some(code), _) | (_, _, Some(code)) => code.function(signature, of),
                (_, _, None) => Code::default().function(signature, of),
            });
            index += 1;
        }
        export.export(MEMORY, ExportKind::Memory, 0);
        let mut memories = MemorySection::new();
        memories.memory(MemoryType { minimum: 2, maximum: None, memory64: false, shared: false, page_size_log2: None });
        let mut globals = GlobalSection::new();
        let of_numbers = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        globals.global(of_numbers, &ConstExpr::i32_const(0x1_0000));
        let mut data = DataSection::new();
        let memory = &self.memory[..self.memory.len().min(0x1_0000)];
        data.active(0, &ConstExpr::i32_const(0), memory.iter().copied());
        let mut module = Module::new();
        module.section(&types).section(&import).section(&functions).section(&memories).section(&globals);
        module.section(&export).section(&code).section(&data);
        module.finish()
    }
}

/// Returns an allocator that never frees memory.
fn bump() -> Function {
    let mut function = Function::new([]);
    let mut code = function.instructions();
    // Aligned to 8, whatever alignment is requested.
    code.global_get(0).global_get(0).local_get(3).i32_const(7).i32_add().i32_const(-8).i32_and().i32_add();
    code.global_set(0).end();
    function
}

impl Code {
    fn function(&self, signature: &Signature, of: &Contract) -> Function {
        let mut function = Function::new([]);
        steps(&self.steps, of, 0, &mut function);
        for (index, ty) in signature.results.iter().enumerate() {
            number(self.answer.get(index).copied().or(Some(ZEROS)), *ty, &mut function);
        }
        function.instructions().end();
        function
    }
}

fn steps(taken: &[Step], of: &Contract, depth: usize, function: &mut Function) {
    let Contract { imports, exports, .. } = of;
    let at = MemArg { offset: 0, align: 0, memory_index: 0 };
    for step in taken {
        match step {
            Step::Call { import, arguments } => {
                let index = usize::from(*import) % imports.len();
                call(index, &imports[index].2, arguments, function);
            }
            Step::Again { export } => {
                let index = usize::from(*export) % exports.len();
                call(imports.len() + index, &exports[index].1, &[], function);
            }
            Step::Store { at: address, value } => {
                number(Some(*address), ValType::I32, function);
                function.instructions().i64_const(value.cast_signed()).i64_store(at);
            }
            Step::Fill { at: address, with, bytes } => {
                number(Some(*address), ValType::I32, function);
                function.instructions().i32_const(i32::from(*with));
                number(Some(*bytes), ValType::I32, function);
                function.instructions().memory_fill(0);
            }
            Step::Grow { pages } => {
                number(Some(*pages), ValType::I32, function);
                function.instructions().memory_grow(0).drop();
            }
            // An endless loop: the host must end it.
            Step::Repeat { steps: inner } if depth < 8 => {
                function.instructions().loop_(BlockType::Empty);
                steps(inner, of, depth + 1, function);
                function.instructions().br(0).end();
            }
            Step::Trap | Step::Repeat { .. } => {
                // The condition keeps the following code reachable.
                function.instructions().i32_const(1).if_(BlockType::Empty).unreachable().end();
            }
        }
    }
}

fn call(index: usize, signature: &Signature, arguments: &[Number], function: &mut Function) {
    for (index, ty) in signature.parameters.iter().enumerate() {
        number(arguments.get(index).copied(), *ty, function);
    }
    let mut code = function.instructions();
    code.call(u32::try_from(index).unwrap_or(u32::MAX));
    for _ in &signature.results {
        code.drop();
    }
}

fn number(of: Option<Number>, ty: ValType, function: &mut Function) {
    let bits = match of {
        None => 0,
        Some(Number::Small(number)) => number.into(),
        Some(Number::Place(number)) => number.into(),
        Some(Number::Any(number)) => number,
    };
    let low = u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
    let mut code = function.instructions();
    match ty {
        ValType::I64 => code.i64_const(bits.cast_signed()),
        ValType::F32 => code.f32_const(f32::from_bits(low).into()),
        ValType::F64 => code.f64_const(f64::from_bits(bits).into()),
        _ => code.i32_const(low.cast_signed()),
    };
}

impl Contract {
    /// Reads the contract of the repository.
    fn of(has: impl Fn(&str) -> bool) -> Self {
        let mut resolve = Resolve::default();
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/0.1");
        let (package, _) = resolve.push_dir(&wit).expect("the contract");
        let world = resolve.select_world(&[package], Some("all-events")).expect("the world of all events");
        let left_out = |resolve: &Resolve, item: &WorldItem| match item {
            WorldItem::Interface { id, .. } => resolve.interfaces[*id].name.as_deref().is_some_and(|name| !has(name)),
            _ => false,
        };
        let mut of_world = std::mem::take(&mut resolve.worlds[world].exports);
        of_world.retain(|_, item| !left_out(&resolve, item));
        resolve.worlds[world].exports = of_world;
        let shape = dummy_module(&resolve, world, ManglingAndAbi::Legacy(LiftLowerAbi::Sync));
        let (imports, exports) = functions(&shape);
        Self { resolve, world, shape, imports, exports }
    }

    /// Returns the component of a module with this shape.
    pub(crate) fn component(&self, mut module: Vec<u8>) -> Vec<u8> {
        embed_component_metadata(&mut module, &self.resolve, self.world, StringEncoding::UTF8).expect("the contract");
        let encoder = ComponentEncoder::default().module(&module).expect("a module of the contract");
        encoder.validate(false).encode().expect("a module of the contract")
    }
}

type Imports = Vec<(String, String, Signature)>;
type Exports = Vec<(String, Signature)>;

/// Returns the imported and exported functions of a module.
fn functions(module: &[u8]) -> (Imports, Exports) {
    let (mut types, mut indices, mut imports, mut exports) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(module) {
        match payload.expect("a valid module") {
            Payload::TypeSection(section) => {
                for ty in section.into_iter_err_on_gc_types() {
                    let ty = ty.expect("a function's type");
                    let numbers = |of: &[wasmparser::ValType]| of.iter().copied().map(as_encoded).collect();
                    types.push(Signature { parameters: numbers(ty.params()), results: numbers(ty.results()) });
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.expect("an import");
                    if let TypeRef::Func(ty) = import.ty {
                        indices.push(ty);
                        imports.push((import.module.into(), import.name.into(), types[ty as usize].clone()));
                    }
                }
            }
            Payload::FunctionSection(section) => indices.extend(section.into_iter().map(|ty| ty.expect("a type"))),
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export.expect("an export");
                    if export.kind == ExternalKind::Func {
                        let ty = indices[export.index as usize];
                        exports.push((export.name.into(), types[ty as usize].clone()));
                    }
                }
            }
            _ => {}
        }
    }
    (imports, exports)
}

fn as_encoded(ty: wasmparser::ValType) -> ValType {
    match ty {
        wasmparser::ValType::I64 => ValType::I64,
        wasmparser::ValType::F32 => ValType::F32,
        wasmparser::ValType::F64 => ValType::F64,
        _ => ValType::I32,
    }
}
