/// Families of chat formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// `<|im_start|>role`: Qwen2, Qwen2.5, Qwen3-Instruct-2507, SmolLM2 and many others.
    ChatMl,
    /// ChatML of models that think unless an empty thought is put into their mouth: Qwen3.
    ChatMlThinking,
    /// `<|start_header_id|>`: Llama 3 and later 3.x.
    Llama3,
    /// `<start_of_turn>`: Gemma 2 and 3; the system text opens the first user turn.
    Gemma,
    /// `[SYSTEM_PROMPT]`, `[INST]`: Mistral since its v7 tokenizer, Devstral.
    Mistral,
}

/// The structure of one family, each a text that its tokenizer holds as special tokens (and the
/// plain role names and newlines between them).
pub(super) struct Marks {
    /// Before everything.
    pub begin: &'static str,
    /// `None`: the system text opens the first user turn.
    pub system: Option<&'static str>,
    pub close_system: &'static str,
    pub user: &'static str,
    pub tools: &'static str,
    /// Closes a user or tools message.
    pub close: &'static str,
    pub assistant: &'static str,
    /// Follows `assistant` where a turn is sampled: an empty thought.
    pub no_thoughts: &'static str,
    /// The token that ends the model's turn.
    pub end: &'static str,
    pub after_end: &'static str,
}

const CHATML: Marks = Marks {
    begin: "",
    system: Some("<|im_start|>system\n"),
    close_system: "<|im_end|>\n",
    user: "<|im_start|>user\n",
    tools: "<|im_start|>user\n",
    close: "<|im_end|>\n",
    assistant: "<|im_start|>assistant\n",
    no_thoughts: "",
    end: "<|im_end|>",
    after_end: "\n",
};

const CHATML_THINKING: Marks = Marks { no_thoughts: "<think>\n\n</think>\n\n", ..CHATML };

const LLAMA3: Marks = Marks {
    begin: "<|begin_of_text|>",
    system: Some("<|start_header_id|>system<|end_header_id|>\n\n"),
    close_system: "<|eot_id|>",
    user: "<|start_header_id|>user<|end_header_id|>\n\n",
    tools: "<|start_header_id|>ipython<|end_header_id|>\n\n",
    close: "<|eot_id|>",
    assistant: "<|start_header_id|>assistant<|end_header_id|>\n\n",
    no_thoughts: "",
    end: "<|eot_id|>",
    after_end: "",
};

const GEMMA: Marks = Marks {
    begin: "<bos>",
    system: None,
    close_system: "",
    user: "<start_of_turn>user\n",
    tools: "<start_of_turn>user\n",
    close: "<end_of_turn>\n",
    assistant: "<start_of_turn>model\n",
    no_thoughts: "",
    end: "<end_of_turn>",
    after_end: "\n",
};

const MISTRAL: Marks = Marks {
    begin: "<s>",
    system: Some("[SYSTEM_PROMPT]"),
    close_system: "[/SYSTEM_PROMPT]",
    user: "[INST]",
    tools: "[INST]",
    close: "[/INST]",
    assistant: "",
    no_thoughts: "",
    end: "</s>",
    after_end: "",
};

impl Family {
    /// The family a model's own chat template (Jinja, as stored in a GGUF's
    /// `tokenizer.chat_template`) belongs to; `None` when it is none that we render.
    pub fn detect(chat_template: &str) -> Option<Self> {
        let has = |mark: &str| chat_template.contains(mark);
        // Phi-4 borrows ChatML's markers with another separator.
        if has("<|im_start|>") && !has("<|im_sep|>") {
            let thinks =
                has("enable_thinking") || has("assistant\\n<think>") || has("assistant\n<think>");
            return Some(if thinks { Self::ChatMlThinking } else { Self::ChatMl });
        }
        [
            ("<|start_header_id|>", Self::Llama3),
            ("<start_of_turn>", Self::Gemma),
            ("[SYSTEM_PROMPT]", Self::Mistral),
        ]
        .into_iter()
        .find_map(|(mark, family)| has(mark).then_some(family))
    }

    pub(super) fn marks(self) -> &'static Marks {
        match self {
            Self::ChatMl => &CHATML,
            Self::ChatMlThinking => &CHATML_THINKING,
            Self::Llama3 => &LLAMA3,
            Self::Gemma => &GEMMA,
            Self::Mistral => &MISTRAL,
        }
    }
}
