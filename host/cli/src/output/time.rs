//! Formats points in time for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formats milliseconds since the Unix epoch as date and time in UTC, such as `2026-07-01 14:03:22.123Z`. A time beyond the range of the
/// calendar becomes the last time of that range.
pub(crate) fn utc(millis: u64) -> String {
    let time = i64::try_from(millis).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    time.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%d %H:%M:%S.%3fZ").to_string()
}

/// Like [`utc`], but without seconds, such as `2026-07-01 14:03 UTC`.
pub(crate) fn minute(millis: u64) -> String {
    let text = utc(millis);
    format!("{} UTC", text.get(..16).unwrap_or(&text))
}

/// Formats milliseconds since the Unix epoch as date and time in the user's time zone, such as `2026-07-01 16:03:22 CEST`.
pub(crate) fn local(millis: u64) -> String {
    in_zone(millis, TimeZone::system())
}

fn in_zone(millis: u64, zone: TimeZone) -> String {
    let time = i64::try_from(millis).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    time.unwrap_or(Timestamp::MAX).to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

#[cfg(test)]
mod tests {
    use super::{in_zone, minute, utc};
    use jiff::tz::{TimeZone, offset};

    #[test]
    fn a_time_in_a_zone_reads_as_its_clocks_have_it() {
        assert_eq!(in_zone(951_782_400_000, TimeZone::UTC), "2000-02-29 00:00:00 UTC");
        assert_eq!(in_zone(951_782_400_000, TimeZone::fixed(offset(-8))), "2000-02-28 16:00:00 -08");
        assert!(in_zone(u64::MAX, TimeZone::UTC).starts_with("9999-12-30"));
    }

    #[test]
    fn a_time_reads_as_the_calendar_has_it() {
        for (millis, text) in [
            (0, "1970-01-01 00:00:00.000Z"),
            (951_782_399_999, "2000-02-28 23:59:59.999Z"),
            (951_782_400_000, "2000-02-29 00:00:00.000Z"),
            (1_735_689_599_000, "2024-12-31 23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01 00:00:00.000Z"),
            // A record may contain any number.
            (u64::MAX, "9999-12-30 22:00:00.999Z"),
        ] {
            assert_eq!(utc(millis), text);
        }
        assert_eq!(minute(951_782_399_999), "2000-02-28 23:59 UTC");
    }
}
