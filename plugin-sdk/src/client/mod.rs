mod call;
mod error;
mod io;

use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

pub use call::{Call, CancelHandle};
pub use error::ClientError;

use crate::{
    Initialize, InitializeParams, InitializeResponse, Method, NoParams, PROTOCOL_VERSION, PeerInfo,
    ProgressToken, Retrieve, RetrieveParams, Shutdown,
};

/// How long a server may take to start and agree on the protocol.
const HANDSHAKE: Duration = Duration::from_secs(30);
/// How long a server may take to end once asked, and once its client is dropped.
const GOODBYE: Duration = Duration::from_secs(5);
const DROPPED: Duration = Duration::from_millis(500);

/// A `codegrep serve --stdio` process of one's own.
///
/// Any thread may send requests; answers come in any order. Dropping the client ends the process.
///
/// ```no_run
/// use std::process::Command;
/// use codegrep_plugin_sdk::{Client, PeerInfo, RetrieveParams};
///
/// let mut command = Command::new("codegrep");
/// command.args(["serve", "--stdio"]);
/// let client = Client::spawn(command, PeerInfo { name: "me".into(), version: "1".into() })?;
/// let answer = client.retrieve(RetrieveParams::new("crash in read_tool", "/abs/repo")).wait()?;
/// println!("{:?} {:?}", answer.verdict.kind, answer.files);
/// # Ok::<(), codegrep_plugin_sdk::ClientError>(())
/// ```
pub struct Client {
    link: Arc<io::Link>,
    server: InitializeResponse,
}

impl Client {
    /// Starts the command with pipes, and agrees on the protocol. Errors: it cannot be started, it
    /// dies (with what it wrote to stderr), it says nothing for 30 seconds, it speaks another version.
    pub fn spawn(mut command: Command, me: PeerInfo) -> Result<Self, ClientError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command
            .spawn()
            .map_err(|source| ClientError::Spawn { program: program.clone(), source })?;
        let link =
            io::Link::open(child).map_err(|source| ClientError::Spawn { program, source })?;
        let params = InitializeParams { protocol_version: PROTOCOL_VERSION, client_info: Some(me) };
        let server = Call::<Initialize>::start(&link, &params, None).wait_timeout(HANDSHAKE);
        let server = server.inspect_err(|_| link.kill())?;
        if server.protocol_version != PROTOCOL_VERSION {
            link.kill();
            return Err(ClientError::Version(server.protocol_version));
        }
        Ok(Self { link, server })
    }

    /// What the server said of itself.
    pub fn server(&self) -> &InitializeResponse {
        &self.server
    }

    /// Sends a request; the answer is awaited through the [`Call`].
    pub fn call<M: Method>(&self, params: &M::Params) -> Call<M> {
        Call::start(&self.link, params, None)
    }

    /// Sends `retrieve`. Progress is asked for, and reaches [`Call::wait_with`].
    pub fn retrieve(&self, mut params: RetrieveParams) -> Call<Retrieve> {
        let token = params
            .progress_token
            .get_or_insert_with(|| ProgressToken::Number(self.link.fresh_token()))
            .clone();
        Call::start(&self.link, &params, Some(token))
    }

    /// The end of what the server wrote to stderr so far.
    pub fn stderr(&self) -> String {
        self.link.stderr()
    }

    /// Asks the server to end, and waits until it has; kills it after five seconds.
    pub fn shutdown(self) -> Result<ExitStatus, ClientError> {
        // An error here means that it is already ending.
        let _ = self.call::<Shutdown>(&NoParams {}).wait_timeout(GOODBYE);
        self.end(GOODBYE)
    }

    fn end(&self, patience: Duration) -> Result<ExitStatus, ClientError> {
        self.link.close();
        let last = Instant::now() + patience;
        while Instant::now() < last {
            if let Some(status) = self.link.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.link.kill();
        self.link.wait()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.end(DROPPED);
    }
}
