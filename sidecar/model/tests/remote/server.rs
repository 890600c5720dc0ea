//! A model server on the loopback that plays what each test writes, byte for byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What the server does with one request.
#[derive(Clone)]
pub enum Step {
    Write(Vec<u8>),
    /// Says nothing more until the client goes; [`Server::client_left`] then returns.
    Hang,
}

pub type Reply = Vec<Step>;

#[derive(Debug, Clone)]
pub struct Request {
    pub line: String,
    pub headers: Vec<String>,
    pub body: Value,
}

pub struct Server {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    left: Receiver<()>,
}

impl Server {
    /// Answers the n-th POST with the n-th reply, and any GET with a list of one model, `stub`.
    pub fn start(replies: Vec<Reply>) -> Self {
        let models = json_reply(200, &json!({"data": [{"id": "stub", "max_model_len": 8192}]}));
        Self::with_models(models, replies)
    }

    pub fn with_models(models: Reply, replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (sender, left) = channel();
        let replies = Arc::new(Mutex::new(replies.into_iter()));
        let seen = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, replies) = (seen.clone(), replies.clone());
                let (sender, models) = (sender.clone(), models.clone());
                std::thread::spawn(move || {
                    let stream = stream.unwrap();
                    let Some(request) = read(&stream) else { return };
                    let reply = match request.line.starts_with("GET") {
                        true => models,
                        false => replies.lock().unwrap().next().unwrap_or_else(|| {
                            json_reply(418, &json!({"error": "the script has run out"}))
                        }),
                    };
                    seen.lock().unwrap().push(request);
                    play(stream, reply, &sender);
                });
            }
        });
        Self { url, requests, left }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub fn bodies(&self) -> Vec<Value> {
        self.requests().into_iter().map(|request| request.body).collect()
    }

    /// Waits until the client has closed a connection that hangs.
    pub fn client_left(&self) {
        self.left.recv_timeout(Duration::from_secs(10)).expect("the client keeps its connection");
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let line = head.remove(0);
    let length = head
        .iter()
        .find_map(|h| h.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Request { line, headers: head, body })
}

fn play(mut stream: TcpStream, reply: Reply, left: &Sender<()>) {
    for step in reply {
        match step {
            Step::Write(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            Step::Hang => {
                let _ = stream.read(&mut [0]);
                let _ = left.send(());
                return;
            }
        }
    }
}

pub fn raw(text: &str) -> Reply {
    vec![Step::Write(text.as_bytes().to_vec())]
}

pub fn response(status: u16, headers: &str, body: &str) -> Reply {
    raw(&format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    ))
}

pub fn json_reply(status: u16, body: &Value) -> Reply {
    response(status, "content-type: application/json\r\n", &body.to_string())
}

/// The head of a stream whose end is the end of the connection.
pub fn stream_head() -> Step {
    Step::Write(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n"
            .to_vec(),
    )
}

pub fn event(data: &Value) -> Step {
    Step::Write(format!("data: {data}\n\n").into_bytes())
}

pub fn done() -> Step {
    Step::Write(b"data: [DONE]\n\n".to_vec())
}

/// A whole stream of these deltas, ended properly.
pub fn stream(deltas: &[Value], finish: &str, usage: Option<Value>) -> Reply {
    let mut reply = vec![stream_head()];
    for delta in deltas {
        reply.push(event(
            &json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
        ));
    }
    reply.push(event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})));
    if let Some(usage) = usage {
        reply.push(event(&json!({"choices": [], "usage": usage})));
    }
    reply.push(done());
    reply
}

/// A stream that says `text`.
pub fn says(text: &str) -> Reply {
    stream(&[json!({"role": "assistant", "content": text})], "stop", None)
}
