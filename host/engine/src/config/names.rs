//! Suggests the known word for a mistyped one.

/// The nearest of the known words, if any is near: Jaro–Winkler similarity above 0.8, which catches swapped, missing and
/// doubled letters and `_` for `-`, and little else.
pub(crate) fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    known
        .into_iter()
        .map(|word| (strsim::jaro_winkler(&given, word), word))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}

/// The advice after "unknown …": the nearest word, or all words.
pub(super) fn advice(nearest: Option<&str>, known: &[&str], what: &str) -> String {
    match (nearest, known) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => format!("there are no {what} here"),
        (None, known) => format!("the {what} here are `{}`", known.join("`, `")),
    }
}
