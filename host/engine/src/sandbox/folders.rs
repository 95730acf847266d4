//! The folders that an entry grants.
//!
//! Each is opened once, when its plugin is loaded. Every call reaches it through that handle and never through its path
//! again: a folder that is renamed, or another one in its place, changes nothing in what the guest reaches. Within it,
//! wasmtime resolves each path one step at a time, so that neither `..` nor a symbolic link leads out.

use crate::allowlist::Grants;
use std::io;
use std::path::PathBuf;
use wasmtime_wasi::filesystem::WasiFilesystemCtx;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};

/// The open folders of a plugin.
#[derive(Clone, Default)]
pub(crate) struct Folders {
    granted: WasiFilesystemCtx,
    /// The same, and none can be written to: what a replay gives.
    unwritable: WasiFilesystemCtx,
    any: bool,
}

/// A folder that could not be opened.
#[derive(Debug)]
pub(crate) struct Unopened {
    /// The key of `[plugin.grants]`.
    pub(crate) grant: &'static str,
    /// Where the guest would see it.
    pub(crate) guest: String,
    pub(crate) folder: PathBuf,
    pub(crate) source: io::Error,
}

impl Folders {
    /// Opens what is granted.
    ///
    /// # Errors
    /// If a folder is not there, or cannot be opened.
    pub(crate) fn open(grants: &Grants) -> Result<Self, Unopened> {
        let (mut granted, mut unwritable) = (WasiCtx::builder(), WasiCtx::builder());
        let kinds = [
            ("read-dirs", &grants.read_dirs, FsPerms::ReadOnly),
            ("write-dirs", &grants.write_dirs, FsPerms::ReadWrite),
        ];
        for (grant, folders, permissions) in kinds {
            for (guest, folder) in folders {
                let open =
                    |context: &mut WasiCtxBuilder, permissions| match context.preopened_dir(folder, guest, permissions)
                    {
                        Ok(_) => Ok(()),
                        Err(error) => {
                            let source = error.downcast().unwrap_or_else(io::Error::other);
                            Err(Unopened { grant, guest: guest.clone(), folder: folder.clone(), source })
                        }
                    };
                open(&mut granted, permissions)?;
                open(&mut unwritable, FsPerms::ReadOnly)?;
            }
        }
        let files = |mut context: WasiCtxBuilder| std::mem::take(context.build().filesystem());
        Ok(Self { granted: files(granted), unwritable: files(unwritable), any: grants.gives_folders() })
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        !self.any
    }

    /// What a call is given; a replay changes no file.
    pub(super) fn given(&self, replayed: bool) -> WasiFilesystemCtx {
        if replayed { self.unwritable.clone() } else { self.granted.clone() }
    }
}

impl std::fmt::Debug for Folders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Folders").field("any", &self.any).finish_non_exhaustive()
    }
}
