use std::env;
use std::io::{self, IsTerminal};
use std::thread;

use super::Check;
use crate::cli::model::size;
use crate::requests::FEATURES;

/// The machine, and what was built for it.
pub fn checks() -> Vec<Check> {
    let mut checks = vec![Check::ok("system", system()), processor()];
    checks.extend(memory());
    checks.push(build());
    checks.extend(waiting());
    checks.push(sandbox());
    checks.push(Check::ok("terminal", terminal()));
    checks
}

fn system() -> String {
    let release = fs_err::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let name = name.map_or(env::consts::OS, |name| name.trim_matches('"'));
    #[cfg(unix)]
    let kernel = {
        let kernel = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        format!(", {} {}", text(kernel.sysname()), text(kernel.release()))
    };
    #[cfg(not(unix))]
    let kernel = "";
    format!("{name}, {}{kernel}", env::consts::ARCH)
}

fn processor() -> Check {
    let cores = match thread::available_parallelism() {
        Ok(cores) if cores.get() == 1 => "1 core".to_owned(),
        Ok(cores) => format!("{cores} cores"),
        Err(error) => format!("cores unknown ({error})"),
    };
    #[cfg(target_arch = "x86_64")]
    {
        let has = [
            ("AVX2", is_x86_feature_detected!("avx2")),
            ("FMA", is_x86_feature_detected!("fma")),
            ("F16C", is_x86_feature_detected!("f16c")),
            ("AVX-512", is_x86_feature_detected!("avx512f")),
        ];
        let named: Vec<&str> = has.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
        let lacks = has[..3].iter().any(|(_, has)| !has);
        let message = format!(
            "{cores}, {}",
            match named.is_empty() {
                true => "without AVX".to_owned(),
                false => named.join(", "),
            }
        );
        if lacks && cfg!(feature = "llama") {
            return Check::warning(
                "processor",
                message,
                "models cannot run here: this build of llama.cpp needs AVX2, FMA and F16C; build \
                 it on this machine with RUSTFLAGS='-C target-cpu=native', or use an endpoint",
            );
        }
        Check::ok("processor", message)
    }
    #[cfg(not(target_arch = "x86_64"))]
    Check::ok("processor", cores)
}

/// Linux only: `None` where it cannot be told.
fn memory() -> Option<Check> {
    let text = fs_err::read_to_string("/proc/meminfo").ok()?;
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 =
            line.trim_start_matches(':').trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    };
    let (total, free) = (bytes("MemTotal")?, bytes("MemAvailable")?);
    let message = format!("{} free of {}", size(free), size(total));
    // The index of a large repository takes a few hundred megabytes.
    Some(match free {
        0..500_000_000 => Check::warning(
            "memory",
            message,
            "close something before large repositories are searched",
        ),
        _ => Check::ok("memory", message),
    })
}

fn build() -> Check {
    let version = env!("CARGO_PKG_VERSION");
    match FEATURES {
        [] => Check::warning(
            "build",
            format!("codegrep {version} without llama.cpp"),
            "to run models in this process: `make install` in the checkout; endpoints \
             need no such build",
        ),
        features => Check::ok("build", format!("codegrep {version} with {}", features.join(", "))),
    }
}

/// How OpenMP's threads wait, which only llama.cpp has.
fn waiting() -> Option<Check> {
    if !cfg!(feature = "llama") {
        return None;
    }
    let set = |name| env::var(name).ok();
    Some(match (set("OMP_WAIT_POLICY"), set("GOMP_SPINCOUNT")) {
        (Some(policy), _) if policy.eq_ignore_ascii_case("passive") => {
            Check::ok("threads", "wait passively (OMP_WAIT_POLICY)")
        }
        (_, Some(count)) if count == "0" => Check::ok("threads", "wait passively (GOMP_SPINCOUNT)"),
        (policy, _) => Check::warning(
            "threads",
            format!("OMP_WAIT_POLICY is {}", policy.as_deref().unwrap_or("not set")),
            "set OMP_WAIT_POLICY=passive: threads that spin slow models down as soon as anything \
             else runs",
        ),
    })
}

/// What a model's terminal is shut into.
#[cfg(target_os = "linux")]
fn sandbox() -> Check {
    use landlock::{
        ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError,
    };
    // Rules that are made and not put in force change nothing.
    let made = || -> Result<(), RulesetError> {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules.handle_access(AccessFs::from_all(ABI::V1))?.create()?;
        Ok(())
    };
    match made() {
        Ok(()) => Check::ok("sandbox", "Landlock"),
        Err(_) => Check::warning(
            "sandbox",
            "this kernel has no Landlock, or it is switched off",
            "use Linux 5.13 or later, started with `lsm=landlock,…`; without it a model's terminal \
             runs only commands from a list",
        ),
    }
}

#[cfg(not(target_os = "linux"))]
fn sandbox() -> Check {
    Check::warning(
        "sandbox",
        "only Linux has Landlock",
        "a model's terminal runs only commands from a list here",
    )
}

fn terminal() -> String {
    let stdout = if io::stdout().is_terminal() { "a terminal" } else { "no terminal" };
    let term = env::var("TERM").unwrap_or_else(|_| "not set".to_owned());
    let plain = if env::var_os("NO_COLOR").is_some() { ", NO_COLOR" } else { "" };
    format!("stdout is {stdout}, TERM is {term}{plain}")
}
