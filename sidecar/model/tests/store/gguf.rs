/// A GGUF file that is whole and plausible but far too small to run: one tensor of `elements`
/// numbers, which hold the bytes of `seed` over and over.
pub fn model(elements: u64, seed: u8) -> Vec<u8> {
    file("model", elements, seed)
}

pub fn adapter() -> Vec<u8> {
    file("adapter", 64, 1)
}

fn file(kind: &str, elements: u64, seed: u8) -> Vec<u8> {
    let mut keys = vec![
        text_key("general.architecture", "qwen2"),
        text_key("general.type", kind),
        text_key("tokenizer.ggml.model", "gpt2"),
        [text("tokenizer.ggml.tokens"), le(9), le(8), le64(1), text("a")].concat(),
    ];
    if kind == "adapter" {
        keys.push(text_key("adapter.type", "lora"));
        keys.push([text("adapter.lora.alpha"), le(6), 16f32.to_le_bytes().to_vec()].concat());
    }
    let tensor = [text("token_embd.weight"), le(1), le64(elements), le(0), le64(0)].concat();
    let mut bytes =
        [b"GGUF".to_vec(), le(3), le64(1), le64(keys.len() as u64), keys.concat(), tensor].concat();
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes.resize(bytes.len() + 4 * elements as usize, seed);
    bytes
}

fn text_key(key: &str, value: &str) -> Vec<u8> {
    [text(key), le(8), text(value)].concat()
}

fn text(text: &str) -> Vec<u8> {
    [le64(text.len() as u64), text.as_bytes().to_vec()].concat()
}

fn le(number: u32) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

fn le64(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}
