use std::io::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use codegrep_agent::ModelError;
use codegrep_model::remote::{RemoteConfig, probe};
use codegrep_tree::{Stop, Watch};
use serde_json::json;

use crate::server::{
    Reply, Server, Step, done, event, json_reply, raw, response, says, stream, stream_head,
};
use crate::{asked, calls};

/// The error of a turn against a server that plays `replies`, its address written `SERVER`.
fn error(config: RemoteConfig) -> (String, String) {
    let origin = config.base_url.trim_end_matches("/v1").to_owned();
    let error = asked(config).turn(&calls(), &Watch::idle()).unwrap_err();
    (error.to_string().replace(&origin, "SERVER"), error.hint().to_owned())
}

fn once(server: &Server) -> RemoteConfig {
    RemoteConfig { retries: 0, ..RemoteConfig::new(&server.url, "stub") }
}

fn error_of(replies: Vec<Reply>) -> (String, String) {
    error(once(&Server::start(replies)))
}

const LOG: &str = "look into the server's own log";
const PLACE: &str = "check base_url: it should be an OpenAI-compatible API and usually ends in /v1";

fn said(message: &str, hint: &str) -> (String, String) {
    (message.to_owned(), hint.to_owned())
}

#[test]
fn nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = RemoteConfig::new(format!("http://127.0.0.1:{port}/v1"), "stub");
    let started = Instant::now();
    assert_eq!(
        error(config),
        said(
            "SERVER refused the connection (tried 3 times)",
            "start the model server, or correct base_url"
        )
    );
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_host_that_does_not_exist() {
    let config =
        RemoteConfig { retries: 0, ..RemoteConfig::new("http://no-such-host.invalid/v1", "m") };
    assert_eq!(
        error(config),
        said("no address is known for SERVER", "start the model server, or correct base_url")
    );
}

#[test]
fn tls_to_a_server_without() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = RemoteConfig {
        retries: 0,
        ..RemoteConfig::new(format!("https://{}/v1", listener.local_addr().unwrap()), "stub")
    };
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).ok();
    });
    assert_eq!(
        error(config),
        said("SERVER does not speak TLS", "use http:// if the server is meant to speak plain HTTP")
    );
    server.join().unwrap();
}

#[test]
fn a_key_that_is_refused_never_shows() {
    let reply = json_reply(401, &json!({"error": {"message": "Incorrect API key provided"}}));
    let server = Server::start(vec![reply.clone(), reply]);
    let secret = RemoteConfig { api_key: Some(String::from("sk-secret").into()), ..once(&server) };
    assert_eq!(
        error(secret),
        said(
            "SERVER answered 401: Incorrect API key provided",
            "check the key in the configuration"
        )
    );
    assert_eq!(
        error(once(&server)),
        said(
            "SERVER answered 401: Incorrect API key provided",
            "it wants a key: name its environment variable in `api_key_env`"
        )
    );
}

#[test]
fn a_model_that_is_not_there() {
    let missing = json_reply(404, &json!({"error": {"message": "The model `x` does not exist."}}));
    let server = Server::start(vec![missing]);
    let config = RemoteConfig { model: "x".into(), ..once(&server) };
    assert_eq!(error(config), said("SERVER does not offer the model x", "it offers: stub"));
}

#[test]
fn a_path_that_is_not_there() {
    let missing = response(404, "content-type: text/html\r\n", "<html>404</html>");
    let server = Server::with_models(missing.clone(), vec![missing]);
    assert_eq!(error(once(&server)), said("SERVER has no chat completions at /v1", PLACE));
}

#[test]
fn a_redirect_is_not_followed() {
    let reply = response(302, "location: http://elsewhere.example/v1\r\n", "");
    assert_eq!(
        error_of(vec![reply]),
        said(
            "SERVER redirects to http://elsewhere.example/v1",
            "set base_url to the address it redirects to, if you trust it: redirects are not \
             followed, as they would take the key along"
        )
    );
}

#[test]
fn a_web_page() {
    let page = response(200, "content-type: text/html\r\n", "<!DOCTYPE html><p>Sign in</p>");
    assert_eq!(error_of(vec![page]), said("SERVER answered a web page instead of JSON", PLACE));
}

#[test]
fn nonsense_instead_of_a_completion() {
    let reply = response(200, "content-type: application/json\r\n", "{\"choices\": [");
    assert_eq!(
        error_of(vec![reply]),
        said("SERVER answered `{\"choices\": [` instead of JSON", LOG)
    );
    assert_eq!(
        error_of(vec![response(200, "", "")]),
        said("SERVER answered nothing instead of JSON", LOG)
    );
}

#[test]
fn nonsense_in_a_stream() {
    let garbled = vec![stream_head(), Step::Write(b"data: \xff\xfe{]\n\n".to_vec()), done()];
    assert_eq!(
        error_of(vec![garbled]),
        said("SERVER streamed `\u{fffd}\u{fffd}{]` instead of JSON", LOG)
    );
}

#[test]
fn nonsense_instead_of_http() {
    let (message, _) = error_of(vec![raw("SSH-2.0-OpenSSH_9.2\r\n")]);
    assert_eq!(message, "no answer from SERVER: invalid HTTP version parsed");
}

#[test]
fn no_choice_at_all() {
    let empty = vec![stream_head(), event(&json!({"choices": []})), done()];
    let hint = "look into the server's own log, or try another model there";
    assert_eq!(error_of(vec![empty]), said("SERVER answered without any choice", hint));
    let empty = json_reply(200, &json!({"choices": []}));
    assert_eq!(error_of(vec![empty]), said("SERVER answered without any choice", hint));
}

#[test]
fn nothing_but_thoughts() {
    for delta in [
        json!({"content": null, "reasoning_content": "Let me see"}),
        json!({"content": "", "reasoning": "Let me see"}),
        json!({"content": "<think>Let me see"}),
    ] {
        let (message, hint) = error_of(vec![stream(&[delta], "length", None)]);
        assert_eq!(message, "the model at SERVER used up its tokens on thoughts");
        assert!(hint.contains("enable_thinking = false"), "{hint}");
    }
}

#[test]
fn an_error_inside_the_stream() {
    let failed = vec![
        stream_head(),
        event(&json!({"choices": [{"delta": {"content": "a"}}]})),
        event(&json!({"error": {"message": "CUDA out of memory"}})),
    ];
    assert_eq!(
        error_of(vec![failed]),
        said("SERVER failed while it answered: CUDA out of memory", LOG)
    );
}

#[test]
fn an_answer_that_breaks_off() {
    let said_some = event(&json!({"choices": [{"delta": {"content": "abc"}}]}));
    let closed = vec![stream_head(), said_some.clone()];
    let message = "SERVER closed the connection in the middle of its answer, after 3 bytes of text";
    assert_eq!(error_of(vec![closed]), said(message, LOG));
    // Cut within a chunk of the transfer, which is an error of the transport.
    let mut cut = raw(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    let Step::Write(bytes) = &said_some else { unreachable!() };
    cut.push(Step::Write(format!("{:x}\r\n", bytes.len()).into_bytes()));
    cut.push(said_some.clone());
    cut.push(Step::Write(b"\r\nff\r\ndata: {".to_vec()));
    assert_eq!(error_of(vec![cut]), said(message, LOG));
}

#[test]
fn an_answer_without_end() {
    let line = format!("data: {}\n", "x".repeat(1 << 20)).into_bytes();
    let mut flood = vec![stream_head()];
    // No newline for long: nothing to parse, only to hold.
    flood.extend(std::iter::repeat_n(Step::Write(vec![b':'; 1 << 20]), 17));
    flood.push(Step::Write(line));
    assert_eq!(error_of(vec![flood]), said("SERVER answered more than 16 MiB", LOG));
}

#[test]
fn a_server_that_hangs() {
    let begun = event(&json!({"choices": [{"delta": {"content": "a"}}]}));
    let alive = Step::Write(b": ping\n\n".to_vec());
    let hint = "look whether the server is stuck or overloaded, or allow more time in the settings";
    for (reply, what) in [
        (vec![Step::Hang], "did not begin to answer for 0.2 s"),
        (vec![stream_head(), Step::Hang], "did not begin to answer for 0.2 s"),
        (vec![stream_head(), alive, Step::Hang], "did not begin to answer for 0.2 s"),
        (vec![stream_head(), begun, Step::Hang], "stopped in the middle of its answer for 0.1 s"),
    ] {
        let server = Server::start(vec![reply]);
        let config =
            RemoteConfig { first_token_timeout_ms: 200, idle_timeout_ms: 100, ..once(&server) };
        assert_eq!(error(config), said(&format!("SERVER {what}"), hint));
        server.client_left();
    }
}

#[test]
fn a_cancel_drops_the_connection_at_once() {
    let server = Server::start(vec![vec![stream_head(), Step::Hang]]);
    let mut chat = asked(RemoteConfig::new(&server.url, "stub"));
    let watch = Watch::idle();
    let canceller = watch.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        canceller.cancel();
        Instant::now()
    });
    let error = chat.turn(&calls(), &watch).unwrap_err();
    let cancelled = thread.join().unwrap();
    assert!(matches!(error, ModelError::Stopped(Stop::Cancelled)), "{error}");
    assert!(cancelled.elapsed() < Duration::from_millis(500), "{:?}", cancelled.elapsed());
    server.client_left();
}

#[test]
fn a_turn_ends_with_the_deadline() {
    let server = Server::start(vec![vec![Step::Hang], says("later")]);
    let mut chat = asked(RemoteConfig::new(&server.url, "stub"));
    let watch = Watch::new(Some(Instant::now() + Duration::from_millis(200)), None);
    let error = chat.turn(&calls(), &watch).unwrap_err();
    assert!(matches!(error, ModelError::Stopped(Stop::Deadline)), "{error}");
    server.client_left();
    // Nothing was appended: the same turn can be asked for again.
    assert_eq!(chat.turn(&calls(), &Watch::idle()).unwrap().text, "later");
}

#[test]
fn what_may_pass_is_tried_again() {
    let busy = |status, headers| response(status, headers, "{\"error\":\"busy\"}");
    let server = Server::start(vec![
        busy(429, "retry-after: 0\r\n"),
        busy(503, ""),
        vec![],
        vec![stream_head(), event(&json!({"choices": [{"delta": {"content": "lost"}}]}))],
        says("at last"),
    ]);
    let turn =
        asked(RemoteConfig::new(&server.url, "stub")).turn(&calls(), &Watch::idle()).unwrap();
    assert_eq!(turn.text, "at last");
    assert_eq!(server.requests().len(), 5);
}

#[test]
fn patience_ends_with_the_attempts() {
    let server = Server::start(vec![json_reply(503, &json!({"error": "Loading model"})); 2]);
    let config = RemoteConfig { retries: 1, ..once(&server) };
    assert_eq!(error(config), said("SERVER answered 503: Loading model (tried 2 times)", LOG));
}

#[test]
fn a_wait_that_the_budget_does_not_allow_is_not_begun() {
    let busy = response(429, "retry-after: 30\r\n", "{\"error\":\"slow down\"}");
    let server = Server::start(vec![busy]);
    let watch = Watch::new(Some(Instant::now() + Duration::from_secs(20)), None);
    let started = Instant::now();
    let error = asked(RemoteConfig::new(&server.url, "stub")).turn(&calls(), &watch).unwrap_err();
    assert!(error.to_string().ends_with("answered 429: slow down"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_wait_is_as_long_as_the_server_asks() {
    let busy = response(429, "retry-after: 1\r\n", "{\"error\":\"slow down\"}");
    let server = Server::start(vec![busy, says("ok")]);
    let started = Instant::now();
    asked(RemoteConfig::new(&server.url, "stub")).turn(&calls(), &Watch::idle()).unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_probe_lists_what_is_offered_or_says_why_not() {
    let server = Server::start(vec![]);
    let offered = probe(&once(&server), &Watch::idle()).unwrap();
    assert_eq!(offered.len(), 1);
    assert_eq!((offered[0].id.as_str(), offered[0].context_tokens), ("stub", Some(8192)));

    let server = Server::with_models(response(200, "", "<html>hello"), vec![]);
    let error = probe(&once(&server), &Watch::idle()).unwrap_err();
    assert!(error.to_string().ends_with("answered a web page instead of a list of models"));
}
