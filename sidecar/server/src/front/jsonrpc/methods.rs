use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use codegrep_plugin_sdk::*;
use jsonrpsee::core::RegisterMethodError;
use jsonrpsee::types::ErrorObjectOwned;
use jsonrpsee::{Extensions, RpcModule};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::message;
use super::outbox::Outbox;
use crate::core::{Answer, Engines, Event, Job, JobId, Serve};
use crate::failure::Failure;
use crate::front::service::{closing, throttled};
use crate::{requests, wire};

/// What handlers have at hand.
#[derive(Clone)]
pub struct Client {
    pub events: Sender<Event>,
    pub engines: Arc<Engines>,
    pub outbox: Outbox,
}

/// What is known of a call beside its parameters.
#[derive(Clone)]
pub struct Origin {
    pub job: JobId,
    pub received: Instant,
}

/// Every method that is served.
pub fn module(client: Client) -> Result<RpcModule<Client>, RegisterMethodError> {
    let mut module = RpcModule::new(client);
    served::<Retrieve>(&mut module)?;
    served::<FilesGrep>(&mut module)?;
    served::<FilesGlob>(&mut module)?;
    served::<FilesRead>(&mut module)?;
    served::<IndexStatus>(&mut module)?;
    served::<IndexRefresh>(&mut module)?;
    served::<ModelList>(&mut module)?;
    served::<ModelLoad>(&mut module)?;
    served::<AdapterLoad>(&mut module)?;
    served::<Feedback>(&mut module)?;
    module.register_async_method(Health::NAME, |params, client, _| async move {
        message::params::<NoParams>(params.as_str()).map_err(wire::error)?;
        let (reply, queue) = oneshot::channel();
        // Both fail only when the core has ended, and then this process is about to.
        let _ = client.events.send(Event::Ask(reply));
        let queue = queue.await.map_err(|_| wire::error(closing()))?;
        Ok::<_, ErrorObjectOwned>(requests::health(&client.engines, queue))
    })?;
    module.register_method(Shutdown::NAME, |params, _, _| {
        message::params::<NoParams>(params.as_str()).map_err(wire::error)?;
        Ok::<_, ErrorObjectOwned>(ShutdownResponse {})
    })?;
    let mut methods: Vec<String> = module.method_names().map(str::to_owned).collect();
    methods.push(Initialize::NAME.to_owned());
    methods.sort_unstable();
    module.register_method(Initialize::NAME, move |params, _, _| {
        let params = message::params(params.as_str()).map_err(wire::error)?;
        requests::initialize(&params, methods.clone()).map_err(wire::error)
    })?;
    Ok(module)
}

/// A method whose requests are jobs.
fn served<M: Serve>(module: &mut RpcModule<Client>) -> Result<(), RegisterMethodError> {
    module.register_async_method(M::NAME, |params, client, extensions| async move {
        answer::<M>(params.as_str(), &client, &extensions).await.map_err(wire::error)
    })?;
    Ok(())
}

async fn answer<M: Serve>(
    params: Option<&str>,
    client: &Client,
    extensions: &Extensions,
) -> Answer {
    let params: M::Params = message::params(params)?;
    let origin = extensions.get::<Origin>();
    let origin = origin.ok_or_else(|| Failure::internal("a call without a number"))?;
    // Progress ends with the answer: a thread that has not noticed yet reports to nobody.
    let open = Arc::new(());
    let token = M::progress(&params).cloned();
    let sink = token.map(|token| {
        let outbox = client.outbox.clone();
        throttled(Arc::downgrade(&open), move |event| {
            if let Some(line) = wire::progress(&token, event) {
                outbox.send_if_read(line);
            }
        })
    });
    let (reply, answer) = oneshot::channel();
    let settings = &client.engines.settings;
    let job = Job::new::<M>(origin.job, params, settings, origin.received, sink, reply);
    // Both fail only when the core has ended, and then this process is about to.
    let _ = client.events.send(Event::Submit(job));
    let answer: Result<Box<RawValue>, _> = answer.await.map_err(|_| closing())?;
    drop(open);
    answer
}
