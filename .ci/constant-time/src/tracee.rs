//! A program under ptrace between its two breakpoints (`backend::begin` and `end`). x86-64 Linux. Addresses are
//! the same in every run.

use std::{
    format, fs,
    io::{IoSliceMut, Write},
    ops::Range,
    process::{Command, Stdio},
    string::{String, ToString},
    thread,
    time::{Duration, Instant},
    vec,
    vec::Vec,
};

use iced_x86::{Decoder, DecoderOptions, Instruction};
use nix::{
    errno::Errno,
    libc::{self, user_regs_struct},
    sys::{
        personality::{self, Persona},
        ptrace::{self, Options},
        signal::Signal,
        uio::{RemoteIoVec, process_vm_readv},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    time::ClockId,
    unistd::Pid,
};

/// Of the processor's time, a hundred times what an operation takes; other programs run too.
const ENDLESS: Duration = Duration::from_millis(50);
/// For what waits instead.
const STUCK: Duration = Duration::from_secs(10);

/// The process; killed on drop.
pub struct Tracee {
    pid: Pid,
    base: u64,
}

/// What `end` says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    at: u64,
    result: u64,
    bytes: u64,
}

impl Tracee {
    /// Runs the program to its first breakpoint.
    ///
    /// # Panics
    ///
    /// If it cannot be started, or ends before.
    pub fn start(arguments: &[String]) -> Self {
        let persona = personality::get().expect("a personality");
        personality::set(persona | Persona::ADDR_NO_RANDOMIZE).expect("fixed addresses");
        // A shell that becomes the program once it is traced.
        let mut shell = Command::new("sh")
            .args(["-c", "read -r _ && exec \"$0\" \"$@\""])
            .args(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let pid = Pid::from_raw(shell.id().cast_signed());
        let mut tracee = Self { pid, base: 0 };
        let options = Options::PTRACE_O_EXITKILL | Options::PTRACE_O_TRACEFORK;
        ptrace::seize(pid, options).expect("this system lets a parent trace its child");
        shell.stdin.take().expect("a pipe").write_all(b"\n").expect("the shell reads");
        assert!(tracee.stops(), "{arguments:?} ends before its first breakpoint");
        tracee.base = tracee.maps().first().map_or(0, |(range, _)| range.start);
        tracee
    }

    /// Where the program's first segment is.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Whether the next stop is a trap of its own.
    fn stops(&self) -> bool {
        waitpid(self.pid, None) == Ok(WaitStatus::Stopped(self.pid, Signal::SIGTRAP))
    }

    /// Runs to the next breakpoint; false if something else comes first.
    pub fn run(&self) -> bool {
        ptrace::cont(self.pid, None).is_ok() && self.stops()
    }

    /// [`Tracee::run`] for what may never end.
    pub fn run_briefly(&self) -> bool {
        if ptrace::cont(self.pid, None).is_err() {
            return false;
        }
        let start = Instant::now();
        let within_limits = || {
            let clock = ClockId::pid_cpu_clock_id(self.pid).and_then(ClockId::now);
            clock.is_ok_and(|time| Duration::from(time) < ENDLESS) && start.elapsed() < STUCK
        };
        loop {
            match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) if within_limits() => thread::yield_now(),
                status => return status == Ok(WaitStatus::Stopped(self.pid, Signal::SIGTRAP)),
            }
        }
    }

    /// Executes one instruction.
    ///
    /// # Panics
    ///
    /// If the program ends.
    pub fn step(&self) {
        ptrace::step(self.pid, None).expect("a stopped process");
        assert!(self.stops(), "the program ended before its second breakpoint");
    }

    pub fn registers(&self) -> user_regs_struct {
        ptrace::getregs(self.pid).expect("a stopped process")
    }

    pub fn set_registers(&self, registers: user_regs_struct) {
        ptrace::setregs(self.pid, registers).expect("a stopped process");
    }

    /// So many bytes, or as many as there are.
    pub fn read(&self, start: u64, bytes: u64) -> Vec<u8> {
        let (base, len) = (start as usize, bytes as usize);
        let mut out = vec![0; len];
        let read = process_vm_readv(
            self.pid,
            &mut [IoSliceMut::new(&mut out)],
            &[RemoteIoVec { base, len }],
        );
        out.truncate(read.unwrap_or(0));
        out
    }

    pub fn instruction(&self, address: u64) -> Instruction {
        // None is longer than 15 bytes.
        let bytes = self.read(address, 15);
        Decoder::with_ip(64, &bytes, address, DecoderOptions::NONE).decode()
    }

    /// What `end` said, of a process that has just stopped there.
    pub fn end(&self) -> End {
        let registers = self.registers();
        End { at: registers.rip, result: registers.rdi, bytes: registers.rsi }
    }

    pub fn result(&self, end: &End) -> Vec<u8> {
        self.read(end.result, end.bytes)
    }

    /// Whether it has just stopped at this end.
    pub fn is_at(&self, end: &End) -> bool {
        ptrace::getregs(self.pid).is_ok_and(|registers| registers.rip == end.at)
    }

    /// Ranges of memory, and what they are.
    fn maps(&self) -> Vec<(Range<u64>, String)> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid)).expect("maps");
        let map = |line: &str| {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let number = |digits| u64::from_str_radix(digits, 16).ok();
            Some((number(start)?..number(end)?, rest.to_string()))
        };
        maps.lines().filter_map(map).collect()
    }

    /// The address of a system call instruction.
    ///
    /// # Panics
    ///
    /// If no library that the program has loaded makes one.
    pub fn system_call(&self) -> u64 {
        const SYSCALL: [u8; 2] = [0x0f, 0x05];
        let executable = self
            .maps()
            .into_iter()
            .filter(|(_, rest)| rest.starts_with("r-xp") && rest.contains(".so"));
        executable
            .filter_map(|(range, _)| {
                let code = self.read(range.start, range.end - range.start);
                let at = code.windows(2).position(|bytes| bytes == SYSCALL)?;
                Some(range.start + at as u64)
            })
            .next()
            .expect("libc makes system calls")
    }

    /// A copy of the stopped process, with all its registers and memory. `call` is the address of a system call
    /// instruction.
    ///
    /// # Panics
    ///
    /// If there cannot be more processes.
    pub fn copy(&self, call: u64) -> Self {
        let registers = self.registers();
        let mut fork = registers;
        fork.rip = call;
        fork.rax = libc::SYS_clone.cast_unsigned();
        // Not inside a system call that could be started again.
        fork.orig_rax = u64::MAX;
        // The copy is a child of ours, not of the copied process, which would have to wait for it. Its stack is
        // where it was.
        fork.rdi = (libc::CLONE_PARENT | libc::SIGCHLD) as u64;
        (fork.rsi, fork.rdx, fork.r10, fork.r8) = (0, 0, 0, 0);
        self.set_registers(fork);
        ptrace::step(self.pid, None).expect("a stopped process");
        let forked = WaitStatus::PtraceEvent(self.pid, Signal::SIGTRAP, libc::PTRACE_EVENT_FORK);
        assert_eq!(waitpid(self.pid, None), Ok(forked), "no copy of the process");
        let pid = ptrace::getevent(self.pid).expect("the number of the copy");
        let copy = Self { pid: Pid::from_raw(pid as i32), base: self.base };
        self.step();
        self.set_registers(registers);
        let stopped = waitpid(copy.pid, Some(WaitPidFlag::__WALL));
        assert!(matches!(stopped, Ok(WaitStatus::PtraceEvent(..))), "the copy: {stopped:?}");
        copy.set_registers(registers);
        copy
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        // An error says that it has ended already.
        let _: Result<(), Errno> = ptrace::kill(self.pid);
        let _: Result<WaitStatus, Errno> = waitpid(self.pid, None);
    }
}

/// Functions of a program by their offsets.
pub struct Symbols(Vec<(Range<u64>, String)>);

impl Symbols {
    /// # Panics
    ///
    /// If there is no `nm`.
    pub fn read(program: &str) -> Self {
        let listing = Command::new("nm").arg("-SC").arg(program).output().expect("nm");
        let listing = String::from_utf8(listing.stdout).expect("symbols");
        // Address, length, kind, name.
        let symbol = |line: &str| {
            let mut fields = line.splitn(4, ' ');
            let start = u64::from_str_radix(fields.next()?, 16).ok()?;
            let length = u64::from_str_radix(fields.next()?, 16).ok()?;
            fields.next()?;
            Some((start..start + length, fields.next()?.to_string()))
        };
        Self(listing.lines().filter_map(symbol).collect())
    }

    pub fn name(&self, offset: u64) -> &str {
        self.0.iter().find(|(range, _)| range.contains(&offset)).map_or("?", |(_, name)| name)
    }

    /// Ranges of the functions whose name has one of these parts, separated by commas.
    pub fn ranges(&self, parts: &str) -> Vec<Range<u64>> {
        let wanted = |name: &String| parts.split(',').any(|part| name.contains(part));
        self.0.iter().filter(|(_, name)| wanted(name)).map(|(range, _)| range.clone()).collect()
    }
}
