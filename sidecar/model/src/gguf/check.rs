//! Whether what a header says is plausible: llama.cpp divides by it, multiplies and allocates with
//! it, and aborts the process on some of what does not fit.

use super::{FLOAT32, Header, INT32, TEXT, TOKENS, UINT32, Value};

impl Header {
    /// Whether this is a model that can be run: the numbers that llama.cpp divides by, multiplies
    /// or allocates with are in a plausible range.
    pub fn check_model(&self) -> Result<(), String> {
        if self.text("general.type").is_some_and(|kind| kind == "adapter") {
            return Err("an adapter, not a model".into());
        }
        if self.int("split.count").is_some_and(|count| count > 1) {
            return Err("one part of a split model; join the parts with `llama-gguf-split`".into());
        }
        let arch = self.text("general.architecture").ok_or("its architecture is not stated")?;
        for (key, least, most) in [
            ("block_count", 1, 512),
            ("context_length", 1, 1 << 28),
            ("embedding_length", 1, 1 << 17),
            ("attention.head_count", 1, 1 << 12),
            ("attention.head_count_kv", 0, 1 << 12),
            ("feed_forward_length", 0, 1 << 20),
            ("rope.dimension_count", 0, 1 << 14),
            ("attention.key_length", 1, 1 << 14),
            ("attention.value_length", 1, 1 << 14),
            ("expert_count", 0, 1 << 12),
            ("expert_used_count", 0, 1 << 12),
            ("vocab_size", 0, 1 << 22),
        ] {
            let key = format!("{arch}.{key}");
            match self.int(&key) {
                Some(value) if !(least..=most).contains(&value) => {
                    return Err(format!("`{key}` is {value}, out of range"));
                }
                _ => {}
            }
        }
        for (key, value) in &self.values {
            if let Value::Float(value) = value
                && key.starts_with(arch)
                && (!value.is_finite() || (key.ends_with("epsilon") && *value < 0.0))
            {
                return Err(format!("`{key}` is {value}, out of range"));
            }
        }
        self.check_vocabulary()?;
        if self.tensors == 0 {
            return Err("it holds no weights".into());
        }
        Ok(())
    }

    /// Whether this is a LoRA adapter for models of `arch`.
    pub fn check_adapter(&self, arch: &str) -> Result<(), String> {
        match (self.text("general.type"), self.text("adapter.type")) {
            (Some("adapter"), Some("lora")) => {}
            _ => return Err("not a LoRA adapter".into()),
        }
        match self.text("general.architecture") {
            Some(own) if own == arch => {}
            own => {
                let own = own.unwrap_or("no architecture");
                return Err(format!("made for {own}, and the model is {arch}"));
            }
        }
        match self.values.get("adapter.lora.alpha") {
            Some(Value::Float(alpha)) if alpha.is_finite() => Ok(()),
            _ => Err("`adapter.lora.alpha` is missing or not a number".into()),
        }
    }

    fn check_vocabulary(&self) -> Result<(), String> {
        let array = |key: &str| match self.values.get(key) {
            Some(Value::Array { kind, len }) => Ok(Some((*kind, *len))),
            Some(_) => Err(format!("`{key}` is not a list")),
            None => Ok(None),
        };
        let Some((TEXT, tokens)) = array(TOKENS)? else {
            return Err("it holds no vocabulary".into());
        };
        if tokens == 0 || tokens > 1 << 22 {
            return Err(format!("a vocabulary of {tokens} tokens is out of range"));
        }
        for (key, kinds) in [
            ("tokenizer.ggml.scores", [FLOAT32, INT32].as_slice()),
            ("tokenizer.ggml.token_type", &[INT32, UINT32]),
        ] {
            match array(key)? {
                Some((kind, len)) if !kinds.contains(&kind) || len != tokens => {
                    return Err(format!("`{key}` does not fit the vocabulary"));
                }
                _ => {}
            }
        }
        match self.text("tokenizer.ggml.model") {
            Some("gpt2" | "gemma4") => {}
            // llama.cpp looks bytes up without asking whether they are there.
            Some("llama") if (0..=255).all(|byte| self.has_token(&format!("<0x{byte:02X}>"))) => {}
            Some("llama") => return Err("its vocabulary lacks single bytes".into()),
            other => {
                let other = other.unwrap_or("that is not named");
                return Err(format!("a tokenizer {other} is not supported"));
            }
        }
        match array("tokenizer.ggml.merges")? {
            Some((kind, _)) if kind != TEXT => Err("the merges are not texts".into()),
            _ => Ok(()),
        }
    }

    fn has_token(&self, text: &str) -> bool {
        self.tokens.contains(text.as_bytes())
    }
}
