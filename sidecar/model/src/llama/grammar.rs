//! A grammar over the vocabulary, asked as little as possible: testing every token of a large
//! vocabulary takes 20 ms.

use std::sync::Arc;

use codegrep_agent::ModelError;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

use super::sample::Mask;
use super::weights::Weights;

/// The vocabulary by first byte, markers apart.
pub(super) struct Lexicon {
    /// For each byte the tokens that begin with it, shortest first.
    by_byte: Vec<Vec<i32>>,
    /// The token that is this byte alone.
    bytes: Vec<Option<i32>>,
    /// Tokens that end a turn.
    ends: Vec<i32>,
    /// For each token, whether it is a marker of some other kind, such as that of a role. Its text
    /// would pass a grammar and break the conversation.
    markers: Vec<bool>,
}

impl Lexicon {
    pub fn new(weights: &Weights) -> Self {
        let vocab = weights.model().vocab();
        let mut by_byte = vec![Vec::new(); 256];
        let mut bytes = vec![None; 256];
        let mut ends = Vec::new();
        let mut markers = Vec::new();
        for token in vocab.tokens() {
            let ends_turn = vocab.is_eog(token);
            let marker = vocab.is_control(token) && !ends_turn;
            markers.push(marker);
            if ends_turn {
                ends.push(token.0);
            } else if !marker {
                let piece = weights.piece(token.0);
                let Some(&first) = piece.first() else { continue };
                by_byte[first as usize].push((piece.len(), token.0));
                if piece.len() == 1 {
                    bytes[first as usize].get_or_insert(token.0);
                }
            }
        }
        let by_byte = by_byte
            .into_iter()
            .map(|mut tokens| {
                tokens.sort_unstable();
                tokens.into_iter().map(|(_, id)| id).collect()
            })
            .collect();
        Self { by_byte, bytes, ends, markers }
    }

    /// A byte with tokens but without one of its own cannot be probed.
    fn blind(&self, byte: usize) -> bool {
        self.bytes[byte].is_none() && !self.by_byte[byte].is_empty()
    }
}

/// A grammar and how far the text has come in it.
pub(super) struct Grammar {
    sampler: LlamaSampler,
    lexicon: Arc<Lexicon>,
}

impl Grammar {
    /// `gbnf` has the root rule `root`.
    pub fn new(weights: &Weights, lexicon: Arc<Lexicon>, gbnf: &str) -> Result<Self, ModelError> {
        let sampler = LlamaSampler::grammar(weights.model(), gbnf, "root")
            .map_err(|error| ModelError::Misuse(format!("the grammar is not valid: {error}")))?;
        Ok(Self { sampler, lexicon })
    }

    /// Moves on by a token that [`Mask::test`] allowed; a refused one would abort the process.
    pub fn accept(&mut self, token: i32) {
        self.sampler.accept(LlamaToken(token));
    }

    /// Whether exactly one token may come next.
    pub fn is_forced(&mut self) -> bool {
        let lexicon = Arc::clone(&self.lexicon);
        let (bytes, ends) = self.first_bytes();
        let mut found = ends.len();
        for byte in bytes {
            for some in lexicon.by_byte[byte].chunks(64) {
                found += self.test(some).into_iter().filter(|allowed| *allowed).count();
                if found > 1 {
                    return false;
                }
            }
        }
        found == 1
    }

    /// The bytes that the next token may begin with, and the end markers that may be it.
    fn first_bytes(&mut self) -> (Vec<usize>, Vec<i32>) {
        let lexicon = Arc::clone(&self.lexicon);
        let (bytes, mut ids): (Vec<usize>, Vec<i32>) = lexicon
            .bytes
            .iter()
            .enumerate()
            .filter_map(|(byte, token)| Some((byte, (*token)?)))
            .unzip();
        ids.extend(&lexicon.ends);
        let allowed = self.test(&ids);
        let (probed, ends) = allowed.split_at(bytes.len());
        let mut first: Vec<usize> = bytes
            .iter()
            .zip(probed)
            .filter(|(_, allowed)| **allowed)
            .map(|(byte, _)| *byte)
            .collect();
        first.extend((0..256).filter(|byte| lexicon.blind(*byte)));
        let ends =
            lexicon.ends.iter().zip(ends).filter(|(_, allowed)| **allowed).map(|(id, _)| *id);
        (first, ends.collect())
    }
}

impl Mask for Grammar {
    fn test(&mut self, ids: &[i32]) -> Vec<bool> {
        if ids.is_empty() {
            return Vec::new();
        }
        let data = ids.iter().map(|id| {
            let logit = if self.lexicon.markers[*id as usize] { f32::NEG_INFINITY } else { 0.0 };
            LlamaTokenData::new(LlamaToken(*id), logit, 0.0)
        });
        let mut array = LlamaTokenDataArray::from_iter(data, false);
        self.sampler.apply(&mut array);
        array.data.iter().map(|data| data.logit() == 0.0).collect()
    }

    fn all(&mut self) -> Vec<i32> {
        let lexicon = Arc::clone(&self.lexicon);
        let (bytes, mut ids) = self.first_bytes();
        for byte in bytes {
            let some = &lexicon.by_byte[byte];
            let allowed = self.test(some);
            ids.extend(some.iter().zip(allowed).filter(|(_, allowed)| *allowed).map(|(id, _)| *id));
        }
        ids.sort_unstable();
        ids
    }
}
