//! Policy for retries of failed requests. The decision depends only on the last failure and the number of failures.

use crate::error::ProviderError;
use std::time::Duration;

/// Number of retries and waits between them. Only temporary failures are retried ([`ProviderError::is_transient`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Maximum number of retries. With 0, nothing is retried.
    pub retries: u32,
    /// Wait before the first retry. The wait doubles with each further retry.
    pub first_wait: Duration,
    /// Maximum wait, even if the server asks for a longer wait.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    /// 3 retries after 1, 2 and 4 seconds. If the server asks for another wait, that wait is used, up to 30 seconds.
    fn default() -> Self {
        Self { retries: 3, first_wait: Duration::from_secs(1), longest_wait: Duration::from_secs(30) }
    }
}

impl RetryPolicy {
    /// Creates a policy without retries.
    #[must_use]
    pub fn never() -> Self {
        Self { retries: 0, ..Self::default() }
    }

    /// Returns the wait before the next attempt, or `None` if the request must not be retried. `failures` is the number of failed
    /// attempts so far, and `error` is the last failure.
    #[must_use]
    pub fn wait(&self, failures: u32, error: &ProviderError) -> Option<Duration> {
        if failures > self.retries || !error.is_transient() {
            return None;
        }
        let backoff = self.first_wait.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
        Some(error.retry_after().unwrap_or(backoff).min(self.longest_wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(retry_after: Option<u64>) -> ProviderError {
        ProviderError::RateLimited { provider: "p".into(), retry_after: retry_after.map(Duration::from_secs) }
    }

    #[test]
    fn waits_double_and_end() {
        let policy = RetryPolicy::default();
        let waits: Vec<_> = (1..=4).map(|failures| policy.wait(failures, &limited(None))).collect();
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(waits, [seconds(1), seconds(2), seconds(4), None]);
    }

    #[test]
    fn what_the_server_asks_for_is_honoured_up_to_the_cap() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.wait(1, &limited(Some(7))), Some(Duration::from_secs(7)));
        assert_eq!(policy.wait(1, &limited(Some(7_200))), Some(Duration::from_secs(30)));
    }

    #[test]
    fn what_cannot_pass_is_not_tried_again() {
        let error = ProviderError::Unauthorized { provider: "p".into(), status: 401, variable: None };
        assert_eq!(RetryPolicy::default().wait(1, &error), None);
        assert_eq!(RetryPolicy::never().wait(1, &limited(None)), None);
    }

    #[test]
    fn a_great_number_of_failures_does_not_overflow() {
        let policy = RetryPolicy { retries: u32::MAX, ..RetryPolicy::default() };
        assert_eq!(policy.wait(u32::MAX, &limited(None)), Some(policy.longest_wait));
    }
}
