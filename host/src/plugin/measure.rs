//! How much a plugin would make the compiler do, read off its bytes before it is compiled.
//!
//! Compiling has no memory limit, and a few kilobytes can ask for any amount of it: components that
//! instantiate one another many times over, loops in loops. One pass over the bytes, with nothing
//! expanded, tells such files. What cannot be parsed is passed: the compiler says better what is wrong
//! with it.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind,
    ComponentTypeRef, Encoding, FunctionBody, Instance, Operator, Parser, Payload,
};

use super::engine::CORE_INSTANCES;
use crate::config::shown;
use crate::limits::{
    COMPONENT_INSTANCES, FUNCTION_BODY, FUNCTIONS, LOOP_NESTING, NESTING, TYPES_IN_TYPES,
};

/// Refuses what would take too much to compile.
///
/// # Errors
/// A line that says what there is too much of, how much, and how much may be.
pub(super) fn measure(component: &[u8]) -> Result<(), String> {
    let mut functions = 0_u64;
    // The component or module that is being read, after those around it.
    let mut around: Vec<Scope> = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        let Ok(payload) = payload else { break };
        match payload {
            Payload::Version { encoding, .. } => around.push(Scope::of(encoding)),
            Payload::CodeSectionStart { count, .. } => {
                functions += u64::from(count);
                within(functions, FUNCTIONS, "functions in it")?;
            }
            Payload::CodeSectionEntry(body) => function(&body)?,
            Payload::ComponentTypeSection(types) => {
                types_in_types(component.get(types.range()).unwrap_or_default())?;
            }
            // What a module says of its types is a component again.
            Payload::CustomSection(custom) => {
                if custom.name().starts_with("component-type") {
                    types_in_types(custom.data())?;
                }
            }
            Payload::End(_) => {
                let Some(done) = around.pop() else { break };
                match around.last_mut() {
                    Some(outer) if done.encoding == Encoding::Component => {
                        outer.components.push(done.makes);
                    }
                    Some(_) => {}
                    None => return done.makes.check(),
                }
            }
            other => {
                if section(&mut around, other)?.is_none() {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// How many instances a component makes when it is instantiated, itself and all in it.
#[derive(Clone, Copy, Default)]
struct Makes {
    components: u64,
    cores: u64,
}

impl Makes {
    fn add(&mut self, other: Self) {
        self.components = self.components.saturating_add(other.components);
        self.cores = self.cores.saturating_add(other.cores);
    }

    fn check(self) -> Result<(), String> {
        let (components, cores) = (COMPONENT_INSTANCES, CORE_INSTANCES.into());
        within(
            self.components,
            components,
            "component instances that it makes",
        )?;
        within(self.cores, cores, "core instances that it makes")
    }
}

/// A component or a module, as far as it has been read.
struct Scope {
    encoding: Encoding,
    makes: Makes,
    /// Its index space of components, each as what an instance of it makes.
    components: Vec<Makes>,
}

impl Scope {
    fn of(encoding: Encoding) -> Self {
        Self {
            encoding,
            makes: Makes {
                components: 1,
                cores: 0,
            },
            components: Vec::new(),
        }
    }

    fn component(&self, index: u32) -> Option<Makes> {
        self.components.get(index as usize).copied()
    }
}

/// Takes a section of the innermost scope. None where it cannot be parsed.
fn section(around: &mut [Scope], payload: Payload<'_>) -> Result<Option<()>, String> {
    // Made where it is instantiated, it could make anything.
    let handed_on = || {
        Err(
            "it takes a component from an import or out of an instance, so what it makes cannot \
             be counted: define that component where it is instantiated"
                .to_owned(),
        )
    };
    let Some((scope, outer)) = around.split_last_mut() else {
        return Ok(None);
    };
    match payload {
        Payload::InstanceSection(instances) => {
            for instance in instances {
                match instance {
                    Ok(Instance::Instantiate { .. }) => scope.makes.cores += 1,
                    Ok(Instance::FromExports(_)) => {}
                    Err(_) => return Ok(None),
                }
            }
        }
        Payload::ComponentInstanceSection(instances) => {
            for instance in instances {
                match instance {
                    Ok(ComponentInstance::Instantiate {
                        component_index, ..
                    }) => match scope.component(component_index) {
                        Some(makes) => scope.makes.add(makes),
                        None => return Ok(None),
                    },
                    Ok(ComponentInstance::FromExports(_)) => {}
                    Err(_) => return Ok(None),
                }
            }
        }
        Payload::ComponentAliasSection(aliases) => {
            for alias in aliases {
                let makes = match alias {
                    Ok(ComponentAlias::InstanceExport {
                        kind: ComponentExternalKind::Component,
                        ..
                    }) => return handed_on(),
                    Ok(ComponentAlias::Outer {
                        kind: ComponentOuterAliasKind::Component,
                        count,
                        index,
                    }) => match count.checked_sub(1) {
                        None => scope.component(index),
                        Some(up) => {
                            let scope = outer.iter().rev().nth(up as usize);
                            scope.and_then(|scope| scope.component(index))
                        }
                    },
                    Ok(_) => continue,
                    Err(_) => None,
                };
                match makes {
                    Some(makes) => scope.components.push(makes),
                    None => return Ok(None),
                }
            }
        }
        Payload::ComponentImportSection(imports) => {
            for import in imports {
                match import.map(|import| import.ty) {
                    Ok(ComponentTypeRef::Component(_)) => return handed_on(),
                    Ok(_) => {}
                    Err(_) => return Ok(None),
                }
            }
        }
        Payload::ComponentExportSection(exports) => {
            for export in exports {
                match export {
                    // An export has an index of its own.
                    Ok(export) if export.kind == ComponentExternalKind::Component => {
                        match scope.component(export.index) {
                            Some(makes) => scope.components.push(makes),
                            None => return Ok(None),
                        }
                    }
                    Ok(_) => {}
                    Err(_) => return Ok(None),
                }
            }
        }
        _ => {}
    }
    Ok(Some(()))
}

/// Whether types lie in one another so deep that reading them, which the compiler does by recursion,
/// would take the whole stack. Each that lies in another begins with these two bytes, so there are no
/// more levels than pairs of them.
fn types_in_types(section: &[u8]) -> Result<(), String> {
    let pairs = section.windows(2);
    let count = pairs
        .filter(|pair| matches!(pair, [1, 0x41 | 0x42]))
        .count();
    within(count as u64, TYPES_IN_TYPES, "types within types in it")
}

/// Whether a function is one that the compiler ends with.
fn function(body: &FunctionBody<'_>) -> Result<(), String> {
    let length = body.range().len();
    if length > FUNCTION_BODY {
        return Err(format!(
            "a function of it has {}, and one has at most {}",
            shown(length),
            shown(FUNCTION_BODY)
        ));
    }
    // A block has two bytes at least, so a short function cannot be deep.
    if (length as u64) < LOOP_NESTING.min(NESTING) {
        return Ok(());
    }
    let Ok(mut operators) = body.get_operators_reader() else {
        return Ok(());
    };
    // Whether each block around is a loop.
    let mut blocks: Vec<bool> = Vec::new();
    let (mut loops, mut deepest_loops, mut deepest) = (0_u64, 0, 0);
    while !operators.eof() {
        match operators.read() {
            Ok(Operator::Loop { .. }) => {
                blocks.push(true);
                loops += 1;
                deepest_loops = loops.max(deepest_loops);
            }
            Ok(
                Operator::Block { .. }
                | Operator::If { .. }
                | Operator::Try { .. }
                | Operator::TryTable { .. },
            ) => blocks.push(false),
            Ok(Operator::End | Operator::Delegate { .. }) => {
                loops -= u64::from(blocks.pop() == Some(true));
            }
            Ok(_) => {}
            // The compiler comes no further either.
            Err(_) => break,
        }
        deepest = deepest.max(blocks.len());
    }
    within(
        deepest_loops,
        LOOP_NESTING,
        "loops in one another in a function of it",
    )?;
    within(
        deepest as u64,
        NESTING,
        "blocks in one another in a function of it",
    )
}

fn within(count: u64, most: u64, what: &str) -> Result<(), String> {
    if count <= most {
        return Ok(());
    }
    Err(format!("there are {count} {what}, and there may be {most}"))
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{
        Alias, BlockType, CodeSection, Component, ComponentAliasSection, ComponentExportKind,
        ComponentExportSection, ComponentInstanceSection, ComponentOuterAliasKind, Function,
        FunctionSection, InstanceSection, Instruction, Module, ModuleArg, ModuleSection,
        NestedComponentSection, TypeSection,
    };

    use super::*;

    /// A module with one function.
    fn module(body: &[Instruction<'_>]) -> Module {
        let mut function = Function::new([]);
        for instruction in body {
            function.instruction(instruction);
        }
        let (mut types, mut functions) = (TypeSection::new(), FunctionSection::new());
        types.ty().function([], []);
        functions.function(0);
        let mut code = CodeSection::new();
        code.function(function.instruction(&Instruction::End));
        let mut module = Module::new();
        module.section(&types).section(&functions).section(&code);
        module
    }

    fn nested(open: &Instruction<'_>, depth: usize) -> Module {
        let mut body = vec![open.clone(); depth];
        body.extend(vec![Instruction::End; depth]);
        module(&body)
    }

    /// A component with so many instances of its module.
    fn cores(module: &Module, times: u32) -> Component {
        let mut instances = InstanceSection::new();
        for _ in 0..times {
            instances.instantiate::<[(&str, ModuleArg); 0], &str>(0, []);
        }
        let mut component = Component::new();
        component
            .section(&ModuleSection(module))
            .section(&instances);
        component
    }

    fn instantiate(component: &mut Component, index: u32, times: u32) {
        let mut instances = ComponentInstanceSection::new();
        for _ in 0..times {
            instances.instantiate::<[(&str, ComponentExportKind, u32); 0], &str>(index, []);
        }
        component.section(&instances);
    }

    /// A component with so many instances of another one.
    fn around(inner: &Component, times: u32) -> Component {
        let mut component = Component::new();
        component.section(&NestedComponentSection(inner));
        instantiate(&mut component, 0, times);
        component
    }

    /// Components in one another, each with so many instances of the next, around `inner`.
    fn tower(inner: Component, floors: u32, times: u32) -> Component {
        (0..floors).fold(inner, |inner, _| around(&inner, times))
    }

    /// A component that instantiates one of its outer component by two other ways to name it.
    fn by_other_names(times: u32) -> Component {
        let mut inner = Component::new();
        let mut aliases = ComponentAliasSection::new();
        aliases.alias(Alias::Outer {
            kind: ComponentOuterAliasKind::Component,
            count: 1,
            index: 0,
        });
        inner.section(&aliases);
        let mut exports = ComponentExportSection::new();
        exports.export("again", ComponentExportKind::Component, 0, None);
        inner.section(&exports);
        instantiate(&mut inner, 1, times);
        let mut outer = Component::new();
        let leaf = cores(&nested(&Instruction::Nop, 0), 1);
        outer.section(&NestedComponentSection(&leaf));
        outer.section(&NestedComponentSection(&inner));
        instantiate(&mut outer, 1, 1);
        outer
    }

    fn out_of_an_instance() -> Component {
        let mut component = around(&Component::new(), 1);
        let mut aliases = ComponentAliasSection::new();
        aliases.alias(Alias::InstanceExport {
            instance: 0,
            kind: ComponentExportKind::Component,
            name: "c",
        });
        component.section(&aliases);
        component
    }

    // Rule 9.2.
    #[test]
    fn what_would_take_too_much_to_compile_is_refused_with_what_and_how_much() {
        let empty = Component::new;
        let small = || module(&[]);
        let lp = Instruction::Loop(BlockType::Empty);
        let block = Instruction::Block(BlockType::Empty);
        let loops = "loops in one another in a function of it, and there may be 1000";
        let table: Vec<(Vec<u8>, Option<String>)> = vec![
            (empty().finish(), None),
            (cores(&small(), 30).finish(), None),
            (
                cores(&small(), 31).finish(),
                Some("there are 31 core instances".into()),
            ),
            (tower(cores(&small(), 1), 2, 5).finish(), None),
            (
                tower(cores(&small(), 1), 2, 6).finish(),
                Some("there are 36 core instances".into()),
            ),
            // 1 + 3 * (1 + 332) is 1000.
            (around(&around(&empty(), 332), 3).finish(), None),
            (
                around(&around(&empty(), 333), 3).finish(),
                Some(
                    "there are 1003 component instances that it makes, and there may be 1000"
                        .into(),
                ),
            ),
            (
                tower(empty(), 19, 4).finish(),
                Some(format!(
                    "there are {} component instances",
                    ((1_u64 << 40) - 1) / 3
                )),
            ),
            (
                tower(empty(), 80, 4).finish(),
                Some(format!("there are {} component", u64::MAX)),
            ),
            (by_other_names(30).finish(), None),
            (
                by_other_names(31).finish(),
                Some("there are 31 core instances".into()),
            ),
            (
                out_of_an_instance().finish(),
                Some("cannot be counted".into()),
            ),
            (nested(&lp, 1000).finish(), None),
            (
                nested(&lp, 1001).finish(),
                Some(format!("there are 1001 {loops}")),
            ),
            (
                cores(&nested(&lp, 300_000), 1).finish(),
                Some(format!("there are 300000 {loops}")),
            ),
            (nested(&block, 50_000).finish(), None),
            (
                nested(&block, 50_001).finish(),
                Some("there are 50001 blocks".into()),
            ),
            (
                module(&vec![Instruction::Nop; 5 << 20]).finish(),
                Some("a function of it has 5242882B, and one has at most 4MiB".into()),
            ),
            (b"\0asm\x0d\0\x01\0\x04\xff".to_vec(), None),
            (b"nothing".to_vec(), None),
        ];
        for (n, (code, says)) in table.into_iter().enumerate() {
            match (measure(&code), says) {
                (Ok(()), None) => {}
                (Err(error), Some(says)) => assert!(error.contains(&says), "{n}: {error}"),
                (found, expected) => panic!("{n}: {found:?}, not {expected:?}"),
            }
        }
    }

    // Loops beside one another are not in one another.
    #[test]
    fn depth_counts_and_not_number() {
        let lp = Instruction::Loop(BlockType::Empty);
        let body = [lp, Instruction::End];
        let body: Vec<_> = body.iter().cycle().take(10_000).cloned().collect();
        assert_eq!(measure(&module(&body).finish()), Ok(()));
    }

    #[test]
    fn functions_are_counted_in_all_modules_together() {
        let mut code = CodeSection::new();
        for _ in 0..500_001 {
            code.function(Function::new([]).instruction(&Instruction::End));
        }
        let mut functions = FunctionSection::new();
        for _ in 0..500_001 {
            functions.function(0);
        }
        let mut module = Module::new();
        module.section(&functions).section(&code);
        assert_eq!(measure(&module.clone().finish()), Ok(()));
        let mut component = Component::new();
        component
            .section(&ModuleSection(&module))
            .section(&ModuleSection(&module));
        let error = measure(&component.finish()).unwrap_err();
        assert!(
            error.contains("there are 1000002 functions in it"),
            "{error}"
        );
    }
}
