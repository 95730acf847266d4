//! Suggests the word that a person probably meant by a mistyped word.

/// Minimum similarity of a suggestion, from 0 to 1.
const MIN_LIKENESS: f64 = 0.75;

/// Returns the word that is most similar to `word`, or `None` if no word is similar enough.
pub(crate) fn nearest<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = words.map(|known| (strsim::jaro_winkler(word, known), known));
    let near = near.filter(|(likeness, _)| *likeness > MIN_LIKENESS);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}
