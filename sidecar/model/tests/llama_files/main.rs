//! Broken and hostile files of weights, each opened in a process of its own: whatever the file
//! holds, the outcome is a model that runs or an error that names the file, never an abort.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use codegrep_agent::{Ask, Constraint, Message, ModelError, Sampling};
use codegrep_model::{LlamaConfig, ModelConfig};
use codegrep_tree::Watch;
use libtest_mimic::{Arguments, Failed, Trial};

#[path = "../llama/common.rs"]
#[allow(dead_code)]
mod common;

const CHILD: &str = "CODEGREP_TEST_CHILD";

fn main() -> ExitCode {
    if let Some(path) = std::env::var_os(CHILD) {
        return child(path.into());
    }
    let tests = [
        ("a_file_that_is_cut_off_is_refused", cut_off as fn() -> Result<(), Failed>),
        ("what_is_no_model_is_refused", no_model),
        ("a_damaged_header_is_refused", damaged),
        ("flipped_bits_never_end_the_process", flipped),
        ("long_runs_do_not_overflow_the_stack_of_any_tokenizer", long_runs),
    ];
    let trials = tests.map(|(name, test)| Trial::test(name, test));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// Opens the file and says a word; status 3 and the error on standard error when it can't.
fn child(path: PathBuf) -> ExitCode {
    let run = || -> Result<(), ModelError> {
        let watch = Watch::idle();
        let config = LlamaConfig { n_ctx: Some(512), ..LlamaConfig::new(path) };
        let model = codegrep_model::open(&ModelConfig::Llama(config), &watch)?;
        let mut chat = model.open(&watch)?;
        for run in ["é", "a", "=", " "] {
            chat.count(&run.repeat(20_000));
        }
        chat.push(&[Message::User("Hello".into())])?;
        let ask = Ask { constraint: Constraint::Free, max_tokens: 2, sampling: Sampling::GREEDY };
        chat.turn(&ask, &watch).map(drop)
    };
    // The stack of a thread, not that of the process.
    match std::thread::scope(|scope| scope.spawn(run).join()) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("{error}\n{}", error.hint());
            ExitCode::from(3)
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// The error of opening `path` in another process, without its beginning; `None` when it ran.
fn outcome(path: &Path) -> Result<Option<String>, Failed> {
    let run = Command::new(std::env::current_exe()?).env(CHILD, path).output()?;
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    match (run.status.code(), said.lines().rev().nth(1)) {
        (Some(0), _) => Ok(None),
        (Some(3), Some(error)) => {
            let beginning = format!("cannot use {}: ", path.display());
            match error.strip_prefix(&beginning) {
                Some(reason) => Ok(Some(reason.to_owned())),
                None => Ok(Some(error.to_owned())),
            }
        }
        _ => Err(format!("{}: {said}", run.status).into()),
    }
}

/// A copy of the real model that is damaged in one place at a time.
struct Copy {
    path: PathBuf,
    head: Vec<u8>,
    _folder: tempfile::TempDir,
}

impl Copy {
    fn new() -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("copy.gguf");
        std::fs::copy(common::model_path(), &path)?;
        let mut head = vec![0; 1 << 21];
        std::fs::File::open(&path)?.read_exact(&mut head)?;
        Ok(Self { path, head, _folder: folder })
    }

    fn with(&self, at: usize, bytes: &[u8]) -> Result<Option<String>, Failed> {
        self.write(at, bytes)?;
        let outcome = outcome(&self.path).map_err(|failed| {
            let failed = failed.message().unwrap_or_default().to_owned();
            Failed::from(format!("{bytes:?} at {at}: {failed}"))
        });
        self.write(at, &self.head[at..at + bytes.len()])?;
        outcome
    }

    fn write(&self, at: usize, bytes: &[u8]) -> Result<(), Failed> {
        let mut file = std::fs::File::options().write(true).open(&self.path)?;
        file.seek(SeekFrom::Start(at as u64))?;
        Ok(file.write_all(bytes)?)
    }

    /// Where the value of a key stands, after its type.
    fn value(&self, key: &str) -> usize {
        let found = self.head.windows(key.len()).position(|bytes| bytes == key.as_bytes());
        found.expect("the key is there") + key.len() + 4
    }
}

fn cut_off() -> Result<(), Failed> {
    let copy = Copy::new()?;
    let size = std::fs::metadata(&copy.path)?.len();
    let file = std::fs::File::options().write(true).open(&copy.path)?;
    for len in [size - 1000, size / 2, 1_785_700, 1_785_000, 1_000_000, 5000, 500, 24, 10, 4] {
        file.set_len(len)?;
        let reason = outcome(&copy.path)?.ok_or("opened")?;
        if !reason.starts_with("cut off") {
            return Err(format!("{len}: {reason}").into());
        }
    }
    Ok(())
}

fn no_model() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("empty"), "")?;
    std::fs::write(path("text"), "GGML is another format")?;
    std::fs::write(path("no access"), "GGUF")?;
    std::fs::create_dir(path("folder"))?;
    rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RUSR)?;
    for (name, want) in [
        ("missing", "No such file or directory (os error 2)"),
        ("empty", "not a GGUF file (it does not begin with `GGUF`)"),
        ("text", "not a GGUF file (it does not begin with `GGUF`)"),
        ("folder", "not a regular file"),
        ("pipe", "not a regular file"),
    ] {
        let reason = outcome(&path(name))?.ok_or("opened")?;
        if reason != want {
            return Err(format!("{name}: {reason}").into());
        }
    }
    Ok(())
}

fn damaged() -> Result<(), Failed> {
    let copy = Copy::new()?;
    let token = copy.value("tokenizer.ggml.tokens") + 700_000;
    let letter = (token..).find(|&at| copy.head[at].is_ascii_lowercase()).unwrap_or(token);
    for (at, bytes, want) in [
        (0, &b"GGML"[..], "does not begin"),
        (4, &[99], "version 99"),
        (4, &[0, 0, 0, 3], "byte order"),
        (8, &[0xff; 8], "tensors"),
        (16, &[0xff; 8], "metadata keys"),
        (copy.value("general.architecture") + 8, b"nosuc", "llama.cpp cannot load it"),
        (copy.value("llama.block_count"), &[0; 4], "`llama.block_count` is 0"),
        (copy.value("llama.block_count"), &[31, 0, 0, 0], "llama.cpp cannot load it"),
        (copy.value("llama.embedding_length"), &[0xff; 4], "`llama.embedding_length` is"),
        (copy.value("llama.attention.head_count"), &[0; 4], "`llama.attention.head_count` is 0"),
        (copy.value("rms_epsilon"), &(-1_f32).to_le_bytes(), "rms_epsilon` is -1"),
        (copy.value("rope.freq_base"), &f32::NAN.to_le_bytes(), "freq_base` is NaN"),
        (copy.value("tokenizer.ggml.model") + 8, b"rwkv", "a tokenizer rwkv is not supported"),
        (copy.value("tokenizer.ggml.tokens") + 4, &[0, 1, 0, 0], "broken"),
        (copy.value("tokenizer.ggml.token_type") + 4, &[1, 1], "broken"),
        (letter, &[0], "two tokens have one text"),
        (copy.value("tokenizer.chat_template") + 8, &[b'x'; 360], "its chat template is none"),
    ] {
        let reason = copy.with(at, bytes)?.ok_or_else(|| format!("opened: {want}"))?;
        if !reason.contains(want) {
            return Err(format!("wanted `{want}`, got `{reason}`").into());
        }
    }
    Ok(())
}

fn flipped() -> Result<(), Failed> {
    let copy = Copy::new()?;
    let mut state = 7_u64;
    let mut random = |bound: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    // Keys before the vocabulary, the vocabulary, keys after it and the list of tensors.
    for (from, to, count) in [(24, 1200, 16), (1200, 1_768_000, 8), (1_768_000, 1_785_664, 16)] {
        for _ in 0..count {
            let at = from + random(to - from);
            copy.with(at, &[copy.head[at] ^ (1 << random(8))])?;
        }
    }
    Ok(())
}

/// Other ways to split words, by their names in the header, which are as long as this model's.
fn long_runs() -> Result<(), Failed> {
    let copy = Copy::new()?;
    for name in ["tekken", "gpt-4o", "falcon"] {
        if let Some(reason) = copy.with(copy.value("tokenizer.ggml.pre") + 8, name.as_bytes())? {
            return Err(format!("{name}: {reason}").into());
        }
    }
    Ok(())
}
