//! Parses the length of a period: `7d`, `24h`.

use std::time::Duration;

/// The units of a period, with their lengths in seconds.
const UNITS: &[(&str, u64)] = &[("m", 60), ("h", 60 * 60), ("d", 24 * 60 * 60), ("w", 7 * 24 * 60 * 60)];

/// Maximum length of a period: ten years.
const MAX_PERIOD: Duration = Duration::from_secs(3660 * 24 * 60 * 60);

/// Parses a whole number and its unit.
pub(crate) fn period(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let (_, seconds) = UNITS.iter().find(|(unit, _)| *unit == &text[digits.len()..]).ok_or_else(how_to_write)?;
    let count: u64 = digits.parse().map_err(|_| how_to_write())?;
    let period = count.checked_mul(*seconds).map(Duration::from_secs).filter(|period| *period <= MAX_PERIOD);
    match period {
        None => Err("a period has at most 3660 days".to_owned()),
        Some(Duration::ZERO) => Err("a period of no length contains nothing".to_owned()),
        Some(period) => Ok(period),
    }
}

fn how_to_write() -> String {
    "write a whole number and its unit, such as 12h, 7d or 4w".to_owned()
}

#[cfg(test)]
mod tests {
    use super::period;
    use std::time::Duration;

    #[test]
    fn a_period_is_a_whole_number_and_a_unit() {
        let hours = |hours: u64| Ok(Duration::from_secs(hours * 60 * 60));
        assert_eq!([period("30d"), period("12h"), period("2w")], [hours(30 * 24), hours(12), hours(14 * 24)]);
        assert_eq!(period("5m"), Ok(Duration::from_secs(300)));
        for wrong in ["", "d", "7", "7 d", "7days", "-7d", "1.5h", "७d", "0d", "99999999999999999999d", "4000d"] {
            assert!(period(wrong).is_err(), "{wrong}");
        }
    }
}
