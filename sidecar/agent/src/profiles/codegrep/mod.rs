//! The paper's profile: grep, glob and read in Qwen's call syntax, an answer in JSON (§3.2, A.1).
//! The prompts are this project's, the paper gives none.

mod example;

use crate::chat::{Constraint, Message, ToolSpec};
use crate::limits::Limits;
use crate::profiles::{Profile, Said, Step};
use crate::syntax::{self, grammar};
use crate::tools;

/// See the module.
pub struct CodeGrep {
    limits: Limits,
    tools: Vec<ToolSpec>,
    system: String,
    example: Vec<Message>,
    /// Grammars of the first exploration turns, of those that may answer, and of the answer.
    calls: String,
    calls_or_answer: String,
    answer: String,
}

const SYSTEM: &str = include_str!("system.txt");
const EXAMPLE: &str = include_str!("example.txt");
const ASK_ANSWER: &str = include_str!("answer.txt");
const CORRECT_EXPLORE: &str = include_str!("correct_explore.txt");
const CORRECT_ANSWER: &str = include_str!("correct_answer.txt");

impl CodeGrep {
    pub fn new(limits: Limits) -> Self {
        let tools = tools::specs(&limits.tools);
        let (calls, files) = (limits.tools.calls_a_turn, limits.answer_files);
        Self {
            system: SYSTEM
                .trim_end()
                .replace("{calls}", &calls.to_string())
                .replace("{turns}", &limits.explore_turns.to_string())
                .replace("{files}", &files.to_string()),
            example: example::messages(EXAMPLE),
            calls: grammar::calls(&tools, calls, None),
            calls_or_answer: grammar::calls(&tools, calls, Some(files)),
            answer: grammar::answer(files),
            tools,
            limits,
        }
    }
}

impl Default for CodeGrep {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Profile for CodeGrep {
    fn name(&self) -> &'static str {
        "codegrep"
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn opening(&self, task: &str, context: &str) -> Vec<Message> {
        let mut messages =
            vec![Message::System { text: self.system.clone(), tools: self.tools.clone() }];
        messages.extend(self.example.iter().cloned());
        let mut task = format!("Task:\n{}", task.trim());
        if !context.is_empty() {
            task.push_str("\n\nA word search ranks these files first:\n");
            task.push_str(context.trim_end());
        }
        messages.push(Message::User(task));
        messages
    }

    fn constraint(&self, step: Step) -> Constraint {
        let max = self.limits.tools.calls_a_turn;
        match step {
            Step::Explore { turn } if turn < self.limits.answer_from_turn => {
                Constraint::Calls { max, or_answer: false, grammar: self.calls.clone() }
            }
            Step::Explore { .. } => {
                Constraint::Calls { max, or_answer: true, grammar: self.calls_or_answer.clone() }
            }
            Step::Answer => Constraint::Answer {
                grammar: self.answer.clone(),
                schema: grammar::answer_schema(self.limits.answer_files),
            },
        }
    }

    fn read(&self, text: &str, step: Step) -> Said {
        let answer = || syntax::answer(text).map(Said::Answer);
        let calls = || Some(syntax::calls(text)).filter(|calls| !calls.is_empty()).map(Said::Calls);
        let said = match step {
            Step::Explore { .. } => calls().or_else(answer),
            Step::Answer => answer().or_else(calls),
        };
        said.unwrap_or(Said::Malformed)
    }

    fn ask_answer(&self) -> Option<&str> {
        Some(ASK_ANSWER.trim_end())
    }

    fn correction(&self, step: Step) -> &str {
        match step {
            Step::Explore { .. } => CORRECT_EXPLORE.trim_end(),
            Step::Answer => CORRECT_ANSWER.trim_end(),
        }
    }
}
