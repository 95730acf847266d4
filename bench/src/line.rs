//! The measured times of one benchmark for inputs of several sizes, and the exponent with which the time grows.

/// The measurements at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub size: f64,
    /// The median, in nanoseconds.
    pub median: f64,
    /// The 5th and 95th percentile, in nanoseconds.
    pub low: f64,
    pub high: f64,
}

/// The points of one benchmark, by size.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub name: String,
    pub points: Vec<Point>,
}

impl Line {
    /// Returns the exponent of the growth: the slope of the least-squares line through the logarithms of all points.
    pub fn slope(&self) -> f64 {
        slope(&self.points)
    }

    /// Like [`Line::slope`], but only for sizes from a tenth of the largest size. A cost that dominates at small sizes may not matter at
    /// large sizes.
    pub fn last_slope(&self) -> f64 {
        let largest = self.points.last().map_or(0.0, |point| point.size);
        let from = self.points.partition_point(|point| point.size < largest / 10.0 * 0.999);
        slope(&self.points[from..])
    }
}

fn slope(points: &[Point]) -> f64 {
    let logarithms: Vec<(f64, f64)> = points.iter().map(|point| (point.size.ln(), point.median.ln())).collect();
    let count = logarithms.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logarithms.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let both: f64 = logarithms.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    both / logarithms.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Count,
    Bytes,
    Nanoseconds,
}

/// Prints a slope with two decimals.
pub fn slope_text(slope: f64) -> String {
    // Adding 0.0 changes a negative zero to zero, which is printed without a minus.
    format!("{:.2}", (slope * 100.0).round() / 100.0 + 0.0)
}

/// Prints a number with its unit and about three digits.
pub fn number_text(number: f64, unit: Unit) -> String {
    let (number, word) = match unit {
        Unit::Nanoseconds if number < 1e3 => (number, " ns"),
        Unit::Nanoseconds if number < 1e6 => (number / 1e3, " µs"),
        Unit::Nanoseconds if number < 1e9 => (number / 1e6, " ms"),
        Unit::Nanoseconds => (number / 1e9, " s"),
        Unit::Bytes if number < 1e3 => (number, " bytes"),
        Unit::Bytes if number < 1e6 => (number / 1e3, " KB"),
        Unit::Bytes => (number / 1e6, " MB"),
        Unit::Count => (number, ""),
    };
    let digits = (2.0 - number.abs().max(1.0).log10().floor()).max(0.0) as usize;
    let text = format!("{number:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{}{word}", in_groups(text))
}

/// Separates groups of three digits with spaces, as in 1 000 000.
fn in_groups(text: &str) -> String {
    let (whole, rest) = text.find('.').map_or((text, ""), |at| text.split_at(at));
    let mut grouped = String::new();
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> Line {
        let points = points
            .iter()
            .map(|&(size, median)| Point { size, median, low: median * 0.9, high: median * 1.2 })
            .collect();
        Line { name: "log off".to_owned(), points }
    }

    #[test]
    fn the_slope_is_the_exponent() {
        let power = |exponent: i32| line(&[1.0, 10.0, 100.0].map(|size: f64| (size, 7.0 * size.powi(exponent))));
        let slopes = [-1, 0, 1, 2].map(|exponent| slope_text(power(exponent).slope()));
        assert_eq!(slopes, ["-1.00", "0.00", "1.00", "2.00"]);
        assert_eq!(slope_text(-0.001), "0.00");
    }

    #[test]
    fn the_last_slope_is_that_of_the_last_decade() {
        let bent = line(&[(1.0, 5.0), (10.0, 5.0), (100.0, 5.0), (300.0, 15.0), (1000.0, 50.0)]);
        assert_eq!(slope_text(bent.last_slope()), "1.00");
        assert!(bent.slope() < 0.4);
    }

    #[test]
    fn a_number_has_three_digits_and_its_unit() {
        let nanoseconds = [1.0, 12.34, 1_234.0, 10_000.0, 99_960_000.0, 2_500_000_000.0];
        let times = nanoseconds.map(|number| number_text(number, Unit::Nanoseconds));
        assert_eq!(times, ["1 ns", "12.3 ns", "1.23 µs", "10 µs", "100 ms", "2.5 s"]);
        assert_eq!([1e3, 1e5, 1e6].map(|bytes| number_text(bytes, Unit::Bytes)), ["1 KB", "100 KB", "1 MB"]);
        assert_eq!([1.0, 1e3, 1e7].map(|count| number_text(count, Unit::Count)), ["1", "1 000", "10 000 000"]);
    }
}
