use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use codegrep_agent::{Model, ModelError, Turn};
use codegrep_model::{AdapterConfig, LlamaConfig, ModelConfig};
use codegrep_tree::Watch;

use crate::common::*;

/// Writes a GGUF of F32 tensors.
fn write_gguf(
    path: &Path,
    texts: &[(&str, &str)],
    alpha: f32,
    tensors: &[(String, [u64; 2], Vec<f32>)],
) {
    let mut file = std::fs::File::create(path).unwrap();
    let mut put = |bytes: &[u8]| file.write_all(bytes).unwrap();
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    put(b"GGUF");
    put(&3_u32.to_le_bytes());
    put(&(tensors.len() as u64).to_le_bytes());
    put(&(texts.len() as u64 + 1).to_le_bytes());
    for (key, value) in texts {
        put(&text(key));
        put(&8_u32.to_le_bytes());
        put(&text(value));
    }
    put(&text("adapter.lora.alpha"));
    put(&6_u32.to_le_bytes());
    put(&alpha.to_le_bytes());
    let mut offset = 0_u64;
    for (name, dims, data) in tensors {
        put(&text(name));
        put(&2_u32.to_le_bytes());
        dims.iter().for_each(|dim| put(&dim.to_le_bytes()));
        put(&0_u32.to_le_bytes());
        put(&offset.to_le_bytes());
        offset += (data.len() as u64 * 4).next_multiple_of(32);
    }
    for (_, _, data) in tensors {
        let at = file.stream_position().unwrap().next_multiple_of(32);
        file.set_len(at).unwrap();
        file.seek(std::io::SeekFrom::Start(at)).unwrap();
        let bytes: Vec<u8> = data.iter().flat_map(|value| value.to_le_bytes()).collect();
        file.write_all(&bytes).unwrap();
    }
    let end = file.stream_position().unwrap().next_multiple_of(32);
    file.set_len(end).unwrap();
}

/// Width of the model's hidden state, out of its header.
fn width() -> u64 {
    let mut head = vec![0; 4096];
    let mut file = std::fs::File::open(model_path()).unwrap();
    std::io::Read::read_exact(&mut file, &mut head).unwrap();
    let key = b".embedding_length";
    let at = head.windows(key.len()).position(|bytes| bytes == key).unwrap() + key.len() + 4;
    u32::from_le_bytes(head[at..at + 4].try_into().unwrap()).into()
}

/// A random adapter of rank 4 on the queries of three layers.
fn adapter(folder: &Path, seed: u32) -> PathBuf {
    let width = width();
    let mut state = seed;
    let mut random = |count: u64| -> Vec<f32> {
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect()
    };
    let mut tensors = Vec::new();
    for layer in [0, 5, 11] {
        let name = |part: &str| format!("blk.{layer}.attn_q.weight.{part}");
        tensors.push((name("lora_a"), [width, 4], random(width * 4)));
        tensors.push((name("lora_b"), [4, width], random(width * 4)));
    }
    let path = folder.join(format!("adapter-{seed}.gguf"));
    let texts =
        [("general.type", "adapter"), ("general.architecture", "llama"), ("adapter.type", "lora")];
    write_gguf(&path, &texts, 4.0, &tensors);
    path
}

fn say(model: &dyn Model) -> Turn {
    chat(model, "What is a linked list?").turn(&greedy(24), &Watch::idle()).unwrap()
}

#[test]
fn an_adapter_changes_what_is_said_and_is_gone_without_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let config = config();
    let with = |path: &Path, scale| {
        let adapter = Some(AdapterConfig { path: path.into(), scale });
        LlamaConfig { adapter, ..config.clone() }
    };
    let (one, two) = (adapter(folder.path(), 1), adapter(folder.path(), 2));
    let base = open(config.clone());
    let before = say(&*base);
    let tuned = open(with(&one, 1.0));
    assert_eq!(tuned.info().adapter.as_deref(), Some("adapter-1"));
    assert_eq!(base.info().adapter, None);
    let said = say(&*tuned);
    assert_ne!(said.trace, before.trace);
    // Nothing cached without the adapter was used with it.
    assert_eq!(said.usage.evaluated, Some(said.usage.prompt_new));

    let other = say(&*open(with(&two, 1.0)));
    assert_ne!(other.trace, said.trace);
    assert_ne!(say(&*open(with(&one, 0.5))).trace, said.trace);
    assert_eq!(say(&*open(with(&one, 0.0))).trace, before.trace);
    assert_eq!(say(&*tuned).trace, said.trace);
    drop(tuned);
    assert_eq!(say(&*base).trace, before.trace);
}

#[test]
fn conversations_with_and_without_an_adapter_run_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let config = config();
    let adapter = Some(AdapterConfig { path: adapter(folder.path(), 3), scale: 1.0 });
    let tuned = open(LlamaConfig { adapter, ..config.clone() });
    let base = open(config);
    let question = "What is a linked list?";
    let models = [&base, &tuned, &base, &tuned];
    let turns: Vec<Turn> = std::thread::scope(|scope| {
        let asked: Vec<_> = models.iter().map(|model| scope.spawn(|| say(&***model))).collect();
        asked.into_iter().map(|turn| turn.join().unwrap()).collect()
    });
    for (model, turn) in models.iter().zip(&turns) {
        let told: f64 = turn.trace.iter().flat_map(|t| &t.logprobs).map(|p| f64::from(*p)).sum();
        let text = std::slice::from_ref(&turn.text);
        let alone = chat(&***model, question).score("", text, &Watch::idle()).unwrap()[0];
        assert!((told - alone).abs() < 6.0, "{told} {alone} {}", turn.text);
    }
}

#[test]
fn what_is_no_adapter_of_this_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.gguf");
    let config = config();
    let open = || {
        let adapter = Some(AdapterConfig { path: path.clone(), scale: 1.0 });
        let config = LlamaConfig { adapter, ..config.clone() };
        match codegrep_model::open(&ModelConfig::Llama(config), &Watch::idle()) {
            Ok(_) => "opened".to_owned(),
            Err(ModelError::Unavailable { message, hint }) => {
                assert!(!hint.is_empty());
                message.rsplit_once("wrong.gguf: ").unwrap().1.to_owned()
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(open(), "No such file or directory (os error 2)");
    std::fs::copy(model_path(), &path).unwrap();
    assert_eq!(open(), "not a LoRA adapter");
    let mut texts =
        [("general.type", "adapter"), ("general.architecture", "qwen2"), ("adapter.type", "lora")];
    let tensor = |name: &str, dims: [u64; 2]| {
        (name.to_owned(), dims, vec![0.1; (dims[0] * dims[1]) as usize])
    };
    write_gguf(&path, &texts, 1.0, &[]);
    assert_eq!(open(), "made for qwen2, and the model is llama");
    texts[1].1 = "llama";
    write_gguf(&path, &texts, f32::NAN, &[]);
    assert_eq!(open(), "`adapter.lora.alpha` is missing or not a number");
    for tensors in [
        vec![
            tensor("blk.0.attn_q.weight.lora_a", [8, 4]),
            tensor("blk.0.attn_q.weight.lora_b", [4, 8]),
        ],
        vec![tensor("blk.0.attn_q.weight.lora_a", [width(), 4])],
        vec![
            tensor("blk.999.attn_q.weight.lora_a", [8, 4]),
            tensor("blk.999.attn_q.weight.lora_b", [4, 8]),
        ],
    ] {
        write_gguf(&path, &texts, 1.0, &tensors);
        assert_eq!(open(), "llama.cpp cannot load it");
    }
}
