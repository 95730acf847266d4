//! Hostile plugins that are too large or too much of the same to be written by hand: of the binary format, as much as they
//! need.

use super::component::Shape;

/// A shape by its name in `docs/hostile.md`.
type Generated = (&'static str, fn(&str) -> Shape);

/// All of them.
pub(crate) const ALL: [Generated; 18] = [
    ("hundred-megabytes", |name| Shape::of_bytes(name, component(&[])).of_size(100 << 20)),
    ("thousands-of-modules", |name| of(name, &vec![module(&[]); 5_000])),
    ("thousands-of-types", |name| of(name, &[types(20_000)])),
    ("thousands-of-imports", |name| of(name, &[imports(30_000)])),
    ("thousands-of-functions", |name| of(name, &[module(&vec![function(0, &[]); 60_000])])),
    ("thousands-of-locals", |name| of(name, &[module(&[function(49_999, &[])])])),
    ("locals-in-every-function", |name| of(name, &[module(&vec![function(4_000, &[]); 1_000])])),
    // local.get 0, i32.const 1, i32.add, local.set 0
    ("giant-function", |name| of(name, &[module(&[function(0, &[0x20, 0, 0x41, 1, 0x6a, 0x21, 0].repeat(100_000))])])),
    ("much-code", |name| {
        let half = function(0, &[0x20, 0, 0x41, 1, 0x6a, 0x21, 0].repeat(70_000));
        of(name, &[module(&vec![half; 40])])
    }),
    // i32.const 0, i32.const 0, call_indirect: each is compiled to several blocks.
    ("thousands-of-branches", |name| {
        of(name, &[module(&[function(0, &[0x41, 0, 0x41, 0, 0x11, 0, 0].repeat(20_000))])])
    }),
    // i32.const 0, i32.const 1, i32.const 1, table.copy 0 0: each is compiled to a loop.
    ("thousands-of-table-copies", |name| {
        of(name, &[module(&[function(0, &[0x41, 0, 0x41, 1, 0x41, 1, 0xfc, 0x0e, 0, 0].repeat(4_000))])])
    }),
    ("nested-blocks", |name| of(name, &[module(&[nested(0x02, 10_000)])])),
    ("nested-loops", |name| of(name, &[module(&[nested(0x03, 2_000)])])),
    ("branch-tables", |name| {
        // block, local.get 0, br_table of 60 000 times label 0 and label 0, end
        let mut table = vec![0x02, 0x40, 0x20, 0, 0x0e];
        number(60_000, &mut table);
        table.extend([0; 60_001]);
        table.push(0x0b);
        of(name, &[module(&vec![function(0, &table); 10])])
    }),
    ("elements-of-tables", |name| of(name, &[elements(2_000_000)])),
    ("instances-of-instances", |name| text(name, &doubling(24))),
    ("components-for-parameters", |name| {
        text(name, r#"(component (component (import "x" (component $x)) (instance (instantiate $x))))"#)
    }),
    ("calls-without-a-loop", |name| {
        // The clock is looked at where compiled code loops or calls a function of its own: neither is here.
        let call = "(call $log (i32.const 1) (i32.const 0) (i32.const 1_048_576))";
        let module = format!(
            ";;@ limits: compute = \"20ms\"\n;;@ keeps the thread\n(func $bad (param i32 i32) (result i32)
                (drop (memory.grow (i32.const 32))) {} (call $keep))",
            call.repeat(2_000)
        );
        Shape::of_module(name, &module)
    }),
];

fn of(name: &str, modules: &[Vec<u8>]) -> Shape {
    Shape::of_bytes(name, component(modules))
}

fn text(name: &str, text: &str) -> Shape {
    Shape::of_bytes(name, wat::parse_str(text).unwrap())
}

/// Each component makes two instances of the one before.
fn doubling(times: usize) -> String {
    let mut text = "(component (component $c0 (core module $m) (core instance (instantiate $m)))".to_owned();
    for time in 1..times {
        text += &format!(
            "(component $c{time} (alias outer 1 $c{} (component $c)) (instance (instantiate $c)) (instance (instantiate $c)))",
            time - 1
        );
    }
    text + &format!("(instance (instantiate $c{})))", times - 1)
}

/// A number as LEB128.
fn number(mut number: u64, to: &mut Vec<u8>) {
    while number > 0x7f {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn section(id: u8, count: usize, body: &[u8], to: &mut Vec<u8>) {
    let mut section = Vec::new();
    number(count as u64, &mut section);
    section.extend(body);
    to.push(id);
    number(section.len() as u64, to);
    to.extend(section);
}

fn component(modules: &[Vec<u8>]) -> Vec<u8> {
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    for module in modules {
        component.push(1);
        number(module.len() as u64, &mut component);
        component.extend(module);
    }
    component
}

const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// The body of a function with so many local variables.
fn function(locals: u64, code: &[u8]) -> Vec<u8> {
    let mut body = vec![1];
    number(locals, &mut body);
    body.push(0x7f);
    body.extend(code);
    body.push(0x0b);
    body
}

/// Blocks, or loops, within each other; each may be left.
fn nested(block: u8, depth: usize) -> Vec<u8> {
    function(0, &[[block, 0x40].repeat(depth), [0x20, 0, 0x0d, 0, 0x0b].repeat(depth)].concat())
}

/// A module of functions that take a number, with a table and a memory.
fn module(functions: &[Vec<u8>]) -> Vec<u8> {
    let mut module = MODULE.to_vec();
    section(1, 1, &[0x60, 1, 0x7f, 0], &mut module);
    section(3, functions.len(), &vec![0; functions.len()], &mut module);
    section(4, 1, &[0x70, 0, 10], &mut module);
    section(5, 1, &[0, 1], &mut module);
    let mut bodies = Vec::new();
    for function in functions {
        number(function.len() as u64, &mut bodies);
        bodies.extend(function);
    }
    section(10, functions.len(), &bodies, &mut module);
    module
}

/// A module of types that all differ.
fn types(count: usize) -> Vec<u8> {
    let ty = |index: usize| {
        let parameters = (0..16).map(move |bit| if index >> bit & 1 == 1 { 0x7f } else { 0x7e });
        [0x60, 16].into_iter().chain(parameters).chain([0])
    };
    let mut module = MODULE.to_vec();
    section(1, count, &(0..count).flat_map(ty).collect::<Vec<u8>>(), &mut module);
    module
}

fn imports(count: usize) -> Vec<u8> {
    let mut module = MODULE.to_vec();
    section(1, 1, &[0x60, 0, 0], &mut module);
    section(2, count, &[1, b'a', 1, b'b', 0, 0].repeat(count), &mut module);
    module
}

/// A module whose one segment has so many elements for its table.
fn elements(count: usize) -> Vec<u8> {
    let mut module = MODULE.to_vec();
    section(1, 1, &[0x60, 0, 0], &mut module);
    section(3, 1, &[0], &mut module);
    section(4, 1, &[0x70, 0, 10], &mut module);
    let mut segment = vec![0, 0x41, 0, 0x0b];
    number(count as u64, &mut segment);
    segment.extend(vec![0; count]);
    section(9, 1, &segment, &mut module);
    section(10, 1, &[2, 0, 0x0b], &mut module);
    module
}
