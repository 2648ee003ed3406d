//! What figures were taken on: CPU, target, profile; and the bar that a terminal gets to see.

use std::io::IsTerminal;
use std::time::Duration;
use std::{env, fs};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The CPU's model name, or the architecture where the system does not tell.
pub fn cpu_name() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    model_name(&info).unwrap_or(env::consts::ARCH).to_owned()
}

fn model_name(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim()).filter(|name| !name.is_empty())
}

/// Architecture and operating system that this was compiled for.
pub fn target() -> String {
    format!("{}-{}", env::consts::ARCH, env::consts::OS)
}

/// The profile that this was built with, told by the folder that cargo put the program in.
pub fn profile() -> String {
    let exe = env::current_exe().ok();
    let folder = exe.as_deref().and_then(|exe| exe.parent()?.file_name()?.to_str());
    describe_profile(folder.unwrap_or("unknown"))
}

fn describe_profile(folder: &str) -> String {
    // The opt levels are those of the workspace manifest; cargo tells a program of them in no other way.
    let opt_level = match folder {
        "release" => "opt-level 3",
        "release-small" => "opt-level s",
        "debug" => "opt-level 0",
        _ => "opt-level unknown",
    };
    format!("profile {folder} ({opt_level})")
}

/// A bar on a terminal, for runs long enough to wait for; hidden otherwise.
pub fn progress(total: Duration) -> ProgressBar {
    if total < Duration::from_secs(3) || !std::io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{wide_bar} {percent}% {msg}, {eta} left");
    ProgressBar::new(total.as_millis() as u64).with_style(style.expect("a valid template"))
}

/// Target and profile: what is left of [`header`] where the CPU is emulated.
pub fn build() -> String {
    format!("{}, {}", target(), profile())
}

/// The line above a report: CPU, target, profile.
pub fn header() -> String {
    format!("{}, {}", cpu_name(), build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_names() {
        let info = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: Some CPU 9\n";
        assert_eq!(model_name(info), Some("Some CPU 9"));
        assert_eq!(model_name("Features : fp asimd\n"), None);
        assert_eq!(model_name("model name :\n"), None);
        assert!(!cpu_name().is_empty());
    }

    #[test]
    fn profiles() {
        assert_eq!(describe_profile("release"), "profile release (opt-level 3)");
        assert_eq!(describe_profile("release-small"), "profile release-small (opt-level s)");
        assert_eq!(describe_profile("deps"), "profile deps (opt-level unknown)");
    }
}
