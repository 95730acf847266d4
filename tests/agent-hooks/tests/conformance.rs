//! The vectors, held against the page that reports them.

use hookhost_agent_hooks::report::{markdown, total};
use hookhost_agent_hooks::vectors;
use std::path::{Path, PathBuf};

const BEGINS: &str = "<!-- the report begins -->\n\n";
const ENDS: &str = "\n<!-- the report ends -->";

/// With `HOOKHOST_WRITE_GOLDENS=1` the page gets the report.
#[tokio::test(flavor = "multi_thread")]
async fn every_vector_that_is_about_what_is_declared_passes_and_the_page_says_so() {
    let Some(vectors) = vectors::load().unwrap() else {
        println!("skipped: the vectors are published at {}", vectors::PUBLISHED);
        return;
    };
    let built = std::env::var_os("HOOKHOST_PLUGINS").map(PathBuf::from);
    let plugins = built.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("../plugins"));
    let directions = hookhost_agent_hooks::run(&vectors, &plugins).await.unwrap();
    let report = markdown(&directions);
    assert_eq!(total(&directions).failed, 0, "{report}");

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agent-hooks.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGINS).unwrap();
    let (kept, after) = rest.split_once(ENDS).unwrap();
    if std::env::var_os("HOOKHOST_WRITE_GOLDENS").is_some() {
        std::fs::write(&page, format!("{before}{BEGINS}{}{ENDS}{after}", report.trim_end())).unwrap();
        return;
    }
    assert_eq!(kept, report.trim_end(), "run it with HOOKHOST_WRITE_GOLDENS=1");
}
