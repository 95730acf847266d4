//! Asks a local server for its models.

use crate::endpoint::{Timeouts, http_client};
use reqwest::Url;
use serde::Deserialize;
use std::time::Duration;

/// Time limit for a server on this machine. A server that is running answers at once.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum size of a list of models, in bytes.
const MAX_LIST_BYTES: usize = 256 * 1024;

/// Returns the models that a server with OpenAI's protocol lists, or `None` if the server does not answer in time.
pub async fn served_models(base_url: &str) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
    }
    let mut url = Url::parse(base_url).ok()?;
    url.set_path(&format!("{}/models", url.path().trim_end_matches('/')));
    let client = http_client(&url, Timeouts { connect: PROBE_TIMEOUT, idle: PROBE_TIMEOUT }).ok()?;
    let asking = async {
        let mut answer = client.get(url).send().await.ok().filter(|answer| answer.status().is_success())?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.ok()? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_LIST_BYTES {
                return None;
            }
        }
        let list: List = serde_json::from_slice(&body).ok()?;
        Some(list.data.into_iter().map(|model| model.id).collect())
    };
    tokio::time::timeout(PROBE_TIMEOUT, asking).await.ok().flatten()
}
