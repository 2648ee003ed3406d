//! Instructions in place of time, for machines that are emulated: QEMU logs every instruction and system call of
//! this same program, which marks the calls to count by opening files that do not exist.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

/// What the names of those files begin with.
const MARK: &str = "instructions of ";

/// How many lines of a failed command are shown.
const SHOWN: usize = 20;

/// The instructions of one call: row and column of the table, and the count.
type Count = (String, String, u64);

fn open(name: &str) {
    // It fails; the log has its name all the same.
    drop(fs::File::open(name));
}

/// Marks no call, then one. A call before them does what only a first call does.
pub fn mark(row: &str, column: &str, run: &mut dyn FnMut(usize)) {
    run(1);
    for calls in [0, 1] {
        let name = format!("{MARK}{calls}|{row}|{column}");
        open(&name);
        run(calls);
        open(MARK);
    }
}

/// Runs this program's arguments under a command, and prints the counts as a table.
pub fn report(command: &str) -> ExitCode {
    println!("instructions, not time, which means nothing under emulation: {command}");
    println!("one call each, exactly; in brackets: over the row's first");
    match count(command) {
        Ok(counts) => println!("{}", table(&counts)),
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The arguments of this program without `--instructions COMMAND`.
fn others(mut arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut others = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == "--instructions" {
            arguments.next();
        } else if !argument.starts_with("--instructions=") {
            others.push(argument);
        }
    }
    others
}

fn count(command: &str) -> Result<Vec<Count>, String> {
    let mut words = command.split_whitespace();
    let mut child = Command::new(words.next().ok_or("an empty command")?)
        .args(words)
        .args(others(env::args().skip(1)))
        .arg("--marks")
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{command}: {error}"))?;
    let log = child.stderr.take().expect("a pipe");
    let (counts, rest) = read(BufReader::with_capacity(1 << 20, log));
    let status = child.wait().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("{command}: {status}\n{}", rest.join("\n")));
    }
    let empty = counts.iter().any(|(_, _, count)| *count == 0);
    if counts.is_empty() || empty {
        return Err(format!("{command}: logs no instructions, or no system calls"));
    }
    Ok(counts)
}

/// The counts in a log, and its last lines that are not instructions.
fn read(mut log: impl BufRead) -> (Vec<Count>, Vec<String>) {
    let (mut counts, mut rest) = (Vec::new(), Vec::new());
    let (mut line, mut executed, mut without) = (Vec::new(), 0_u64, 0);
    let mut open: Option<(bool, String, String)> = None;
    while log.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        if line.starts_with(b"Trace ") {
            executed += 1;
        } else {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if let Some((_, mark)) = text.split_once(&format!("\"{MARK}")) {
                match open.take() {
                    Some((true, row, column)) => {
                        counts.push((row, column, executed.saturating_sub(without)));
                    }
                    Some((false, ..)) => without = executed,
                    None => open = parts(mark),
                }
                executed = 0;
            }
            rest.push(text);
            rest.drain(..rest.len().saturating_sub(SHOWN));
        }
        line.clear();
    }
    (counts, rest)
}

/// Whether a call was made, row and column of `1|ROW|COLUMN"...`.
fn parts(mark: &str) -> Option<(bool, String, String)> {
    let mut parts = mark.split_once('"')?.0.split('|');
    Some((parts.next()? == "1", parts.next()?.to_owned(), parts.next()?.to_owned()))
}

fn table(counts: &[Count]) -> comfy_table::Table {
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for (row, column, _) in counts {
        if !rows.contains(row) {
            rows.push(row.clone());
        }
        if !columns.contains(column) {
            columns.push(column.clone());
        }
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(["instructions"].into_iter().chain(columns.iter().map(String::as_str)));
    for row in rows {
        let of = |column: &String| {
            counts.iter().find(|count| count.0 == row && count.1 == *column).map(|count| count.2)
        };
        let first = columns.iter().find_map(of);
        let cell = |column| match (of(column), first) {
            (Some(count), Some(first)) => {
                format!("{count} ({:.2})", count as f64 / first as f64)
            }
            _ => String::new(),
        };
        let cells: Vec<_> = columns.iter().map(cell).collect();
        table.add_row([row.clone()].into_iter().chain(cells));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "Trace 0: 0x7f [..] start
7 openat(AT_FDCWD,\"instructions of 0|a b|x\",O_RDONLY) = -1 errno=2
Trace 0: 0x7f [..]
7 openat(AT_FDCWD,\"instructions of \",O_RDONLY) = -1 errno=2
Trace 0: 0x7f [..]
Trace 0: 0x7f [..]
7 openat(AT_FDCWD,\"instructions of 1|a b|x\",O_RDONLY) = -1 errno=2
Trace 0: 0x7f [..]
7 getrandom(0,0,0) = 0
Trace 0: 0x7f [..]
Trace 0: 0x7f [..]
7 openat(AT_FDCWD,\"instructions of \",O_RDONLY) = -1 errno=2
";

    #[test]
    fn one_call_is_the_difference() {
        let (counts, rest) = read(LOG.as_bytes());
        assert_eq!(counts, [("a b".to_owned(), "x".to_owned(), 2)]);
        assert_eq!(rest.len(), 5);
        assert!(rest.iter().all(|line| line.starts_with("7 ")));
    }

    #[test]
    fn brackets_are_over_the_first_of_the_row() {
        let count = |row: &str, column: &str, count| (row.to_owned(), column.to_owned(), count);
        let text = table(&[count("a", "x", 200), count("a", "y", 100), count("b", "y", 30)]);
        let text = text.to_string();
        assert!(text.contains("200 (1.00)") && text.contains("100 (0.50)"), "{text}");
        assert!(text.contains("30 (1.00)"), "{text}");
    }

    #[test]
    fn arguments_without_the_command() {
        let args = |line: &str| others(line.split(' ').map(str::to_owned));
        assert_eq!(args("--stages --instructions q --sets 768"), ["--stages", "--sets", "768"]);
        assert_eq!(args("--instructions=q --stages"), ["--stages"]);
    }

    #[test]
    fn a_call_before_the_marks() {
        let mut calls = Vec::new();
        mark("row", "column", &mut |count| calls.push(count));
        assert_eq!(calls, [1, 0, 1]);
    }
}
