//! What the fronts' tests share: a repository with a core behind it, and the messages of a client.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::Service;
use crate::config::{Layer, Places, Settings};
use crate::core::{self, Engines, Event};

const CART: &str = "def total_price(items):\n    return sum(items)\n";

/// A client that speaks JSON-RPC, whatever frames its messages.
pub trait Peer {
    /// Of a request.
    fn next_id(&mut self) -> u64;

    async fn send(&mut self, message: Value);

    async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// The id under which it was sent.
    async fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id();
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }
}

/// A repository of two files, a core, and the folders that both live in.
pub struct Home {
    dir: tempfile::TempDir,
    service: Service,
    core: Option<thread::JoinHandle<()>>,
    /// Takes connections and never says a word.
    _silent: TcpListener,
}

impl Home {
    /// Requests are answered by the words alone.
    pub fn shop() -> Self {
        Self::new(|_| "none".to_owned())
    }

    /// Requests wait for a model that never answers.
    pub fn with_silent_model() -> Self {
        Self::new(|address| format!("http://{address}/v1#silent"))
    }

    fn new(model: impl Fn(std::net::SocketAddr) -> String) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("shop");
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        std::fs::write(folder.join("cart.py"), CART).unwrap();
        std::fs::write(folder.join("mail.py"), "def send(): pass\n").unwrap();
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = dir.path().join("own");
        let places = Places::below(&own);
        let layer = Layer { model: Some(model(silent.local_addr().unwrap())), ..Layer::default() };
        let settings = Settings::load(places, layer).unwrap();
        let engines = Arc::new(Engines::new(settings).unwrap());
        let (events, core) = core::start(Arc::clone(&engines));
        let service = Service { events, engines, folder };
        Self { dir, service, core: Some(core), _silent: silent }
    }

    pub fn service(&self) -> Service {
        self.service.clone()
    }

    /// The repository.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("shop")
    }

    /// Waits until this many requests run.
    pub async fn until_running(&self, wanted: u32) {
        for _ in 0..3000 {
            if running(&self.service.events).await == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("not {wanted} requests run");
    }
}

async fn running(events: &Sender<Event>) -> u32 {
    let (reply, queue) = oneshot::channel();
    events.send(Event::Ask(reply)).unwrap();
    queue.await.unwrap().running
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.service.events.send(Event::Close);
        if let Some(core) = self.core.take() {
            let _ = core.join();
        }
    }
}
