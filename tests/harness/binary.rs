//! Runs the real `codegrep`, shut off from whoever runs the tests.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use crate::checkout;

/// The binary under test, with llama.cpp: `CODEGREP_BIN`, or built here once.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("CODEGREP_BIN") {
        Some(path) => path.into(),
        None => build(),
    })
}

fn build() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--package", "codegrep", "--features", "llama"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(checkout())
        .env_remove("SOURCE_DATE_EPOCH")
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "codegrep does not build");
    cargo_metadata::Message::parse_stream(&output.stdout[..])
        .find_map(|message| match message.expect("cargo writes JSON") {
            cargo_metadata::Message::CompilerArtifact(artifact)
                if artifact.target.name == "codegrep" =>
            {
                artifact.executable.map(Into::into)
            }
            _ => None,
        })
        .expect("cargo names the binary it built")
}

/// A command line of `codegrep` with a home, caches and settings of its own.
pub struct Codegrep {
    command: Command,
    stdin: Vec<u8>,
    timeout: Duration,
    home: tempfile::TempDir,
}

/// What a run left behind.
#[derive(Debug)]
pub struct Finished {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Codegrep {
    /// `codegrep ARGS…`, in an empty home.
    pub fn new(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let mut command = Command::new(binary());
        let home = tempfile::tempdir().expect("a temporary folder");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CODEGREP_") {
                command.env_remove(name);
            }
        }
        command
            .args(args)
            .env("HOME", home.path())
            .env("XDG_CACHE_HOME", home.path().join("cache"))
            .env("XDG_CONFIG_HOME", home.path().join("config"))
            .env("XDG_DATA_HOME", home.path().join("data"))
            .env("XDG_RUNTIME_DIR", home.path().join("run"))
            .env("RUST_BACKTRACE", "0")
            // Two tests that both spin on two cores starve each other.
            .env("OMP_WAIT_POLICY", "passive");
        Self { command, stdin: Vec::new(), timeout: Duration::from_secs(120), home }
    }

    /// As `nobody` where the tests run as root: root may read what no one may.
    #[cfg(unix)]
    pub fn unprivileged(mut self) -> Self {
        use std::os::unix::fs::PermissionsExt;
        use std::os::unix::process::CommandExt;
        const NOBODY: u32 = 65534;
        if rustix::process::geteuid().is_root() {
            // Its own copy: nobody may not enter the folder that holds the build.
            let copy = self.home.path().join("codegrep");
            std::fs::copy(binary(), &copy).expect("the binary can be copied");
            let all = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(self.home.path(), all).expect("our own folder");
            let mut command = Command::new(copy);
            command.args(self.command.get_args());
            for (name, value) in self.command.get_envs() {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
            command.uid(NOBODY).gid(NOBODY).current_dir("/");
            self.command = command;
        }
        self
    }

    /// The folder that stands in for the user's home.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// The working folder.
    pub fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// What it reads on standard input; nothing by default.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// After which it counts as hung; two minutes by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it does not end in time.
    pub fn run(mut self) -> Finished {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let start = Instant::now();
        let mut child = self.command.spawn().expect("codegrep starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let text = std::mem::take(&mut self.stdin);
        // A program that ends without reading its input closes the pipe: no fault of the test.
        thread::spawn(move || drop(stdin.write_all(&text)));
        let stdout = collect(child.stdout.take().expect("a pipe"));
        let stderr = collect(child.stderr.take().expect("a pipe"));
        let code = wait(&mut child, start + self.timeout);
        let finished = Finished {
            code: code.flatten(),
            stdout: stdout.join().expect("stdout is read"),
            stderr: stderr.join().expect("stderr is read"),
            took: start.elapsed(),
        };
        assert!(code.is_some(), "hung for {:?}: {:?}\n{finished:#?}", self.timeout, self.command);
        finished
    }
}

impl Finished {
    /// Its standard output as JSON, after a success.
    ///
    /// # Panics
    /// When it failed or wrote anything else.
    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, Some(0), "{self:#?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        String::from_utf8(bytes).expect("codegrep writes UTF-8")
    })
}

/// The exit code (itself `None` after a signal), or `None` after killing it at the deadline.
fn wait(child: &mut Child, deadline: Instant) -> Option<Option<i32>> {
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status.code());
        }
        if Instant::now() >= deadline {
            child.kill().expect("a child can be killed");
            child.wait().expect("a child can be waited for");
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
