//! Timestamps in files: RFC 3339, such as `2026-07-01T14:03:22.123+00:00`. In memory, they are milliseconds since the
//! Unix epoch.

use jiff::Timestamp;

/// Formats a time in UTC. A time beyond the calendar becomes its last one.
pub(super) fn format(millis: u64) -> String {
    let time = i64::try_from(millis).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    time.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%dT%H:%M:%S.%3f+00:00").to_string()
}

/// Parses a time with any offset; `None` if it is invalid or before the epoch.
pub(super) fn parse(text: &str) -> Option<u64> {
    u64::try_from(text.parse::<Timestamp>().ok()?.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::{format, parse};

    #[test]
    fn a_time_is_read_as_it_was_written() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000+00:00"),
            (951_782_399_999, "2000-02-28T23:59:59.999+00:00"),
            (951_782_400_000, "2000-02-29T00:00:00.000+00:00"),
            (4_107_542_400_123, "2100-03-01T00:00:00.123+00:00"),
        ] {
            assert_eq!((format(millis).as_str(), parse(text)), (text, Some(millis)));
        }
        assert_eq!(format(u64::MAX), "9999-12-30T22:00:00.999+00:00");
    }

    #[test]
    fn other_offsets_count_and_invalid_times_are_rejected() {
        assert_eq!(parse("2000-02-29T02:00:00+02:00"), Some(951_782_400_000));
        assert_eq!(parse("2000-02-28T22:30:00-01:30"), Some(951_782_400_000));
        assert_eq!(parse("2000-02-29T00:00:00Z"), Some(951_782_400_000));
        for text in
            ["", "yesterday", "2000-02-29", "2000-13-01T00:00:00Z", "2000-02-30T00:00:00Z", "1969-01-01T00:00:00Z"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
