//! The directories that an entry grants.
//!
//! Each directory is opened once, when its plugin is loaded. Every call uses the open handle and never the path. So a
//! guest gets the same directory even if the directory is renamed or another directory gets its path. Within the
//! directory, wasmtime resolves each path one component at a time, so `..` and symbolic links cannot lead out of the
//! directory.
//!
//! Other programs that use the directory may follow links. So a plugin must not create or move a link that could lead
//! out of the directory. The target of a link must be a relative path without `..`. Such a link does not lead out of
//! the directory, even if the link is moved.

use super::guest::Guest;
use crate::config::Grants;
use std::io;
use std::path::PathBuf;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtx};
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, HostDescriptor as _, PathFlags};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};

/// The open directories of a plugin.
#[derive(Clone, Default)]
pub(crate) struct Preopens {
    granted: WasiFilesystemCtx,
    /// The same directories, but read-only, for a replay.
    unwritable: WasiFilesystemCtx,
    any: bool,
}

/// A directory that could not be opened.
#[derive(Debug)]
pub(crate) struct PreopenError {
    /// The key of `[plugin.grants]`.
    pub(crate) grant: &'static str,
    /// The path of the directory in the guest.
    pub(crate) guest: String,
    pub(crate) directory: PathBuf,
    pub(crate) source: io::Error,
}

impl Preopens {
    /// Opens the granted directories.
    ///
    /// # Errors
    /// Fails if a directory does not exist or cannot be opened.
    pub(crate) fn open(grants: &Grants) -> Result<Self, PreopenError> {
        let (mut granted, mut unwritable) = (WasiCtx::builder(), WasiCtx::builder());
        let kinds = [
            ("read-dirs", &grants.read_dirs, FsPerms::ReadOnly),
            ("write-dirs", &grants.write_dirs, FsPerms::ReadWrite),
        ];
        for (grant, directories, permissions) in kinds {
            for (guest, directory) in directories {
                let open = |context: &mut WasiCtxBuilder, permissions| match context.preopened_dir(
                    directory,
                    guest,
                    permissions,
                ) {
                    Ok(_) => Ok(()),
                    Err(error) => {
                        let source = error.downcast().unwrap_or_else(io::Error::other);
                        Err(PreopenError { grant, guest: guest.clone(), directory: directory.clone(), source })
                    }
                };
                open(&mut granted, permissions)?;
                open(&mut unwritable, FsPerms::ReadOnly)?;
            }
        }
        let files = |mut context: WasiCtxBuilder| std::mem::take(context.build().filesystem());
        Ok(Self { granted: files(granted), unwritable: files(unwritable), any: grants.has_directories() })
    }

    /// Returns true if no directory is granted.
    pub(super) fn is_empty(&self) -> bool {
        !self.any
    }

    /// Returns the directories for a call. In a replay they are read-only.
    pub(super) fn given(&self, replayed: bool) -> WasiFilesystemCtx {
        if replayed { self.unwritable.clone() } else { self.granted.clone() }
    }
}

impl std::fmt::Debug for Preopens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Preopens").field("any", &self.any).finish_non_exhaustive()
    }
}

/// The name of the interface in wasmtime's bindings. The linker accepts any compatible version.
const TYPES: &str = "wasi:filesystem/types@0.2.12";

type FsResult = wasmtime::Result<(Result<(), ErrorCode>,)>;
type LinkArguments = (Resource<Descriptor>, PathFlags, String, Resource<Descriptor>, String);
type RenameArguments = (Resource<Descriptor>, String, Resource<Descriptor>, String);
type SymlinkArguments = (Resource<Descriptor>, String, String);

/// Replaces wasmtime's functions that create and move links by functions that check the links.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap_async(
        "[method]descriptor.symlink-at",
        |mut store: StoreContextMut<'_, Guest>, (directory, target, path): SymlinkArguments| {
            Box::new(async move {
                if may_lead_out(&target) {
                    return Ok((Err(ErrorCode::NotPermitted),));
                }
                answer(store.data_mut().files().symlink_at(directory, target, path).await)
            })
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.rename-at",
        |mut store: StoreContextMut<'_, Guest>, (directory, path, to, new): RenameArguments| {
            Box::new(async move {
                if names_a_way_out(store.data_mut(), &directory, &path).await {
                    return Ok((Err(ErrorCode::NotPermitted),));
                }
                answer(store.data_mut().files().rename_at(directory, path, to, new).await)
            })
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.link-at",
        |mut store: StoreContextMut<'_, Guest>, (directory, flags, path, to, new): LinkArguments| {
            Box::new(async move {
                if names_a_way_out(store.data_mut(), &directory, &path).await {
                    return Ok((Err(ErrorCode::NotPermitted),));
                }
                answer(store.data_mut().files().link_at(directory, flags, path, to, new).await)
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

fn answer(done: Result<(), FsError>) -> FsResult {
    Ok((match done {
        Ok(()) => Ok(()),
        Err(error) => Err(error.downcast()?),
    },))
}

/// Returns true if a link with that target could, at any position, lead out of the directory.
fn may_lead_out(target: &str) -> bool {
    target.starts_with(['/', '\\']) || target.split(['/', '\\']).any(|part| part == "..") || target.contains(':')
}

/// Returns true if the path is a link that could lead out. This includes a link that wasmtime refuses to read, such as
/// a link with an absolute target.
async fn names_a_way_out(guest: &mut Guest, directory: &Resource<Descriptor>, path: &str) -> bool {
    // With a slash at its end, the path would name the target of the link instead of the link.
    let path = path.trim_end_matches('/').to_owned();
    let target = guest.files().readlink_at(Resource::new_borrow(directory.rep()), path).await;
    match target.map_err(FsError::downcast) {
        Ok(target) => may_lead_out(&target),
        Err(Ok(error)) => matches!(error, ErrorCode::NotPermitted | ErrorCode::Access),
        // If the descriptor is wrong, the function that uses it afterwards reports the error.
        Err(Err(_)) => false,
    }
}
