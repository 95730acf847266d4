//! What this system can enforce, found out by doing it.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;

use crate::error::{ExecError, Notice};
use crate::plan::MountPlan;
use crate::settings::{HELPER_WORD, Settings};
use crate::supervise::{Mechanism, run_with};

/// What the kernel can enforce here, from best to worst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Namespaces, the filter of system calls, and Landlock's scopes.
    Namespaces {
        /// What is not protected nevertheless, as sentences.
        lacks: Vec<String>,
    },
    /// Landlock and the filter of system calls.
    Landlock {
        /// Why there are no namespaces.
        because: String,
        /// What is not protected, as sentences.
        lacks: Vec<String>,
    },
    /// Nothing. A program is not started.
    None {
        /// Why, as the end of a sentence after "because".
        because: String,
    },
}

/// Finds out what this system can enforce for this user, by starting a program that ends at once. It takes about as
/// long as the start of any program inside.
///
/// # Errors
/// [`ExecError::Helper`] if the helper cannot be started, and [`ExecError::Io`].
pub fn probe(helper: &Path) -> Result<Ability, ExecError> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    let mut found = None;
    let mut notify = |notice: &Notice| found = Some(notice.clone());
    let mut settings = Settings::new(helper, &mut notify);
    let plan =
        MountPlan::new(&[], Path::new("/"), Path::new("/")).map_err(|error| ExecError::Refused(error.to_string()))?;
    let command = [helper.as_os_str().to_owned(), HELPER_WORD.into(), "probe".into()];
    let result = run_with(&plan, &command, &mut settings, &[nothing.as_fd(); 3], &[]);
    let (because, lacks) = match found {
        Some(Notice::Partly { because, lacks }) => (because.unwrap_or_default(), lacks),
        _ => Default::default(),
    };
    match result {
        Ok((Mechanism::Namespaces, _)) => Ok(Ability::Namespaces { lacks }),
        Ok((Mechanism::Landlock, _)) => Ok(Ability::Landlock { because, lacks }),
        Err(ExecError::Refused(because)) => Ok(Ability::None { because }),
        Err(error) => Err(error),
    }
}
