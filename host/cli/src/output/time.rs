//! Points in time, for people.

/// Milliseconds since the Unix epoch as date and time of day in UTC, `2026-07-01 14:03:22.123Z`.
pub(crate) fn utc(millis: u64) -> String {
    let (days, of_day) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = civil(days);
    let (hours, minutes) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (seconds, millis) = (of_day / 1000 % 60, of_day % 1000);
    format!("{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

/// Year, month and day of the Gregorian calendar, from days since 1970-01-01. The year begins with March, so that the
/// day that some years have more is their last: <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn a_time_reads_as_the_calendar_has_it() {
        for (millis, text) in [
            (0, "1970-01-01 00:00:00.000Z"),
            (951_782_399_999, "2000-02-28 23:59:59.999Z"),
            (951_782_400_000, "2000-02-29 00:00:00.000Z"),
            (1_735_689_599_000, "2024-12-31 23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01 00:00:00.000Z"),
        ] {
            assert_eq!(utc(millis), text);
        }
        // A record may hold any number.
        assert!(utc(u64::MAX).ends_with('Z'));
    }
}
