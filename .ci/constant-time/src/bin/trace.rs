//! trace PROGRAM SKIPPED ARGUMENTS... -- VARIANTS...: single-steps `PROGRAM ARGUMENTS VARIANT` from its first
//! breakpoint to its second, once for each variant, and compares what an observer of instructions and addresses
//! sees. Fails at any difference, and at any division. x86-64 Linux; every instruction of the CPU.
//!
//! In functions whose name has one of the parts SKIPPED (a,b,...), whose time is public, nothing is compared.

use std::{collections::BTreeSet, ffi::CString, ops::Range, process::ExitCode};

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register,
};
use libc::{c_int, pid_t, user_regs_struct};

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

/// A program that runs under ptrace.
struct Child(pid_t);

impl Child {
    fn start(arguments: &[String]) -> Self {
        let arguments: Vec<CString> = arguments
            .iter()
            .map(|argument| CString::new(argument.as_str()).expect("no zeros"))
            .collect();
        let mut pointers: Vec<_> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        pointers.push(std::ptr::null());
        // SAFETY: between fork and exec the child makes system calls only; the pointers end with a null.
        let pid = unsafe {
            let pid = libc::fork();
            if pid == 0 {
                libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                libc::execv(pointers[0], pointers.as_ptr());
                libc::_exit(127);
            }
            pid
        };
        let child = Self(pid);
        assert!(libc::WIFSTOPPED(child.wait()), "the program does not start");
        child
    }

    fn wait(&self) -> c_int {
        let mut status = 0;
        // SAFETY: the pointer is valid.
        unsafe { libc::waitpid(self.0, &mut status, 0) };
        status
    }

    /// Continues to the next stop; false if the program has ended.
    fn go_on(&self, request: libc::c_uint) -> bool {
        // SAFETY: a request without addresses.
        unsafe { libc::ptrace(request, self.0, 0, 0) };
        let status = self.wait();
        libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGTRAP
    }

    fn registers(&self) -> user_regs_struct {
        // SAFETY: integers, for which zeros are valid; ptrace fills the structure.
        unsafe {
            let mut registers: user_regs_struct = std::mem::zeroed();
            libc::ptrace(libc::PTRACE_GETREGS, self.0, 0, &mut registers);
            registers
        }
    }

    fn instruction(&self, address: u64) -> Instruction {
        let mut bytes = [0u8; 16];
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
        // SAFETY: writes at most 16 bytes into `bytes`.
        unsafe { libc::process_vm_readv(self.0, &local, 1, &remote, 1, 0) };
        Decoder::with_ip(64, &bytes, address, DecoderOptions::NONE).decode()
    }

    /// Where the program's first segment is.
    fn base(&self) -> u64 {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.0)).expect("maps");
        u64::from_str_radix(maps.split('-').next().unwrap_or(""), 16).expect("an address")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: our own child.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        self.wait();
    }
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

/// Functions of the program by their offsets.
struct Symbols(Vec<(Range<u64>, String)>);

impl Symbols {
    fn read(program: &str) -> Self {
        let listing =
            std::process::Command::new("nm").arg("-SC").arg(program).output().expect("nm");
        let listing = String::from_utf8(listing.stdout).expect("symbols");
        // Address, length, kind, name.
        let symbol = |line: &str| {
            let mut fields = line.splitn(4, ' ');
            let start = u64::from_str_radix(fields.next()?, 16).ok()?;
            let length = u64::from_str_radix(fields.next()?, 16).ok()?;
            fields.next()?;
            Some((start..start + length, fields.next()?.to_owned()))
        };
        Self(listing.lines().filter_map(symbol).collect())
    }

    fn name(&self, address: u64) -> &str {
        self.0.iter().find(|(range, _)| range.contains(&address)).map_or("?", |(_, name)| name)
    }

    /// Ranges of the functions whose name has one of these parts, separated by commas.
    fn ranges(&self, parts: &str) -> Vec<Range<u64>> {
        let wanted = |name: &String| parts.split(',').any(|part| name.contains(part));
        self.0.iter().filter(|(_, name)| wanted(name)).map(|(range, _)| range.clone()).collect()
    }
}

fn trace(arguments: &[String], skipped: &[Range<u64>]) -> Trace {
    let child = Child::start(arguments);
    let base = child.base();
    assert!(child.go_on(libc::PTRACE_CONT), "{arguments:?} ended before its first breakpoint");
    let (mut trace, mut factory) = (Trace::default(), InstructionInfoFactory::new());
    let mut known = std::collections::HashMap::new();
    loop {
        let registers = child.registers();
        let at = registers.rip;
        let instruction = known.entry(at).or_insert_with(|| child.instruction(at));
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
        assert!(
            child.go_on(libc::PTRACE_SINGLESTEP),
            "{arguments:?} ended before its second breakpoint"
        );
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
