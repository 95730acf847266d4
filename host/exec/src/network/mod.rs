//! The network of a program that may reach some hosts only: a proxy outside.
//!
//! The program has a network namespace of its own, in which the keeper has made a listening socket. A socket stays in
//! the namespace in which it was made, so this process accepts connections there and connects to hosts from here.
//! Without namespaces, the socket is one of this machine, and Landlock limits the program to its port.
//!
//! The proxy knows a host by the name in the request. What the program says to it after that is between the two; so a
//! host that serves several names, such as a shared server of a content network, serves all of them.
//!
//! | module | purpose |
//! |---|---|
//! | `allowlist` | the hosts that a program may reach |
//! | `request` | the head of a request to the proxy |
//! | `proxy` | connections |

mod allowlist;
mod proxy;
mod request;

pub(crate) use proxy::Proxy;
