//! Runs the real `codegrep`, shut off from whoever runs the tests.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use codegrep_plugin_sdk::RetrieveResponse;

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
        let home = tempfile::tempdir().expect("a temporary folder");
        let mut run = Self {
            command: Command::new(binary()),
            stdin: Vec::new(),
            timeout: Duration::from_secs(120),
            home,
        };
        run.prepare();
        run.args(args)
    }

    fn prepare(&mut self) {
        let inherited = ["CODEGREP_", "XDG_", "HF_", "OPENAI_"];
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if inherited.iter().any(|start| name.starts_with(start)) {
                self.command.env_remove(&*name);
            }
        }
        self.command
            .env("HOME", self.home.path())
            .env("CODEGREP_HOME", self.home.path())
            .env("CODEGREP_DAEMON", "false")
            .env("RUST_BACKTRACE", "0")
            // Tests that spin side by side on two cores starve each other.
            .env("OMP_WAIT_POLICY", "passive");
    }

    /// One more argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// More arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
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

    /// The user's own settings.
    pub fn config(self, toml: &str) -> Self {
        fs::write(self.home.path().join("config.toml"), toml).expect("our own folder");
        self
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
            fs::copy(binary(), &copy).expect("the binary can be copied");
            let all = fs::Permissions::from_mode(0o777);
            fs::set_permissions(self.home.path(), all).expect("our own folder");
            self.replace(Command::new(copy));
            self.command.uid(NOBODY).gid(NOBODY).current_dir("/");
        }
        self
    }

    /// With no more than this many bytes of address space.
    #[cfg(unix)]
    pub fn memory(mut self, bytes: u64) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {}; exec \"$0\" \"$@\"", bytes >> 10)]);
        command.arg(self.command.get_program());
        self.replace(command);
        self
    }

    /// Runs `command` with the arguments and the environment so far.
    #[cfg(unix)]
    fn replace(&mut self, command: Command) {
        let before = std::mem::replace(&mut self.command, command);
        self.prepare();
        self.command.args(before.get_args());
        if let Some(dir) = before.get_current_dir() {
            self.command.current_dir(dir);
        }
    }

    /// The process as a client starts it, and the home that must outlive it.
    pub fn into_command(self) -> (Command, tempfile::TempDir) {
        (self.command, self.home)
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
    /// What `find --json` printed, after a success.
    ///
    /// # Panics
    /// When it failed, or printed anything but one answer of the wire.
    pub fn answer(&self) -> RetrieveResponse {
        assert_eq!(self.code, Some(0), "{self:#?}");
        let answer: RetrieveResponse =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        let printed: serde_json::Value = serde_json::from_str(&self.stdout).expect("as above");
        assert_eq!(serde_json::to_value(&answer).expect("an answer"), printed, "unknown fields");
        answer
    }

    /// Asserts a failure that says what happened, with all these words, and what to do next.
    pub fn assert_failure(&self, words: &[&str]) {
        assert!(matches!(self.code, Some(1 | 2)), "{self:#?}");
        assert!(self.stderr.starts_with("error: "), "{self:#?}");
        assert!(self.stderr.contains("\nhint: "), "{self:#?}");
        let text = self.stderr.to_lowercase();
        for word in words {
            assert!(text.contains(&word.to_lowercase()), "no {word:?} in {self:#?}");
        }
        assert_eq!(self.stdout, "", "{self:#?}");
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
