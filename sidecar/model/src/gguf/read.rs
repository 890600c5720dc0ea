use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use codegrep_tree::regular;

use super::{ARRAY, FLOAT32, Header, INT32, TEXT, UINT32, Value};

/// What tensors are made of (`ggml.h`): code, elements of a block, bytes of a block.
const TENSOR_TYPES: [(u32, u64, u64); 35] = [
    (0, 1, 4),      // F32
    (1, 1, 2),      // F16
    (2, 32, 18),    // Q4_0
    (3, 32, 20),    // Q4_1
    (6, 32, 22),    // Q5_0
    (7, 32, 24),    // Q5_1
    (8, 32, 34),    // Q8_0
    (9, 32, 36),    // Q8_1
    (10, 256, 84),  // Q2_K
    (11, 256, 110), // Q3_K
    (12, 256, 144), // Q4_K
    (13, 256, 176), // Q5_K
    (14, 256, 210), // Q6_K
    (15, 256, 292), // Q8_K
    (16, 256, 66),  // IQ2_XXS
    (17, 256, 74),  // IQ2_XS
    (18, 256, 98),  // IQ3_XXS
    (19, 256, 50),  // IQ1_S
    (20, 32, 18),   // IQ4_NL
    (21, 256, 110), // IQ3_S
    (22, 256, 82),  // IQ2_S
    (23, 256, 136), // IQ4_XS
    (24, 1, 1),     // I8
    (25, 1, 2),     // I16
    (26, 1, 4),     // I32
    (27, 1, 8),     // I64
    (28, 1, 8),     // F64
    (29, 256, 56),  // IQ1_M
    (30, 1, 2),     // BF16
    (34, 256, 54),  // TQ1_0
    (35, 256, 66),  // TQ2_0
    (39, 32, 17),   // MXFP4
    (40, 64, 36),   // NVFP4
    (41, 128, 18),  // Q1_0
    (42, 64, 18),   // Q2_0
];

/// Reads little-endian values and never past the end, whatever lengths the file claims.
pub(super) struct Reader {
    file: BufReader<File>,
    size: u64,
    left: u64,
}

impl Reader {
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = regular::open(path).map_err(|error| error.to_string())?;
        let size = file.metadata().map_err(|error| error.to_string())?.len();
        Ok(Self { left: size, size, file: BufReader::new(file) })
    }

    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        self.take(N as u64)?;
        self.file.read_exact(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    pub fn u32(&mut self) -> Result<u32, String> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, String> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub fn count(&mut self, what: &str, most: u64) -> Result<u64, String> {
        match self.u64()? {
            count if count <= most => Ok(count),
            count => Err(format!("broken: it declares {count} {what}")),
        }
    }

    pub fn text(&mut self, most: u64) -> Result<String, String> {
        String::from_utf8(self.raw_text(most)?).map_err(|_| "broken: a text is not UTF-8".into())
    }

    fn raw_text(&mut self, most: u64) -> Result<Vec<u8>, String> {
        let len = self.u64()?;
        if len > most {
            return Err(format!("broken: it declares a text of {len} bytes"));
        }
        self.take(len)?;
        let mut bytes = vec![0; len as usize];
        self.file.read_exact(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    pub fn value(&mut self) -> Result<Value, String> {
        let kind = self.u32()?;
        Ok(match kind {
            0 => Value::Int(self.bytes::<1>()?[0].into()),
            1 => Value::Int(i8::from_le_bytes(self.bytes()?).into()),
            2 => Value::Int(u16::from_le_bytes(self.bytes()?).into()),
            3 => Value::Int(i16::from_le_bytes(self.bytes()?).into()),
            UINT32 => Value::Int(self.u32()?.into()),
            INT32 => Value::Int(i32::from_le_bytes(self.bytes()?).into()),
            FLOAT32 => Value::Float(f32::from_le_bytes(self.bytes()?).into()),
            7 => Value::Bool(self.bytes::<1>()?[0] != 0),
            TEXT => Value::Text(self.text(self.left)?),
            ARRAY => self.array()?,
            10 => Value::Int(self.u64()?.into()),
            11 => Value::Int(i64::from_le_bytes(self.bytes()?).into()),
            12 => Value::Float(f64::from_le_bytes(self.bytes()?)),
            _ => return Err(format!("broken: {kind} is no type of value")),
        })
    }

    fn array(&mut self) -> Result<Value, String> {
        let kind = self.u32()?;
        let len = self.u64()?;
        let width = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            UINT32 | INT32 | FLOAT32 => 4,
            10..=12 => 8,
            TEXT => {
                if len > self.left / 8 {
                    return Err("cut off".into());
                }
                for _ in 0..len {
                    let text = self.u64()?;
                    self.skip(text)?;
                }
                return Ok(Value::Array { kind, len });
            }
            _ => return Err(format!("broken: {kind} is no type of list")),
        };
        self.skip(len.checked_mul(width).ok_or("cut off")?)?;
        Ok(Value::Array { kind, len })
    }

    /// The list of tokens. Texts must differ, up to the first NUL: llama.cpp ends them there.
    pub fn tokens(&mut self, into: &mut HashSet<Vec<u8>>) -> Result<Value, String> {
        let (kind, list) = (self.u32()?, self.u32()?);
        let len = self.u64()?;
        if kind != ARRAY || list != TEXT {
            return Err("broken: not a list of texts".into());
        }
        if len > self.left / 8 {
            return Err("cut off".into());
        }
        for _ in 0..len {
            let mut token = self.raw_text(self.left)?;
            token.truncate(token.iter().position(|byte| *byte == 0).unwrap_or(token.len()));
            // llama.cpp gives empty ones names of their own.
            if !token.is_empty() && !into.insert(token) {
                return Err("broken: two tokens have one text".into());
            }
        }
        Ok(Value::Array { kind: TEXT, len })
    }

    fn skip(&mut self, bytes: u64) -> Result<(), String> {
        self.take(bytes)?;
        let bytes = i64::try_from(bytes).map_err(|_| "cut off")?;
        self.file.seek_relative(bytes).map_err(|error| error.to_string())
    }

    fn take(&mut self, bytes: u64) -> Result<(), String> {
        self.left = self.left.checked_sub(bytes).ok_or("cut off: it ends within its header")?;
        Ok(())
    }

    /// The tensors follow each other without gaps, each padded to the alignment. Counts their
    /// elements.
    pub fn tensors(&mut self, header: &Header) -> Result<u64, String> {
        let align = match header.values.get("general.alignment") {
            None => 32,
            Some(&Value::Int(align)) if align > 0 && align <= 1 << 16 => align as u64,
            Some(_) => return Err("broken: its alignment is out of range".into()),
        };
        if !align.is_power_of_two() {
            return Err(format!("broken: an alignment of {align}"));
        }
        let mut names = HashSet::new();
        let mut end = 0_u64;
        let mut parameters = 0_u64;
        for _ in 0..header.tensors {
            let name = self.text(63)?;
            let (elements, bytes) =
                self.tensor().map_err(|error| format!("{error} (tensor `{name}`)"))?;
            parameters = parameters.saturating_add(elements);
            let offset = self.u64()?;
            if offset != end {
                return Err(format!("broken: tensor `{name}` is at {offset} instead of {end}"));
            }
            end = bytes
                .checked_next_multiple_of(align)
                .and_then(|bytes| end.checked_add(bytes))
                .ok_or_else(|| format!("broken: the size of tensor `{name}` is out of range"))?;
            if !names.insert(name) {
                return Err("broken: two tensors have one name".into());
            }
        }
        let start = (self.size - self.left).next_multiple_of(align);
        // Writers may leave out the padding of the last tensor.
        if start.saturating_add(end) > self.size.next_multiple_of(align) {
            let size = self.size;
            let need = start.saturating_add(end);
            return Err(format!("cut off: {size} bytes of {need} are there"));
        }
        Ok(parameters)
    }

    /// Elements, and size in bytes before padding.
    fn tensor(&mut self) -> Result<(u64, u64), String> {
        let dims = self.u32()?;
        if dims > 4 {
            return Err(format!("broken: {dims} dimensions"));
        }
        let mut elements = 1_u64;
        let mut row = 1;
        for dim in 0..dims {
            let len = self.u64()?;
            elements = match elements.checked_mul(len) {
                Some(elements) if len > 0 && elements <= i64::MAX as u64 => elements,
                _ => return Err("broken: its shape is out of range".into()),
            };
            if dim == 0 {
                row = len;
            }
        }
        let kind = self.u32()?;
        let Some(&(_, block, width)) = TENSOR_TYPES.iter().find(|known| known.0 == kind) else {
            return Err(format!("weights of type {kind} are not supported"));
        };
        if row % block != 0 {
            return Err(format!("weights of type {kind} do not fit its shape"));
        }
        let bytes = (elements / block)
            .checked_mul(width)
            .ok_or_else(|| "broken: its size is out of range".to_owned())?;
        Ok((elements, bytes))
    }
}

#[cfg(all(test, feature = "llama"))]
mod tests {
    use llama_cpp_sys_2 as sys;

    use super::TENSOR_TYPES;

    #[test]
    fn the_types_of_tensors_are_those_of_llama_cpp() {
        let known = (0..sys::GGML_TYPE_COUNT).filter_map(|kind| {
            // SAFETY: both look up a table by an index within it.
            let (block, width) = unsafe { (sys::ggml_blck_size(kind), sys::ggml_type_size(kind)) };
            (block > 0).then_some((kind, block as u64, width as u64))
        });
        assert_eq!(known.collect::<Vec<_>>(), TENSOR_TYPES);
    }
}
