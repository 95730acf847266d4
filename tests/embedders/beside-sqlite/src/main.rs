//! A program with databases of its own, and keys in an order of its own.
//!
//! `beside-sqlite [path_guard.wasm]`

use hookhost::config::Entry;
use hookhost::{Config, Host};
use sqlx::Connection as _;
use std::error::Error;
use std::time::Instant;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut mine = sqlx::SqliteConnection::connect("sqlite::memory:").await?;
    let one: i64 = sqlx::query_scalar("SELECT 1").fetch_one(&mut mine).await?;
    let older: i64 = rusqlite::Connection::open_in_memory()?.query_row("SELECT 2", [], |row| row.get(0))?;
    let host = Host::builder(Config::empty()).build().await?;
    println!("sqlx says {one}, rusqlite says {older}, and hookhost has {} plugins", host.plugins().len());
    let keys = serde_json::json!({"b": 1, "a": 2});
    println!("the program's own JSON is in the order of its keys: {keys}");
    let no_store = Host::builder(Config::empty()).store("log.db").build().await;
    println!("{}", no_store.err().ok_or("a store was opened")?);
    if let Some(component) = std::env::args_os().nth(1) {
        let guard = Entry::from_file("path-guard", component)?.with("protected", ["infra/**"]);
        let began = Instant::now();
        Host::builder(Config::empty()).plugin(guard).without_cache().build().await?;
        println!("path-guard is compiled and loaded in {:.1} s", began.elapsed().as_secs_f64());
    }
    Ok(())
}
