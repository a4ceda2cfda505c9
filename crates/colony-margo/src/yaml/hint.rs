//! Finds the known name that a mistyped one probably stands for.

/// The closest of `known` to `text`, if it is close enough to be a typo.
pub(super) fn closest<'k>(text: &str, known: &[&'k str]) -> Option<&'k str> {
    let lower = text.to_lowercase();
    let candidates = known.iter().map(|it| (distance(&lower, &it.to_lowercase()), *it));
    let (distance, name) = candidates.min_by_key(|it| it.0)?;
    let slips = (name.chars().count() / 3).min(3);
    (distance <= slips).then_some(name)
}

/// The edit distance, where swapping two neighbours is one edit.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(100).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        check("repositroy", Some("repository"));
        check("Revision", Some("revision"));
        check("timeuot", Some("timeout"));
        check("wiat", Some("wait"));
        check("image", None);
        check("", None);
    }

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(closest(text, &["repository", "revision", "wait", "timeout"]), expected);
    }
}
