//! What somebody may have meant who has typed something else.

/// How alike two words are, from 0 to 1, of which one may be meant by the other.
const MIN_LIKENESS: f64 = 0.75;

/// The word that is the most like what was typed; `None` where none is like it.
pub(crate) fn nearest<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = words.map(|known| (strsim::jaro_winkler(word, known), known));
    let near = near.filter(|(likeness, _)| *likeness > MIN_LIKENESS);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}
