//! Counts with the right plural.

/// Formats a count with its noun: `1 task`, `2 tasks`.
pub(crate) fn counted<N: Copy + std::fmt::Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    if count == N::from(1) { format!("1 {one}") } else { format!("{count} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_thing_is_not_a_plural() {
        assert_eq!([0_usize, 1, 2].map(|count| counted(count, "task")), ["0 tasks", "1 task", "2 tasks"]);
    }
}
