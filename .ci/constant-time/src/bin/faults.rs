//! faults PROGRAM AFTER STRIDE ARGUMENTS... -- GOOD BAD: runs `PROGRAM ARGUMENTS BAD` from its first breakpoint to
//! its second with one instruction left out: each STRIDEth (none if 0), and each after the last return from a
//! function whose name has one of the parts AFTER (a,b,...). Fails if one such run has the result of
//! `PROGRAM ARGUMENTS GOOD`. x86-64 Linux.
//!
//! The program is stepped; at each instruction a copy of the process is made that goes on behind it. A branch, a
//! call or a return that is left out is not taken, a repeated instruction ends.

use std::{collections::HashMap, ops::Range, process::ExitCode};

use constant_time::tracee::{End, Symbols, Tracee};
use iced_x86::{Instruction, Mnemonic};

/// A program that should reject, and what would be wrong.
struct Target {
    end: End,
    good: Vec<u8>,
    bad: Vec<u8>,
    /// Where a system call is.
    call: u64,
    code: HashMap<u64, Instruction>,
    outcomes: Outcomes,
}

#[derive(Default)]
struct Outcomes {
    left_out: usize,
    /// The result as without a fault.
    unchanged: usize,
    /// Neither this nor the good one.
    other: usize,
    /// Ended elsewhere, or not at all.
    lost: usize,
    /// Which instruction, and its offset.
    accepted: Vec<(Mnemonic, u64)>,
}

/// The result of a run without a fault.
fn result_of(arguments: &[String]) -> (End, Vec<u8>) {
    let tracee = Tracee::start(arguments);
    assert!(tracee.run(), "{arguments:?} ends before its second breakpoint");
    let end = tracee.end();
    let result = tracee.result(&end);
    assert!(!result.is_empty(), "{arguments:?} has no result");
    (end, result)
}

impl Target {
    /// Steps to the end and calls `each` before each instruction, with its number; once for one that repeats.
    fn step_to_end(
        &mut self,
        tracee: &Tracee,
        mut each: impl FnMut(&mut Self, usize, &Instruction),
    ) -> usize {
        let (mut count, mut last) = (0, 0);
        loop {
            let at = tracee.registers().rip;
            let instruction = *self.code.entry(at).or_insert_with(|| tracee.instruction(at));
            if instruction.mnemonic() == Mnemonic::Int3 {
                return count;
            }
            let repeats = instruction.has_rep_prefix() || instruction.has_repne_prefix();
            if !(repeats && at == last) {
                each(self, count, &instruction);
                count += 1;
            }
            last = at;
            tracee.step();
        }
    }

    /// What becomes of a copy that leaves out this instruction, the next one.
    fn leave_out(&mut self, tracee: &Tracee, instruction: &Instruction) {
        let copy = tracee.copy(self.call);
        let mut registers = copy.registers();
        registers.rip = instruction.next_ip();
        copy.set_registers(registers);
        let outcomes = &mut self.outcomes;
        outcomes.left_out += 1;
        if !copy.run_briefly() || !copy.is_at(&self.end) {
            outcomes.lost += 1;
            return;
        }
        match copy.result(&self.end) {
            result if result == self.good => {
                outcomes.accepted.push((instruction.mnemonic(), instruction.ip() - tracee.base()));
            }
            result if result == self.bad => outcomes.unchanged += 1,
            _ => outcomes.other += 1,
        }
    }

    /// Number of instructions, and of those after the last return from the ranges.
    fn leave_out_each(
        &mut self,
        tracee: &Tracee,
        stride: usize,
        after: &[Range<u64>],
    ) -> (usize, usize) {
        let mut returning = None;
        let instructions = self.step_to_end(tracee, |target, count, instruction| {
            if stride != 0 && count.is_multiple_of(stride) {
                target.leave_out(tracee, instruction);
            }
            let offset = instruction.ip() - tracee.base();
            if instruction.mnemonic() == Mnemonic::Ret
                && after.iter().any(|range| range.contains(&offset))
            {
                returning = Some(tracee.copy(target.call));
            }
        });
        let copy = returning.expect("a return from the function");
        let last = self.step_to_end(&copy, |target, _, instruction| {
            target.leave_out(&copy, instruction);
        });
        (instructions, last)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, after, stride, operation @ .., dashes, good, bad] = &arguments[..] else {
        panic!("more arguments")
    };
    assert_eq!(dashes, "--");
    let run_of = |variant: &String| {
        let mut run = vec![program.clone()];
        run.extend_from_slice(operation);
        run.push(variant.clone());
        run
    };
    let bad_run = run_of(bad);
    let (end, good_result) = result_of(&run_of(good));
    let (bad_end, bad_result) = result_of(&bad_run);
    assert_eq!(end, bad_end, "the result has one place");
    assert_ne!(good_result, bad_result, "{bad} is as good as {good}");

    let tracee = Tracee::start(&bad_run);
    let mut target = Target {
        end,
        good: good_result,
        bad: bad_result,
        call: tracee.system_call(),
        code: HashMap::new(),
        outcomes: Outcomes::default(),
    };
    let symbols = Symbols::read(program);
    let ranges = symbols.ranges(after);
    assert!(!ranges.is_empty(), "no function is named {after}");
    let stride = stride.parse().expect("a number");
    let (instructions, last) = target.leave_out_each(&tracee, stride, &ranges);
    let Outcomes { left_out, unchanged, other, lost, accepted } = target.outcomes;
    println!(
        "{instructions} instructions, {left_out} left out, the last {last} among them: {unchanged} rejected, \
         {other} another result, {lost} lost, {} accepted",
        accepted.len()
    );
    for (mnemonic, at) in &accepted {
        println!("accepted without {mnemonic:?} at {at:#x} in {}", symbols.name(*at));
    }
    ExitCode::from(u8::from(!accepted.is_empty()))
}
