//! trace PROGRAM SKIPPED ARGUMENTS... -- VARIANTS...: single-steps `PROGRAM ARGUMENTS VARIANT` from its first
//! breakpoint to its second, once for each variant, and compares what an observer of instructions and addresses
//! sees. Fails at any difference, and at any division. x86-64 Linux; every instruction of the CPU.
//!
//! In functions whose name has one of the parts SKIPPED (a,b,...), whose time is public, nothing is compared.

use std::{collections::BTreeSet, ops::Range, process::ExitCode};

use constant_time::tracee::{Symbols, Tracee};
use iced_x86::{InstructionInfoFactory, Mnemonic, OpAccess, Register};
use nix::libc::user_regs_struct;

/// An instruction executed, or an address that it reads or writes.
#[derive(Clone, Copy, PartialEq)]
enum Event {
    At(u64),
    Memory(u64),
}

#[derive(Default)]
struct Trace {
    events: Vec<Event>,
    instructions: usize,
    /// Of instructions that only AVX-512 has.
    evex: usize,
    divisions: Vec<u64>,
}

fn value(registers: &user_regs_struct, register: Register) -> Option<u64> {
    let r = registers;
    Some(match register.full_register() {
        Register::RAX => r.rax,
        Register::RBX => r.rbx,
        Register::RCX => r.rcx,
        Register::RDX => r.rdx,
        Register::RSI => r.rsi,
        Register::RDI => r.rdi,
        Register::RBP => r.rbp,
        Register::RSP => r.rsp,
        Register::R8 => r.r8,
        Register::R9 => r.r9,
        Register::R10 => r.r10,
        Register::R11 => r.r11,
        Register::R12 => r.r12,
        Register::R13 => r.r13,
        Register::R14 => r.r14,
        Register::R15 => r.r15,
        Register::RIP => r.rip,
        Register::FS => r.fs_base,
        Register::GS => r.gs_base,
        Register::DS | Register::ES | Register::CS | Register::SS => 0,
        _ => return None,
    })
}

fn trace(arguments: &[String], skipped: &[Range<u64>]) -> Trace {
    let tracee = Tracee::start(arguments);
    let base = tracee.base();
    let (mut trace, mut factory) = (Trace::default(), InstructionInfoFactory::new());
    let mut known = std::collections::HashMap::new();
    loop {
        let registers = tracee.registers();
        let at = registers.rip;
        let instruction = known.entry(at).or_insert_with(|| tracee.instruction(at));
        if instruction.mnemonic() == Mnemonic::Int3 {
            return trace;
        }
        trace.instructions += 1;
        if !skipped.iter().any(|range| range.contains(&(at - base))) {
            trace.evex += usize::from(instruction.encoding() == iced_x86::EncodingKind::EVEX);
            trace.events.push(Event::At(at - base));
            for memory in factory.info(instruction).used_memory() {
                if memory.access() != OpAccess::NoMemAccess {
                    let address =
                        memory.virtual_address(0, |register, _, _| value(&registers, register));
                    trace.events.push(Event::Memory(address.expect("general registers only")));
                }
            }
            if matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv) {
                trace.divisions.push(at - base);
            }
        }
        tracee.step();
    }
}

/// Where two traces differ: the instructions whose addresses do, and the last one before the paths part.
fn differences(a: &Trace, b: &Trace) -> BTreeSet<(u64, &'static str)> {
    let mut found = BTreeSet::new();
    let mut last = 0;
    for (x, y) in a.events.iter().zip(&b.events) {
        match (*x, *y) {
            (Event::At(x), Event::At(y)) if x == y => last = x,
            (Event::Memory(x), Event::Memory(y)) if x == y => {}
            (Event::Memory(_), Event::Memory(_)) => drop(found.insert((last, "address"))),
            _ => {
                found.insert((last, "branch"));
                return found;
            }
        }
    }
    if a.events.len() != b.events.len() {
        found.insert((last, "branch"));
    }
    found
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, variants) =
        arguments.split_at(arguments.iter().position(|argument| argument == "--").expect("--"));
    let symbols = Symbols::read(&command[0]);
    let skipped = symbols.ranges(&command[1]);
    assert!(!skipped.is_empty(), "no function is named {}", command[1]);
    let mut base: Option<Trace> = None;
    let mut leaks = BTreeSet::new();
    for variant in &variants[1..] {
        let mut run = vec![command[0].clone()];
        run.extend_from_slice(&command[2..]);
        run.push(variant.clone());
        let trace = trace(&run, &skipped);
        let Trace { instructions, evex, events, divisions } = &trace;
        println!(
            "variant {variant}: {instructions} instructions, {evex} of AVX-512, {} events",
            events.len()
        );
        leaks.extend(divisions.iter().map(|at| (*at, "division")));
        if let Some(base) = &base {
            leaks.extend(differences(base, &trace));
        }
        base.get_or_insert(trace);
    }
    for (at, kind) in &leaks {
        println!("leak: {kind} at {at:#x} in {}", symbols.name(*at));
    }
    ExitCode::from(u8::from(!leaks.is_empty()))
}
