//! A hub on the loopback that behaves like Hugging Face's: it describes a file and redirects to
//! another origin for its bytes.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// What the hub has and how it fails.
#[derive(Clone, Default)]
pub struct Plan {
    pub bytes: Vec<u8>,
    /// Promised instead of the true SHA-256.
    pub etag: Option<String>,
    /// The n-th transfer breaks off after so many bytes.
    pub cuts: Vec<usize>,
    /// Sends the file from the start whatever is asked for.
    pub cannot_resume: bool,
    /// Answers every request for the file with this status, and this `x-error-code`.
    pub refuses: Option<(u16, &'static str)>,
}

/// A request: its first line, range, and whether it came with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub line: String,
    pub range: Option<String>,
    pub token: bool,
}

pub struct StubHub {
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl StubHub {
    pub fn start(plan: Plan) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let cuts = Arc::new(Mutex::new(plan.cuts.clone().into_iter()));
        let files = {
            let plan = plan.clone();
            serve(seen.clone(), move |request, stream| {
                let cut = cuts.lock().unwrap().next();
                send(request, stream, &plan, cut)
            })
        };
        let url =
            serve(seen.clone(), move |request, stream| describe(request, stream, &plan, &files));
        Self { url, seen }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The ranges of the transfers so far.
    pub fn ranges(&self) -> Vec<Option<String>> {
        self.seen().into_iter().filter(|s| s.line.contains(" /file ")).map(|s| s.range).collect()
    }
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn serve(
    seen: Arc<Mutex<Vec<Seen>>>,
    answer: impl Fn(&Seen, &mut TcpStream) + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(request) = read(&stream) else { continue };
            seen.lock().unwrap().push(request.clone());
            answer(&request, &mut stream);
        }
    });
    url
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut lines = BufReader::new(stream).lines();
    let line = lines.next()?.ok()?;
    let mut request = Seen { line, range: None, token: false };
    for line in lines {
        let line = line.ok()?;
        let lower = line.to_ascii_lowercase();
        if line.is_empty() {
            return Some(request);
        } else if let Some(range) = lower.strip_prefix("range: ") {
            request.range = Some(range.to_owned());
        } else if lower == "authorization: bearer hf_secret" {
            request.token = true;
        }
    }
    None
}

fn describe(request: &Seen, stream: &mut TcpStream, plan: &Plan, files: &str) {
    let head = if request.line.contains("/api/models/owner/repo ") {
        let body = r#"{"siblings":[{"rfilename":"README.md"},{"rfilename":"tiny.gguf"}]}"#;
        format!("200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    } else if let Some((status, code)) = plan.refuses {
        format!(
            "{status} X\r\nx-error-code: {code}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    } else if request.line.contains("/owner/repo/resolve/") && request.line.contains("/tiny.gguf ")
    {
        let etag = plan.etag.clone().unwrap_or_else(|| sha256(&plan.bytes));
        format!(
            "302 Found\r\nx-linked-etag: \"{etag}\"\r\nx-linked-size: {}\r\nx-repo-commit: {COMMIT}\r\n\
             location: {files}/file\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            plan.bytes.len()
        )
    } else {
        "404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned()
    };
    let _ = stream.write_all(format!("HTTP/1.1 {head}").as_bytes());
}

fn send(request: &Seen, stream: &mut TcpStream, plan: &Plan, cut: Option<usize>) {
    let asked = request
        .range
        .as_deref()
        .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    let start = asked.filter(|_| !plan.cannot_resume).unwrap_or(0);
    let all = plan.bytes.len();
    if start >= all {
        let _ =
            stream.write_all(b"HTTP/1.1 416 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        return;
    }
    let status = match start {
        0 => "200 OK\r\n".to_owned(),
        _ => format!("206 Partial Content\r\ncontent-range: bytes {start}-{}/{all}\r\n", all - 1),
    };
    let head =
        format!("HTTP/1.1 {status}content-length: {}\r\nconnection: close\r\n\r\n", all - start);
    let end = cut.map_or(all, |cut| (start + cut).min(all));
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&plan.bytes[start..end]);
}
