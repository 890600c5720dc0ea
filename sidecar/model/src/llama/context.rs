//! A llama.cpp context: the safe edge of what would abort the process or race.
//!
//! Made over the sys crate because the abort callback needs the raw pointer, which the wrapper
//! keeps to itself.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use codegrep_agent::ModelError;
use codegrep_tree::Watch;
use llama_cpp_sys_2 as sys;

use super::weights::{Adapter, Weights};

/// Most tokens of a batch.
pub(super) const BATCH: usize = 512;

/// Sizes of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// Cached tokens, all sequences together.
    pub cells: u32,
    pub sequences: u32,
    pub threads: u32,
}

/// How a batch went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoded {
    Done,
    /// The cache has no room; nothing was evaluated.
    NoRoom,
    /// One of the watches stopped it; sequences of the batch may hold a part of it.
    Aborted,
}

pub(super) struct Context {
    ptr: NonNull<sys::llama_context>,
    vocabulary: usize,
    /// Rows of logits a batch may ask for.
    rows: usize,
    /// For each token of the last batch, whether it has logits.
    wanted: Vec<bool>,
    interrupt: Box<Interrupt>,
    /// The adapter that is set; held because llama.cpp holds it too.
    adapter: Option<Arc<Adapter>>,
    weights: Arc<Weights>,
}

// SAFETY: a context is bound to no thread; it is only not to be shared.
unsafe impl Send for Context {}

/// What llama.cpp asks between two operations.
struct Interrupt {
    watches: Mutex<Vec<Watch>>,
    closing: Arc<AtomicBool>,
}

impl Context {
    /// `closing` stops a running batch when it is set.
    pub fn new(
        weights: &Arc<Weights>,
        shape: Shape,
        closing: Arc<AtomicBool>,
    ) -> Result<Self, ModelError> {
        let rows = shape.sequences + 32;
        // SAFETY: the model is alive, and its lock keeps other contexts from being made now.
        let (ptr, vocabulary) = unsafe {
            let mut params = sys::llama_context_default_params();
            params.n_ctx = shape.cells;
            params.n_batch = BATCH as u32;
            // One physical batch for a logical one, so that an abort leaves nothing behind.
            params.n_ubatch = BATCH as u32;
            params.n_seq_max = shape.sequences;
            params.n_outputs_max = rows;
            params.n_threads = shape.threads as i32;
            params.n_threads_batch = shape.threads as i32;
            params.kv_unified = true;
            let _lock = weights.lock();
            let model = weights.pointer();
            let vocab = sys::llama_model_get_vocab(model);
            (sys::llama_init_from_model(model, params), sys::llama_vocab_n_tokens(vocab))
        };
        let ptr = NonNull::new(ptr).ok_or_else(|| ModelError::Unavailable {
            message: format!("no memory for a cache of {} tokens", shape.cells),
            hint: "ask for a smaller context".into(),
        })?;
        let interrupt = Box::new(Interrupt { watches: Mutex::default(), closing });
        // SAFETY: the box outlives the context and does not move.
        unsafe {
            sys::llama_set_abort_callback(
                ptr.as_ptr(),
                Some(interrupted),
                std::ptr::from_ref(&*interrupt).cast_mut().cast(),
            );
        }
        Ok(Self {
            ptr,
            vocabulary: usize::try_from(vocabulary).unwrap_or(0),
            rows: rows as usize,
            wanted: Vec::new(),
            interrupt,
            adapter: None,
            weights: Arc::clone(weights),
        })
    }

    /// Rows of logits a batch may ask for.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Evaluates `batch`, or stops when one of `watches` does. `Err` is a failure inside
    /// llama.cpp: what the sequences of the batch hold is then unknown.
    pub fn decode(&mut self, batch: &Batch, watches: Vec<Watch>) -> Result<Decoded, ModelError> {
        self.wanted.clear();
        let rows = batch.wanted.iter().filter(|wanted| **wanted != 0).count();
        if batch.is_empty() || batch.len() > BATCH || rows > self.rows {
            // Past these bounds llama.cpp aborts the process.
            return Err(failed(format!("a batch of {} tokens, {rows} rows", batch.len())));
        }
        if let Ok(mut slot) = self.interrupt.watches.lock() {
            *slot = watches;
        }
        let mut counts = vec![1_i32; batch.len()];
        let mut sequences: Vec<*mut i32> =
            batch.sequences.iter().map(|id| std::ptr::from_ref(id).cast_mut()).collect();
        let raw = sys::llama_batch {
            n_tokens: batch.len() as i32,
            token: batch.tokens.as_ptr().cast_mut(),
            embd: std::ptr::null_mut(),
            pos: batch.positions.as_ptr().cast_mut(),
            n_seq_id: counts.as_mut_ptr(),
            seq_id: sequences.as_mut_ptr(),
            logits: batch.wanted.as_ptr().cast_mut(),
        };
        let code = {
            let _lock = self.weights.lock();
            // SAFETY: every array has `n_tokens` elements and is only read.
            unsafe { sys::llama_decode(self.ptr.as_ptr(), raw) }
        };
        match code {
            0 => {
                self.wanted.extend(batch.wanted.iter().map(|wanted| *wanted != 0));
                Ok(Decoded::Done)
            }
            1 => Ok(Decoded::NoRoom),
            2 => Ok(Decoded::Aborted),
            code => Err(failed(format!("code {code}"))),
        }
    }

    /// The logits after token `index` of the last batch; `None` when they were not asked for.
    pub fn logits(&self, index: usize) -> Option<&[f32]> {
        if self.wanted.get(index) != Some(&true) {
            return None;
        }
        // SAFETY: the row exists, and lives until the next batch, which needs `&mut self`.
        unsafe {
            let row = sys::llama_get_logits_ith(self.ptr.as_ptr(), index as i32);
            (!row.is_null()).then(|| std::slice::from_raw_parts(row, self.vocabulary))
        }
    }

    /// Drops what `sequence` holds from position `from` on; `false` when this kind of model can
    /// only drop it whole.
    pub fn trim(&mut self, sequence: i32, from: usize) -> bool {
        // SAFETY: the context is alive; ids and positions out of range match nothing.
        unsafe { sys::llama_memory_seq_rm(self.memory(), sequence, from as i32, -1) }
    }

    /// Lets `to`, which must be empty, share the first `len` tokens of `from`.
    pub fn share(&mut self, from: i32, to: i32, len: usize) {
        // SAFETY: as in `trim`.
        unsafe { sys::llama_memory_seq_cp(self.memory(), from, to, 0, len as i32) }
    }

    /// Batches to come are evaluated with this adapter.
    pub fn set_adapter(&mut self, adapter: Option<&Arc<Adapter>>) -> Result<(), ModelError> {
        if adapter.map(|adapter| adapter.id) == self.adapter.as_ref().map(|adapter| adapter.id) {
            return Ok(());
        }
        let mut pointers: Vec<_> = adapter.iter().map(|adapter| adapter.pointer()).collect();
        let mut scales: Vec<_> = adapter.iter().map(|adapter| adapter.scale).collect();
        // SAFETY: both arrays have one element for each adapter, which `self` holds from here on.
        let code = unsafe {
            sys::llama_set_adapters_lora(
                self.ptr.as_ptr(),
                pointers.as_mut_ptr(),
                pointers.len(),
                scales.as_mut_ptr(),
            )
        };
        if code != 0 {
            return Err(failed(format!("code {code} from setting the adapter")));
        }
        self.adapter = adapter.cloned();
        Ok(())
    }

    fn memory(&self) -> sys::llama_memory_t {
        // SAFETY: the context is alive.
        unsafe { sys::llama_get_memory(self.ptr.as_ptr()) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made once, freed once, and before the model and the interrupt.
        unsafe { sys::llama_free(self.ptr.as_ptr()) }
    }
}

/// Tokens to evaluate together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    tokens: Vec<i32>,
    positions: Vec<i32>,
    sequences: Vec<i32>,
    wanted: Vec<i8>,
}

impl Batch {
    /// Adds a token and gives its index. `wanted`: whether its logits are needed.
    pub fn push(&mut self, token: i32, position: usize, sequence: i32, wanted: bool) -> usize {
        self.tokens.push(token);
        self.positions.push(position as i32);
        self.sequences.push(sequence);
        self.wanted.push(wanted.into());
        self.tokens.len() - 1
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }
}

/// Called by llama.cpp between operations; `true` ends the batch.
unsafe extern "C" fn interrupted(data: *mut std::ffi::c_void) -> bool {
    // SAFETY: `data` is the box that the context owns.
    let interrupt = unsafe { &*data.cast::<Interrupt>() };
    interrupt.closing.load(Ordering::Relaxed)
        || interrupt
            .watches
            .lock()
            .is_ok_and(|watches| watches.iter().any(|watch| watch.check().is_err()))
}

fn failed(what: String) -> ModelError {
    ModelError::Unavailable {
        message: format!("the model failed inside llama.cpp: {what}"),
        hint: "look at the log; if it happens again, report it with the model's name".into(),
    }
}
