//! Finds the known word that is most similar to an unknown word.

/// Words that other programs use, and ours.
const SYNONYMS: [(&str, &str); 6] = [
    ("action", "reject"),
    ("block", "reject"),
    ("confirm", "ask"),
    ("deny", "reject"),
    ("forbid", "reject"),
    ("rewrite", "change"),
];

/// Returns the most similar known word, if its Jaro–Winkler similarity is above 0.8. With this threshold, the function
/// finds words with swapped, missing or doubled letters or with `_` in place of `-`, but few other words.
pub(crate) fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    let is_meant = |word: &str| SYNONYMS.contains(&(given.as_str(), word));
    known
        .into_iter()
        .map(|word| (if is_meant(word) { 1.0 } else { strsim::jaro_winkler(&given, word) }, word))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}

/// Returns the advice that follows "unknown …" in a message. The advice names the most similar word. If no word is
/// similar, it names all known words.
pub(super) fn advice(nearest: Option<&str>, known: &[&str], what: &str) -> String {
    match (nearest, known) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => format!("there are no {what} here"),
        (None, known) => format!("the {what} here are `{}`", known.join("`, `")),
    }
}
