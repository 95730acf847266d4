//! What serves a program from outside while it runs: the watch in a process of its own, and the proxy in threads.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::channel::ProgramNetwork;
use crate::error::{ExecError, Notice};
use crate::network::Proxy;
use crate::notices::NoticeReceiver;
use crate::policy::NetworkAccess;
use crate::settings::Settings;
use crate::watch_process::{WatchMessage, WatchProcess};

/// The port of the proxy in a network namespace of its own, where nobody else has one.
const PROXY_PORT: u16 = 3128;

/// Variables by which programs find a proxy. Some programs read the one, some the other.
const PROXY_VARIABLES: [&str; 6] = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Variables that name hosts without a proxy.
const NO_PROXY_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The services of a run.
#[derive(Debug)]
pub(crate) struct Services {
    notices: NoticeReceiver,
    watch: Option<WatchProcess>,
    proxy: Option<Proxy>,
    network: ProgramNetwork,
}

impl Services {
    /// Starts what the settings ask for, before the program starts.
    pub(crate) fn start(settings: &Settings<'_>) -> Result<Self, ExecError> {
        let (notices, sender) = NoticeReceiver::new()?;
        let (network, proxy) = match &settings.network {
            NetworkAccess::All => (ProgramNetwork::Shared, None),
            NetworkAccess::None => (ProgramNetwork::Nothing, None),
            NetworkAccess::Hosts(hosts) => (ProgramNetwork::Proxy(PROXY_PORT), Some(Proxy::new(hosts, sender)?)),
        };
        let watch = WatchProcess::start(settings.helper, &settings.watch)?;
        Ok(Self { notices, watch, proxy, network })
    }

    /// Prepares for a run without namespaces: the proxy listens on this machine.
    pub(crate) fn use_landlock(&mut self) -> io::Result<()> {
        self.watch.iter().for_each(WatchProcess::write_in_place);
        if let Some(proxy) = &self.proxy {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            self.network = ProgramNetwork::Proxy(listener.local_addr()?.port());
            proxy.serve(listener)?;
        }
        Ok(())
    }

    /// Serves a socket of the program's network.
    pub(crate) fn serve(&self, socket: OwnedFd) -> io::Result<()> {
        self.proxy.as_ref().map_or(Ok(()), |proxy| proxy.serve(socket.into()))
    }

    /// The network of the program.
    pub(crate) fn network(&self) -> ProgramNetwork {
        self.network
    }

    /// The environment in which programs find the proxy.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let ProgramNetwork::Proxy(port) = self.network else { return Vec::new() };
        let address = OsString::from(format!("http://127.0.0.1:{port}"));
        let mut variables: Vec<_> = PROXY_VARIABLES.into_iter().map(|name| (name, address.clone())).collect();
        variables.extend(NO_PROXY_VARIABLES.map(|name| (name, "localhost,127.0.0.1,::1".into())));
        // Node reads the others only if this one is set.
        variables.push(("NODE_USE_ENV_PROXY", "1".into()));
        variables
    }

    /// Waits until the watch has read what it watches. The program must not start before.
    pub(crate) fn wait_for_watch(&mut self, notify: &mut dyn FnMut(&Notice)) -> Result<(), ExecError> {
        while let Some(watch) = &self.watch {
            match watch.receive()? {
                WatchMessage::Watching => break,
                WatchMessage::Noticed(notice) => notify(&notice),
                WatchMessage::Ended => {
                    return Err(ExecError::Refused("the watch of guarded files cannot be started".to_owned()));
                }
            }
        }
        Ok(())
    }

    /// The descriptors that are readable when there is something to hear.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.watch.as_ref().map(WatchProcess::as_fd).into_iter().chain([self.notices.as_fd()])
    }

    /// Hears what the watch and the proxy say.
    pub(crate) fn hear(&mut self, notify: &mut dyn FnMut(&Notice)) -> io::Result<()> {
        self.notices.take().iter().for_each(&mut *notify);
        while let Some(watch) = &self.watch
            && is_readable(watch)
        {
            match watch.receive()? {
                WatchMessage::Watching => {}
                WatchMessage::Noticed(notice) if self.notices.is_wanted(&notice) => notify(&notice),
                WatchMessage::Noticed(_) => {}
                WatchMessage::Ended => {
                    self.watch = None;
                    notify(&Notice::WatchEnded);
                }
            }
        }
        Ok(())
    }

    /// Ends everything, when all processes inside have ended.
    pub(crate) fn finish(mut self, notify: &mut dyn FnMut(&Notice)) {
        if let Some(proxy) = &self.proxy {
            proxy.stop();
        }
        if let Some(watch) = self.watch.take() {
            watch.finish();
            while let Ok(message) = watch.receive() {
                match message {
                    WatchMessage::Noticed(notice) if self.notices.is_wanted(&notice) => notify(&notice),
                    WatchMessage::Ended => break,
                    _ => {}
                }
            }
        }
        self.notices.take().iter().for_each(notify);
    }
}

fn is_readable(descriptor: &impl AsFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}
