//! Installs agents from npm, each version once, into a directory outside the repository.

use crate::process::Start;
use anyhow::{Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One version of an npm package.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package {
    /// The first part of the name of its directory.
    pub(crate) short: &'static str,
    pub(crate) name: &'static str,
    /// The exact version. Without it, npm would install an older version if the newest does not support the machine's Node.
    pub(crate) version: &'static str,
}

/// The Node that runs the agents. Some agents need a newer version than most machines have.
pub(crate) const NODE: Package = Package { short: "node", name: "node", version: "22.23.3" };

/// Variables of the caller that npm needs in order to reach the registry.
const KEPT: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
];

/// Time limit of npm for one package, in seconds. This is an argument of `timeout`.
const LIMIT: &str = "600";

impl Package {
    /// Returns the package's directory below the cache.
    pub(crate) fn directory(&self) -> String {
        format!("{}-{}", self.short, self.version)
    }

    /// Installs the package unless it is installed.
    ///
    /// # Errors
    /// If the installation fails. The error is a sentence with the reason.
    pub(crate) fn install(&self, cache: &Path) -> Result<()> {
        self.install_with(cache, &[])
    }

    /// Installs the package and others in the same directory, unless they are installed.
    ///
    /// # Errors
    /// If the installation fails. The error is a sentence with the reason.
    pub(crate) fn install_with(&self, cache: &Path, others: &[Self]) -> Result<()> {
        let directory = cache.join(self.directory());
        let (done, home) = (directory.join(".installed"), cache.join("npm-home"));
        if done.exists() {
            return Ok(());
        }
        fs::create_dir_all(&home)?;
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("package.json"), "{\"private\":true}\n")?;
        println!("==> installing {} {}", self.name, self.version);
        // Packages can run scripts when they are installed, so npm gets only the variables that are needed to reach the registry.
        let mut npm = Command::new("timeout");
        npm.args([LIMIT, "npm"]).env_clear().envs(std::env::vars_os().filter(|(name, _)| {
            let name = name.to_string_lossy();
            name == "PATH" || KEPT.contains(&&*name) || name.to_ascii_lowercase().starts_with("npm_config_")
        }));
        if std::env::var_os("NPM_CONFIG_USERCONFIG").is_none()
            && let Some(user) = std::env::home_dir()
        {
            npm.env("NPM_CONFIG_USERCONFIG", user.join(".npmrc"));
        }
        npm.env("HOME", &home).env("npm_config_fetch_retries", "1");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(&directory);
        npm.args([self].into_iter().chain(others).map(|package| format!("{}@{}", package.name, package.version)));
        match npm.output() {
            Ok(output) if output.status.success() => Ok(fs::write(done, "")?),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let line = said.lines().find(|line| line.contains("error")).unwrap_or("npm said nothing");
                bail!("npm cannot install {} {}: {line}", self.name, self.version)
            }
            Err(error) => bail!("npm cannot be started: {error}"),
        }
    }

    /// Returns the command that starts a program of the package.
    pub(crate) fn start(&self, cache: &Path, program: &str, arguments: &[&str]) -> Start {
        Start::new(self.program(cache, program), arguments)
    }

    /// Returns the path of a program of the package.
    pub(crate) fn program(&self, cache: &Path, program: &str) -> PathBuf {
        cache.join(self.directory()).join("node_modules/.bin").join(program)
    }
}
