//! A first look at a GGUF file, before llama.cpp sees it: llama.cpp gives no reason when it refuses
//! a file, and takes some of what it reads on trust.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use self::read::Reader;

mod check;
mod read;

/// A value of the metadata. Arrays keep their type and length only.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Int(i128),
    Float(f64),
    Bool(bool),
    Text(String),
    Array { kind: u32, len: u64 },
}

/// What the header of a whole and plausible file says.
#[derive(Debug)]
pub(crate) struct Header {
    values: HashMap<String, Value>,
    tensors: usize,
    /// Texts of the tokens, as bytes.
    tokens: HashSet<Vec<u8>>,
    /// Numbers in all tensors together.
    pub parameters: u64,
}

/// Type codes of the format.
const TEXT: u32 = 8;
const ARRAY: u32 = 9;
const FLOAT32: u32 = 6;
const INT32: u32 = 5;
const UINT32: u32 = 4;

const TOKENS: &str = "tokenizer.ggml.tokens";

const MAX_KEYS: u64 = 1 << 16;
const MAX_TENSORS: u64 = 1 << 16;
const MAX_NAME: u64 = 1 << 10;

impl Header {
    /// Reads the header and checks that the file holds all it declares. The error is a sentence
    /// about the file, without its name.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut reader = Reader::open(path)?;
        match reader.bytes::<4>() {
            Ok(magic) if &magic == b"GGUF" => {}
            _ => return Err("not a GGUF file (it does not begin with `GGUF`)".into()),
        }
        match reader.u32()? {
            2 | 3 => {}
            version if version & 0xffff == 0 => {
                return Err("written for the other byte order".into());
            }
            version => return Err(format!("GGUF version {version} is not supported")),
        }
        let tensors = reader.count("tensors", MAX_TENSORS)?;
        let keys = reader.count("metadata keys", MAX_KEYS)?;
        let mut header = Self {
            values: HashMap::new(),
            tensors: tensors as usize,
            tokens: HashSet::new(),
            parameters: 0,
        };
        for _ in 0..keys {
            let key = reader.text(MAX_NAME)?;
            let value = match key.as_str() {
                TOKENS => reader.tokens(&mut header.tokens),
                _ => reader.value(),
            };
            let value = value.map_err(|error| format!("{error} (at `{key}`)"))?;
            if let Some(_twice) = header.values.insert(key, value) {
                return Err("broken: a key is there twice".into());
            }
        }
        header.parameters = reader.tensors(&header)?;
        Ok(header)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        match self.values.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn int(&self, key: &str) -> Option<i128> {
        match self.values.get(key) {
            Some(Value::Int(value)) => Some(*value),
            _ => None,
        }
    }
}
