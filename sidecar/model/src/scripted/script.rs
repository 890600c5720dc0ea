use std::time::Duration;

use codegrep_agent::ModelError;

pub(super) const HINT: &str =
    "a script is a text file of `--- turn` lines, each followed by what the model says";

#[derive(Debug)]
pub(super) struct Script {
    pub name: String,
    pub capacity: u32,
    pub parts: Vec<Part>,
}

#[derive(Debug)]
pub(super) enum Part {
    Turn(Scene),
    Score(Vec<f64>),
}

/// A turn and what must hold before it is played.
#[derive(Debug, Default)]
pub(super) struct Scene {
    pub expect: Vec<String>,
    pub refuse: Vec<String>,
    pub asked: Option<String>,
    pub unconstrained: bool,
    pub delay: Duration,
    pub fail: Option<String>,
    pub text: String,
}

pub(super) fn parse(name: &str, text: &str) -> Result<Script, ModelError> {
    let text = text.replace("\r\n", "\n");
    let mut script = Script { name: name.to_owned(), capacity: 32_768, parts: Vec::new() };
    // A marker is a whole line; the first part holds the settings.
    let marked = format!("\n{text}");
    let mut parts = marked.split("\n--- ");
    for line in parts.next().unwrap_or("").lines().map(str::trim) {
        match line.split_once(": ") {
            _ if line.is_empty() || line.starts_with('#') => {}
            Some(("name", name)) => script.name = name.to_owned(),
            Some(("capacity", tokens)) => script.capacity = number(tokens, line)?,
            _ => return Err(unreadable(&format!("`{line}` is no setting (name, capacity)"))),
        }
    }
    for part in parts {
        let (kind, body) = part.split_once('\n').unwrap_or((part, ""));
        script.parts.push(match kind.trim() {
            "turn" => Part::Turn(scene(body)?),
            "score" => Part::Score(
                body.split_whitespace().map(|n| number(n, body)).collect::<Result<_, _>>()?,
            ),
            kind => return Err(unreadable(&format!("`--- {kind}` is neither turn nor score"))),
        });
    }
    if script.parts.is_empty() {
        return Err(unreadable("there is no `--- turn` in it"));
    }
    Ok(script)
}

fn scene(body: &str) -> Result<Scene, ModelError> {
    let mut scene = Scene::default();
    let mut rest = body;
    let mut directives = false;
    loop {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        match line.split_once(": ") {
            Some(("expect", text)) => scene.expect.push(text.to_owned()),
            Some(("refuse", text)) => scene.refuse.push(text.to_owned()),
            Some(("asked", what)) => scene.asked = Some(what.to_owned()),
            Some(("fail", message)) => scene.fail = Some(message.to_owned()),
            Some(("delay", time)) => {
                let millis = time.strip_suffix("ms").unwrap_or(time);
                scene.delay = Duration::from_millis(number(millis, line)?);
            }
            _ if line == "unconstrained" => scene.unconstrained = true,
            _ if line.is_empty() && directives => {
                rest = after;
                break;
            }
            _ => break,
        }
        directives = true;
        rest = after;
    }
    scene.text = rest.strip_suffix('\n').unwrap_or(rest).to_owned();
    Ok(scene)
}

fn number<T: std::str::FromStr>(text: &str, line: &str) -> Result<T, ModelError> {
    text.trim().parse().map_err(|_| unreadable(&format!("`{text}` in `{line}` is no number")))
}

fn unreadable(why: &str) -> ModelError {
    ModelError::Unavailable {
        message: format!("the script cannot be read: {why}"),
        hint: HINT.to_owned(),
    }
}
