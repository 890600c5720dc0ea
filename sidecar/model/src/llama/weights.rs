//! The weights of a model and its adapters: loading, and what the vocabulary tells.

use std::ffi::CString;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use codegrep_agent::render::{Family, Piece, Renderer};
use codegrep_agent::{Message, ModelError};
use codegrep_tree::Watch;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_sys_2 as sys;

use super::cut;
use crate::gguf::Header;
use crate::{AdapterConfig, LlamaConfig};

/// A loaded model. Immutable but for its list of adapters.
pub(super) struct Weights {
    model: LlamaModel,
    arch: String,
    pub family: Family,
    /// The token that ends a turn of the model.
    pub end: i32,
    /// Tokens that open and close a turn of the model.
    pub frame: usize,
    /// llama.cpp keeps adapters in a list of the model that decoding and the making of contexts
    /// read without a lock: whoever does any of these holds this one.
    lock: Mutex<()>,
}

impl Weights {
    pub fn load(config: &LlamaConfig, watch: &Watch) -> Result<Self, ModelError> {
        let path = &config.path;
        let refuse = |reason: &str| unavailable(path, reason, "verify the file or get it again");
        let header = Header::read(path).map_err(|reason| refuse(&reason))?;
        header.check_model().map_err(|reason| refuse(&reason))?;
        let family = family(&header).ok_or_else(|| {
            unavailable(
                path,
                "its chat template is none that can be rendered",
                "use an instruct model of the Qwen, Llama 3, Gemma, Mistral or SmolLM2 families",
            )
        })?;

        let stopped = watch.clone();
        let params = LlamaModelParams::default()
            .with_n_gpu_layers(config.gpu_layers.min(i32::MAX as u32))
            // A mapped file that shrinks, as one that is downloaded anew does, kills the process.
            .with_use_mmap(false)
            .with_progress_callback(move |_| stopped.check().is_ok());
        let loaded = LlamaModel::load_from_file(backend()?, path, &params);
        watch.check()?;
        let model = loaded.map_err(|_| refuse("llama.cpp cannot load it"))?;
        // SAFETY: the pointer is that of a live model.
        let (decodes, encodes) = unsafe {
            let ptr = pointer(&model);
            (sys::llama_model_has_decoder(ptr), sys::llama_model_has_encoder(ptr))
        };
        if !decodes || encodes {
            return Err(refuse("not a model that writes text"));
        }
        let arch = header.text("general.architecture").unwrap_or_default().to_owned();
        let mut weights = Self { model, arch, family, end: 0, frame: 0, lock: Mutex::new(()) };
        weights
            .frame_turns()
            .ok_or_else(|| refuse("its vocabulary lacks the markers of its chat template"))?;
        Ok(weights)
    }

    fn frame_turns(&mut self) -> Option<()> {
        let mut renderer = Renderer::new(self.family);
        let mut end = Vec::new();
        self.tokenize(&[Piece::Special(renderer.end_marker().to_owned())], &mut end);
        let &[end] = end.as_slice() else { return None };
        renderer.push(&[Message::User(String::new())]).ok()?;
        let mut frame = Vec::new();
        self.tokenize(&renderer.start_turn().ok()?, &mut frame);
        self.end = end;
        // The end marker, and what stands between it and the next message.
        self.frame = frame.len() + 2;
        self.is_end(end).then_some(())
    }

    /// Valid as long as `self`.
    pub fn pointer(&self) -> *mut sys::llama_model {
        pointer(&self.model)
    }

    pub fn model(&self) -> &LlamaModel {
        &self.model
    }

    pub fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a part of a cached sequence can be dropped or shared.
    pub fn can_trim(&self) -> bool {
        !self.model.is_recurrent() && !self.model.is_hybrid()
    }

    /// Bytes that one token takes in the cache, as f16.
    pub fn cache_bytes_per_token(&self) -> u64 {
        let heads = u64::from(self.model.n_head()).max(1);
        let width = u64::try_from(self.model.n_embd()).unwrap_or(0) / heads;
        u64::from(self.model.n_layer()) * u64::from(self.model.n_head_kv()) * width * 2 * 2
    }

    /// Appends the tokens of `pieces` to `tokens`.
    pub fn tokenize(&self, pieces: &[Piece], tokens: &mut Vec<i32>) {
        for piece in pieces {
            let (text, special) = match piece {
                Piece::Special(text) => (text, true),
                Piece::Text(text) => (text, false),
            };
            for stretch in cut::long_runs(text) {
                let found = self.model.vocab().tokenize(stretch.as_bytes(), false, special);
                tokens.extend(found.iter().map(|token| token.0));
            }
        }
    }

    /// The bytes of a token, markers included.
    pub fn piece(&self, token: i32) -> Vec<u8> {
        self.model.vocab().token_to_piece(LlamaToken(token), true, None)
    }

    /// Whether the token ends a turn.
    pub fn is_end(&self, token: i32) -> bool {
        self.model.vocab().is_eog(LlamaToken(token))
    }
}

/// A LoRA adapter, loaded beside a model.
pub(super) struct Adapter {
    ptr: NonNull<sys::llama_adapter_lora>,
    pub name: String,
    pub scale: f32,
    /// Never given twice: what was cached with one adapter is no other's.
    pub id: u64,
    weights: Arc<Weights>,
}

// SAFETY: an adapter is only read after loading; freeing it takes the lock of its model.
unsafe impl Send for Adapter {}
// SAFETY: as above.
unsafe impl Sync for Adapter {}

impl Adapter {
    pub fn load(weights: &Arc<Weights>, config: &AdapterConfig) -> Result<Self, ModelError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let path = &config.path;
        let refuse = |reason: &str| {
            unavailable(path, reason, "use an adapter that was trained on this very model")
        };
        if !config.scale.is_finite() {
            return Err(refuse("its scale is not a finite number"));
        }
        let header = Header::read(path).map_err(|reason| refuse(&reason))?;
        header.check_adapter(&weights.arch).map_err(|reason| refuse(&reason))?;
        let c_path = c_path(path)?;
        let ptr = {
            let _lock = weights.lock();
            // SAFETY: the model is alive and its list of adapters is ours to change.
            unsafe { sys::llama_adapter_lora_init(weights.pointer(), c_path.as_ptr()) }
        };
        let ptr = NonNull::new(ptr).ok_or_else(|| refuse("llama.cpp cannot load it"))?;
        Ok(Self {
            ptr,
            name: stem(path),
            scale: config.scale,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            weights: Arc::clone(weights),
        })
    }

    pub fn pointer(&self) -> *mut sys::llama_adapter_lora {
        self.ptr.as_ptr()
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _lock = self.weights.lock();
        // SAFETY: no context uses it any more: each holds the adapter it is set to.
        unsafe { sys::llama_adapter_lora_free(self.ptr.as_ptr()) }
    }
}

/// The name of a file of weights: short, and what people type.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

pub(super) fn unavailable(path: &Path, reason: &str, hint: &str) -> ModelError {
    ModelError::Unavailable {
        message: format!("cannot use {}: {reason}", path.display()),
        hint: hint.into(),
    }
}

fn family(header: &Header) -> Option<Family> {
    header.text("tokenizer.chat_template").and_then(Family::detect)
}

fn c_path(path: &Path) -> Result<CString, ModelError> {
    path.to_str()
        .and_then(|path| CString::new(path).ok())
        .ok_or_else(|| unavailable(path, "its name is not UTF-8", "rename the file or its folder"))
}

fn pointer(model: &LlamaModel) -> *mut sys::llama_model {
    const {
        assert!(size_of::<LlamaModel>() == size_of::<*mut sys::llama_model>());
    }
    // SAFETY: `LlamaModel` is transparent over a non-null pointer; it offers no way to have it.
    unsafe { std::ptr::from_ref(model).cast::<*mut sys::llama_model>().read() }
}

/// llama.cpp is set up once a process and never taken down.
fn backend() -> Result<&'static LlamaBackend, ModelError> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    BACKEND
        .get_or_init(|| {
            if let Some(missing) = missing_instructions() {
                return Err(format!("this build needs a processor with {missing}"));
            }
            llama_cpp_2::send_logs_to_tracing(llama_cpp_2::LogOptions::default());
            LlamaBackend::init().map_err(|error| error.to_string())
        })
        .as_ref()
        .map_err(|reason| ModelError::Unavailable {
            message: format!("llama.cpp does not start: {reason}"),
            hint: "use an OpenAI-compatible endpoint, or build on this machine".into(),
        })
}

/// What llama.cpp was compiled to use and this processor does not have: it would die on it.
fn missing_instructions() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: these only tell how llama.cpp was compiled.
        let needs = unsafe {
            [
                (sys::ggml_cpu_has_avx2(), is_x86_feature_detected!("avx2"), "AVX2"),
                (sys::ggml_cpu_has_fma(), is_x86_feature_detected!("fma"), "FMA"),
                (sys::ggml_cpu_has_f16c(), is_x86_feature_detected!("f16c"), "F16C"),
                (sys::ggml_cpu_has_bmi2(), is_x86_feature_detected!("bmi2"), "BMI2"),
            ]
        };
        needs.iter().find(|(needed, there, _)| *needed != 0 && !there).map(|need| need.2)
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}
