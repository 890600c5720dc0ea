//! A model server on the loopback that misbehaves as told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// An HTTP server that gives every request to one function.
pub struct Endpoint {
    /// Such as `http://127.0.0.1:40231/v1`.
    pub url: String,
}

impl Endpoint {
    /// Reads each request to its end, then hands over the connection.
    pub fn new(reply: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let reply = reply.clone();
                thread::spawn(move || {
                    if read_request(&stream).is_some() {
                        reply(stream);
                    }
                });
            }
        });
        Self { url: format!("http://{address}/v1") }
    }

    /// Settings that call it `name`.
    pub fn config(&self, name: &str) -> String {
        format!("[endpoints.{name}]\nbase_url = '{}'\nmodel = 'any'\n", self.url)
    }

    /// Where nobody listens.
    pub fn refuses() -> Self {
        // Bound and dropped, so that the port was free a moment ago.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        Self { url: format!("http://{}/v1", listener.local_addr().expect("an address")) }
    }

    /// Takes requests and never answers.
    pub fn hangs() -> Self {
        Self::new(|_stream| thread::sleep(Duration::from_secs(3600)))
    }

    /// Closes the connection after every request.
    pub fn drops() -> Self {
        Self::new(drop)
    }

    /// Closes the connection in the middle of an answer.
    pub fn breaks_off() -> Self {
        Self::answers("200 OK", "text/event-stream", "data: {\"choices\":[{\"delta\":{\"cont")
    }

    /// Answers every request with this.
    pub fn answers(status: &str, kind: &str, body: &str) -> Self {
        let text =
            format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{body}");
        // A client that has gone is its own affair.
        Self::new(move |mut stream| drop(stream.write_all(text.as_bytes())))
    }
}

/// The body; `None` when the client went away.
fn read_request(stream: &TcpStream) -> Option<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}
