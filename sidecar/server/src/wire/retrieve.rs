use std::time::Duration;

use codegrep_agent::{self as agent, Outcome, StopReason};
use codegrep_index as index;
use codegrep_plugin_sdk::*;
use codegrep_rank as rank;

use crate::core::Workspace;

/// An outcome as the result of `retrieve`; the work took `total`.
pub fn response(
    outcome: Outcome,
    workspace: &Workspace,
    profile: &str,
    total: Duration,
    warnings: Vec<String>,
) -> RetrieveResponse {
    let episode = outcome.episode.as_ref();
    let (input, output) = episode.map_or((0, 0), agent::Episode::tokens);
    RetrieveResponse {
        turns: episode.map_or(0, |episode| episode.turns().count() as u32),
        tool_calls: episode.map_or(0, |episode| episode.tool_calls() as u32),
        tokens: Tokens { input: input.into(), output: output.into() },
        files: outcome.files.into_iter().map(|found| file(found, workspace)).collect(),
        verdict: match outcome.verdict {
            rank::Verdict::Inject { reason } => Verdict { kind: VerdictKind::Inject, reason },
            rank::Verdict::Abstain { reason } => Verdict { kind: VerdictKind::Abstain, reason },
        },
        injection: outcome.injection,
        engine: match outcome.engine {
            agent::Engine::Lexical => lexical(profile),
            agent::Engine::Agent { model, profile, rules_hash } => Engine {
                kind: EngineKind::Agent,
                model: Some(model.name),
                adapter: model.adapter,
                profile,
                rules_hash: Some(rules_hash),
            },
        },
        stop: stop(outcome.stop),
        ms: Ms {
            index: ms(outcome.took.index),
            rank: ms(outcome.took.rank),
            model: ms(outcome.took.model),
            total: ms(total),
        },
        index: IndexInfo {
            state: state(outcome.index.state),
            files: outcome.index.files as u64,
            git_signals: outcome.index.git_signals,
        },
        reproducible: outcome.reproducible,
        warnings: outcome.warnings.into_iter().chain(warnings).collect(),
    }
}

/// The result where the time budget ended before there was any ranking.
pub fn late(profile: &str) -> RetrieveResponse {
    RetrieveResponse {
        files: Vec::new(),
        verdict: Verdict {
            kind: VerdictKind::Abstain,
            reason: "the time budget ended before any file was ranked".to_owned(),
        },
        injection: None,
        engine: lexical(profile),
        stop: Stop::Deadline,
        turns: 0,
        tool_calls: 0,
        tokens: Tokens::default(),
        ms: Ms::default(),
        index: IndexInfo { state: IndexState::Partial, files: 0, git_signals: false },
        reproducible: false,
        warnings: vec!["raise the time budget: a first request has to read the repository".into()],
    }
}

/// Whether an index holds everything.
pub fn state(state: index::IndexState) -> IndexState {
    match state {
        index::IndexState::Ready => IndexState::Ready,
        index::IndexState::Partial => IndexState::Partial,
        index::IndexState::Stale => IndexState::Stale,
    }
}

fn lexical(profile: &str) -> Engine {
    Engine {
        kind: EngineKind::Lexical,
        model: None,
        adapter: None,
        profile: profile.to_owned(),
        rules_hash: None,
    }
}

fn file(found: rank::Candidate, workspace: &Workspace) -> RetrievedFile {
    let FileRef { root, path } = workspace.locate(&found.path);
    RetrievedFile {
        root,
        path,
        line_ranges: found.line_ranges,
        // Four digits: the rest is noise that would differ between machines.
        probability: (found.probability * 1e4).round() / 1e4,
        source: match found.source {
            rank::Source::Lexical => Source::Lexical,
            rank::Source::Agent => Source::Agent,
            rank::Source::Hybrid => Source::Hybrid,
        },
        evidence: found.evidence.into_iter().map(evidence).collect(),
    }
}

fn evidence(line: rank::Evidence) -> Evidence {
    let kind = match line.kind {
        rank::EvidenceKind::Definition => EvidenceKind::Definition,
        rank::EvidenceKind::Path => EvidenceKind::Path,
        rank::EvidenceKind::Trace => EvidenceKind::Trace,
        rank::EvidenceKind::Match => EvidenceKind::Match,
        rank::EvidenceKind::String => EvidenceKind::String,
        rank::EvidenceKind::Import => EvidenceKind::Import,
        rank::EvidenceKind::Test => EvidenceKind::Test,
        rank::EvidenceKind::History => EvidenceKind::History,
        rank::EvidenceKind::Read => EvidenceKind::Read,
    };
    Evidence { line: line.line, text: line.text, kind }
}

fn stop(reason: StopReason) -> Stop {
    match reason {
        StopReason::Answered => Stop::Answered,
        StopReason::NoAnswer => Stop::NoAnswer,
        StopReason::Deadline => Stop::Deadline,
        StopReason::Cancelled => Stop::Cancelled,
        StopReason::Turns => Stop::Turns,
        StopReason::Tokens => Stop::Tokens,
        StopReason::ContextFull => Stop::ContextFull,
        StopReason::ModelError => Stop::ModelError,
        StopReason::NoModel => Stop::NoModel,
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
