//! Bounds on the components that the host compiles. A compilation cannot be interrupted, so the host first scans the
//! file, in linear time, and rejects a component that would cost too much.
//!
//! The host does not compile in a child process under limits of the operating system, for three reasons: a library
//! cannot start itself in an embedder's program, the channel for the compiled code would have to be trusted, and limits
//! on address space conflict with wasmtime's reservations.

use crate::plugin::ContractError;
use crate::plugin::component_file::MAX_BYTES as FILE;
use wasmparser::{
    ComponentInstance, ComponentType, ElementItems, FunctionBody, InstanceTypeDeclaration, Operator, Parser, Payload,
    SectionLimited,
};

/// Maximum depth of nested components and modules.
pub(super) const NESTED_COMPONENTS: usize = 100;
/// Maximum size of the bodies of all functions together, in bytes. Compiling a byte takes up to 11 µs in the worst
/// known code, and 1 µs in usual code.
const CODE: u64 = 16 << 20;
/// Maximum size of one function, in bytes. The compiler's memory for one function is up to 700 times its size.
const FUNCTION: u64 = 512 << 10;
/// Maximum number of functions. Each function costs about 0.3 ms, regardless of its size.
const FUNCTIONS: u64 = 50_000;
/// Maximum of the sum of the squares of all functions' weights. [`FunctionBranches`] counts the weight of a function,
/// and compile time grows with the square of this weight.
const BRANCHING: u64 = 1_600_000_000;
/// Maximum depth of nested blocks. The compiler's time and memory grow with the square of this depth. A `match` with a
/// thousand cases has depth 1000.
const NESTED: usize = 3_000;
/// Maximum depth of nested loops, which cost at least as much as nested blocks. Handwritten code has up to about five
/// levels.
const NESTED_LOOPS: usize = 100;
/// Maximum number of local variables of one function. The compiler's memory grows with this number times the number of
/// branches.
const LOCALS: u64 = 5_000;
/// Maximum number of local variables of all functions together. Each variable costs 0.3 µs. The size of the file is no
/// bound, because five bytes can declare any number of variables.
const ALL_LOCALS: u64 = 2_000_000;
/// Maximum number of targets of `br_table` in all functions together. Each target costs 7 µs.
const TARGETS: u64 = 500_000;
/// Maximum number of core modules. A Rust component has 4.
const MODULES: u64 = 200;
/// Maximum number of types of core modules. For each type, the compiler creates code for calls to and from the host,
/// which costs 0.3 ms.
const TYPES: u64 = 10_000;
/// Maximum number of imports of core modules.
const IMPORTS: u64 = 20_000;
/// Maximum number of exports and globals of core modules.
const EXPORTS: u64 = 100_000;
/// Maximum number of elements that segments put into tables.
const ELEMENTS: u64 = 1_000_000;
/// Maximum number of parts: the types, imports, aliases, functions and exports of the component and its nested
/// components. The parts of a nested component are counted once for each of its instances. With nested components that
/// are each instantiated twice, a file of 1 KB can have a million parts.
const PARTS: u64 = 200_000;
/// A function between core code and a component counts as this number of parts, because it costs 2 ms.
const PARTS_OF_FUNCTION: u64 = 50;

/// Checks that a component does not cost too much to compile.
///
/// # Errors
/// Fails if a bound is exceeded, or if the file is not a component.
pub(super) fn check(bytes: &[u8]) -> Result<(), ContractError> {
    if bytes.len() as u64 > FILE {
        return Err(too_many("bytes", bytes.len() as u64, FILE));
    }
    let mut scan = Scan::default();
    for payload in Parser::new(0).parse_all(bytes) {
        scan.payload(payload.map_err(invalid)?)?;
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "so it goes into `map_err`")]
fn invalid(error: wasmparser::BinaryReaderError) -> ContractError {
    ContractError::Invalid(error.to_string())
}

fn too_many(what: &str, found: u64, most: u64) -> ContractError {
    ContractError::TooLarge(format!("has {found} {what}, and {most} is the most that a plugin may have"))
}

/// Returns true for the type of a component, and for the type of an instance that may export a component.
fn names_a_component(ty: &ComponentType<'_>) -> bool {
    match ty {
        ComponentType::Component(_) => true,
        ComponentType::Instance(declarations) => declarations.iter().any(|declaration| match declaration {
            InstanceTypeDeclaration::Type(ty) => names_a_component(ty),
            _ => false,
        }),
        _ => false,
    }
}

/// The result of the scan so far.
#[derive(Default)]
struct Scan {
    /// The components that contain the current position of the scan. The last one is the innermost component, whose
    /// parts are being counted. `None` stands for a core module.
    around: Vec<Option<Parts>>,
    code: u64,
    functions: u64,
    locals: u64,
    branching: u64,
    targets: u64,
    modules: u64,
    types: u64,
    imports: u64,
    exports: u64,
    elements: u64,
}

/// The parts of one component.
#[derive(Clone, Copy, Default)]
struct Parts {
    own: u64,
    /// The largest number of parts of any component that can be instantiated here. The scan does not track which of
    /// these components is instantiated, so it overestimates a file that instantiates components of different sizes.
    heaviest: u64,
}

/// Adds to a count, and fails if the count then exceeds `most`.
fn count(counted: &mut u64, more: u64, what: &str, most: u64) -> Result<(), ContractError> {
    *counted = counted.saturating_add(more);
    if *counted > most { Err(too_many(what, *counted, most)) } else { Ok(()) }
}

impl Scan {
    fn nested(&self) -> Result<(), ContractError> {
        match self.around.len() {
            depth if depth > NESTED_COMPONENTS => {
                Err(too_many("components within each other", depth as u64, NESTED_COMPONENTS as u64))
            }
            _ => Ok(()),
        }
    }

    fn payload(&mut self, payload: Payload<'_>) -> Result<(), ContractError> {
        match payload {
            Payload::ModuleSection { .. } => {
                self.part(1)?;
                self.around.push(None);
                self.nested()?;
                count(&mut self.modules, 1, "core modules", MODULES)
            }
            Payload::ComponentSection { .. } => {
                let heaviest = self.around.iter().rev().flatten().next().map_or(0, |parts| parts.heaviest);
                self.around.push(Some(Parts { own: 0, heaviest }));
                self.nested()
            }
            Payload::Version { .. } if self.around.is_empty() => {
                self.around.push(Some(Parts::default()));
                Ok(())
            }
            Payload::End(_) => {
                let ended = self.around.pop().flatten();
                if let (Some(ended), Some(Some(around))) = (ended, self.around.last_mut()) {
                    around.heaviest = around.heaviest.max(ended.heaviest).max(ended.own + 1);
                }
                Ok(())
            }

            Payload::TypeSection(types) => count(&mut self.types, types.count().into(), "types", TYPES),
            Payload::ImportSection(imports) => {
                count(&mut self.imports, imports.count().into(), "imports of core modules", IMPORTS)
            }
            Payload::ExportSection(exports) => {
                count(&mut self.exports, exports.count().into(), "exports and globals of core modules", EXPORTS)
            }
            Payload::GlobalSection(globals) => {
                count(&mut self.exports, globals.count().into(), "exports and globals of core modules", EXPORTS)
            }
            Payload::ElementSection(segments) => {
                for segment in segments {
                    let elements = match segment.map_err(invalid)?.items {
                        ElementItems::Functions(functions) => functions.count(),
                        ElementItems::Expressions(_, expressions) => expressions.count(),
                    };
                    count(&mut self.elements, u64::from(elements) + 1, "elements of tables", ELEMENTS)?;
                }
                Ok(())
            }
            Payload::CodeSectionEntry(body) => self.function(&body),

            Payload::CoreTypeSection(section) => self.section(&section),
            Payload::ComponentTypeSection(section) => {
                for ty in section.clone() {
                    // Reject a component that is passed as an argument. It could be instantiated any number of times,
                    // and the scan would not see these instances.
                    if names_a_component(&ty.map_err(invalid)?) {
                        let why =
                            "passes components to other components, so their instances cannot be counted".to_owned();
                        return Err(ContractError::TooLarge(why));
                    }
                }
                self.section(&section)
            }
            Payload::InstanceSection(section) => self.section(&section),
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    if let ComponentInstance::Instantiate { .. } = instance.map_err(invalid)? {
                        let heaviest = self.around.last().copied().flatten().map_or(0, |parts| parts.heaviest);
                        self.part(heaviest)?;
                    }
                }
                self.section(&section)
            }
            Payload::ComponentCanonicalSection(section) => {
                self.part(u64::from(section.count()).saturating_mul(PARTS_OF_FUNCTION))
            }
            Payload::ComponentAliasSection(section) => self.section(&section),
            Payload::ComponentImportSection(section) => self.section(&section),
            Payload::ComponentExportSection(section) => self.section(&section),
            _ => Ok(()),
        }
    }

    fn section<T>(&mut self, section: &SectionLimited<'_, T>) -> Result<(), ContractError> {
        self.part(section.count().into())
    }

    /// Counts parts of the component that is being read.
    fn part(&mut self, parts: u64) -> Result<(), ContractError> {
        match self.around.last_mut() {
            Some(Some(component)) => count(&mut component.own, parts, "parts", PARTS),
            _ => Ok(()),
        }
    }

    fn function(&mut self, body: &FunctionBody<'_>) -> Result<(), ContractError> {
        let length = body.range().len() as u64;
        if length > FUNCTION {
            return Err(too_many("bytes in one function", length, FUNCTION));
        }
        count(&mut self.code, length, "bytes of code", CODE)?;
        count(&mut self.functions, 1, "functions", FUNCTIONS)?;
        let mut locals = 0_u64;
        for declared in body.get_locals_reader().map_err(invalid)? {
            let (number, _) = declared.map_err(invalid)?;
            count(&mut locals, number.into(), "local variables in one function", LOCALS)?;
        }
        count(&mut self.locals, locals, "local variables", ALL_LOCALS)?;
        let mut branching = FunctionBranches::default();
        for operator in body.get_operators_reader().map_err(invalid)? {
            branching.operator(&operator.map_err(invalid)?)?;
        }
        count(&mut self.targets, branching.targets, "branch targets", TARGETS)?;
        let square = branching.weight.saturating_mul(branching.weight);
        self.branching = self.branching.saturating_add(square);
        if self.branching > BRANCHING {
            let why = "has functions with so many branches that it would take too long to compile";
            return Err(ContractError::TooLarge(why.to_owned()));
        }
        Ok(())
    }
}

/// Counts the branches of a function. Branches divide the function into blocks, and compile time grows with the square
/// of the number of blocks.
#[derive(Default)]
struct FunctionBranches {
    /// Sum of the weights of the instructions: 1 for a branch, 4 for an instruction that is compiled to several
    /// branches, 8 for a loop, and 16 for an instruction that is compiled to a loop over a table or costs as much.
    weight: u64,
    targets: u64,
    /// For each open block, true if the block is a loop.
    open: Vec<bool>,
    loops: usize,
}

impl FunctionBranches {
    fn operator(&mut self, operator: &Operator<'_>) -> Result<(), ContractError> {
        self.weight += match operator {
            Operator::Loop { .. } => 8,
            Operator::Block { .. } | Operator::If { .. } | Operator::Else => 1,
            Operator::Br { .. } | Operator::BrIf { .. } | Operator::BrTable { .. } | Operator::Return => 1,
            Operator::CallIndirect { .. } | Operator::ReturnCallIndirect { .. } => 4,
            Operator::ReturnCall { .. } | Operator::ReturnCallRef { .. } => 4,
            Operator::MemoryGrow { .. } | Operator::MemoryFill { .. } | Operator::MemoryInit { .. } => 4,
            Operator::MemoryCopy { .. } | Operator::DataDrop { .. } | Operator::ElemDrop { .. } => 4,
            Operator::TableGet { .. } | Operator::TableSet { .. } => 4,
            // This instruction is compiled to a call of the host and further code. Together they cost as much as a loop
            // over the table.
            Operator::TableGrow { .. } => 16,
            // Each of these is compiled to a loop over the elements with checks.
            Operator::TableFill { .. } | Operator::TableInit { .. } | Operator::TableCopy { .. } => 16,
            _ => 0,
        };
        match operator {
            Operator::Loop { .. } => {
                self.open.push(true);
                self.loops += 1;
                if self.loops > NESTED_LOOPS {
                    return Err(too_many("loops within each other", self.loops as u64, NESTED_LOOPS as u64));
                }
            }
            Operator::Block { .. } | Operator::If { .. } => {
                self.open.push(false);
                if self.open.len() > NESTED {
                    return Err(too_many("blocks within each other", self.open.len() as u64, NESTED as u64));
                }
            }
            Operator::End => self.loops -= usize::from(self.open.pop() == Some(true)),
            Operator::BrTable { targets } => self.targets += u64::from(targets.len()),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(text: &str) -> Vec<u8> {
        wat::parse_str(format!("(component {text})")).unwrap()
    }

    fn function(code: &str) -> Vec<u8> {
        component(&format!("(core module (table 1 funcref) (memory 1) (type $f (func)) (func {code}))"))
    }

    fn refused(bytes: &[u8]) -> Option<String> {
        check(bytes).err().map(|error| error.to_string())
    }

    #[test]
    fn what_is_at_a_bound_passes_and_what_is_beyond_is_named_with_it() {
        let loops = |depth| function(&format!("{}{}", "(loop ".repeat(depth), ")".repeat(depth)));
        let blocks = |depth| function(&format!("{}{}", "(block ".repeat(depth), ")".repeat(depth)));
        let locals = |number| function(&format!("(local {})", "i32 ".repeat(number)));
        let modules = |number| component(&"(core module)".repeat(number));
        let branches = |number| function(&"(call_indirect (type $f) (i32.const 0))".repeat(number));
        let grows = |number| function(&"(drop (table.grow 0 (ref.null func) (i32.const 0)))".repeat(number));
        let tails = |number| function(&"(if (i32.const 0) (then (return_call 0)))".repeat(number));
        let copies = |number| function(&"(table.copy 0 0 (i32.const 0) (i32.const 0) (i32.const 0))".repeat(number));
        let doubled = |times: usize| {
            let again = |time: usize| {
                let two = "(instance (instantiate $c)) (instance (instantiate $c))";
                format!("(component $c{} (alias outer 1 $c{time} (component $c)) {two})", time + 1)
            };
            component(&format!("(component $c0) {}", (0..times).map(again).collect::<String>()))
        };
        for (enough, beyond, said) in [
            (loops(100), loops(101), "has 101 loops within each other, and 100 is the most"),
            (blocks(3_000), blocks(3_001), "has 3001 blocks within each other, and 3000 is the most"),
            (locals(5_000), locals(5_001), "has 5001 local variables in one function, and 5000 is the most"),
            (modules(200), modules(201), "has 201 core modules, and 200 is the most"),
            (branches(10_000), branches(10_001), "has functions with so many branches"),
            (copies(2_500), copies(2_501), "has functions with so many branches"),
            (grows(2_500), grows(2_501), "has functions with so many branches"),
            (tails(8_000), tails(8_001), "has functions with so many branches"),
            (doubled(14), doubled(20), "parts, and 200000 is the most"),
        ] {
            assert_eq!(refused(&enough), None, "{said}");
            let found = refused(&beyond).unwrap();
            assert!(found.starts_with("is not loaded, since it has ") && found.contains(said), "{found}");
        }
    }

    #[test]
    fn the_branches_of_all_functions_count_together() {
        let many = |functions: usize| {
            let code = "(call_indirect (type $f) (i32.const 0))".repeat(2_500);
            let functions = format!("(func {code})").repeat(functions);
            component(&format!("(core module (table 1 funcref) (type $f (func)) {functions})"))
        };
        assert_eq!(refused(&many(16)), None);
        assert!(refused(&many(17)).unwrap().contains("so many branches"));
    }

    #[test]
    fn the_page_has_the_numbers() {
        let page = include_str!("../../../../../docs/hostile.md").replace('\u{a0}', " ");
        let spoken = |number: u64| match number {
            n if n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
            n if n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
            n => {
                let digits = n.to_string();
                let groups = digits.as_bytes().rchunks(3).rev();
                groups.map(|group| String::from_utf8_lossy(group).into_owned()).collect::<Vec<_>>().join(" ")
            }
        };
        for (row, number) in [
            ("its size", FILE),
            ("code of all functions", CODE),
            ("code of one function", FUNCTION),
            ("functions", FUNCTIONS),
            ("local variables of all functions", ALL_LOCALS),
            ("local variables of one function", LOCALS),
            ("nested blocks", NESTED as u64),
            ("nested loops", NESTED_LOOPS as u64),
            ("branches of one function", BRANCHING.isqrt()),
            ("targets of branch tables", TARGETS),
            ("core modules", MODULES),
            ("types of core modules", TYPES),
            ("imports of core modules", IMPORTS),
            ("exports and globals of core modules together", EXPORTS),
            ("elements that are put into tables", ELEMENTS),
            ("parts of components", PARTS),
        ] {
            let line =
                page.lines().find(|line| line.starts_with(&format!("| {row} |"))).unwrap_or_else(|| panic!("{row}"));
            let (_, cell) = line.trim_end_matches(" |").rsplit_once(" | ").unwrap();
            assert_eq!(cell, spoken(number), "{row}");
        }
    }
}
