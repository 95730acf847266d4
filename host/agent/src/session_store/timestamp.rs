//! Points in time as the files have them: RFC 3339, `2026-07-01T14:03:22.123+00:00`; in memory, milliseconds since the
//! Unix epoch.

/// A time in UTC.
pub(super) fn format(millis: u64) -> String {
    let (days, of_day) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = civil(days);
    let (hours, minutes, seconds) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}+00:00", of_day % 1000)
}

/// A time of any offset; none where it is not written so.
pub(super) fn parse(text: &str) -> Option<u64> {
    let (date, time) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    if !(1970..10_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let at = time.find(['+', '-', 'Z'])?;
    let (time, offset) = time.split_at(at);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let seconds = time.split(':').map(|part| part.parse::<u64>().ok().filter(|part| *part < 61));
    let [hours, minutes, seconds] = seconds.collect::<Option<Vec<_>>>()?.try_into().ok()?;
    let millis = format!("{fraction:0<3}").get(..3)?.parse::<u64>().ok()?;
    let ahead: i64 = match offset {
        "Z" => 0,
        _ => {
            let (hours, minutes) = offset.get(1..)?.split_once(':')?;
            let minutes = hours.parse::<u16>().ok()?.min(24) * 60 + minutes.parse::<u16>().ok()?.min(59);
            let minutes = i64::from(minutes);
            if offset.starts_with('-') { -minutes } else { minutes }
        }
    };
    let local = ((days(year, month, day) * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000 + millis;
    local.checked_add_signed(-ahead * 60_000)
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
    (year_of_era + era * 400 + u64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

/// The way back.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    (era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year).saturating_sub(719_468)
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
    }

    #[test]
    fn other_offsets_count_and_what_is_no_time_is_none() {
        assert_eq!(parse("2000-02-29T02:00:00+02:00"), Some(951_782_400_000));
        assert_eq!(parse("2000-02-28T22:30:00-01:30"), Some(951_782_400_000));
        assert_eq!(parse("2000-02-29T00:00:00Z"), Some(951_782_400_000));
        for text in ["", "yesterday", "2000-02-29", "2000-13-01T00:00:00Z", "1969-01-01T00:00:00Z", "2000-01-01T00:00Z"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
