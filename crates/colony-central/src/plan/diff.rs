//! What changes in a text, line by line, as people read it.

/// The longest middle part that is compared line by line; above it the whole
/// part is shown as replaced.
const LIMIT: usize = 2_000;
/// Unchanged lines shown around a change.
const CONTEXT: usize = 2;

/// The difference with `-` and `+` in front of lines; empty if there is none.
pub(crate) fn lines(before: &str, after: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let marked = compare(&a, &b);
    let changed = |at: usize| marked[at].0 != ' ';
    let near = |at: usize| {
        (at.saturating_sub(CONTEXT)..=at.saturating_add(CONTEXT).min(marked.len() - 1)).any(changed)
    };
    let shown = (0..marked.len()).filter(|it| near(*it));
    shown.map(|it| format!("{}{}\n", marked[it].0, marked[it].1)).collect()
}

fn compare<'a>(a: &[&'a str], b: &[&'a str]) -> Vec<(char, &'a str)> {
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(a, b)| a == b);
    let tail = tail.count();
    let (a_mid, b_mid) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
    let mut marked: Vec<(char, &str)> = a[..head].iter().map(|it| (' ', *it)).collect();
    if a_mid.len() > LIMIT || b_mid.len() > LIMIT {
        marked.extend(a_mid.iter().map(|it| ('-', *it)));
        marked.extend(b_mid.iter().map(|it| ('+', *it)));
    } else {
        marked.extend(walk(a_mid, b_mid, &lengths(a_mid, b_mid)));
    }
    marked.extend(a[a.len() - tail..].iter().map(|it| (' ', *it)));
    marked
}

/// The longest common part of every pair of endings.
fn lengths(a: &[&str], b: &[&str]) -> Vec<Vec<u32>> {
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            table[i][j] = match a[i] == b[j] {
                true => table[i + 1][j + 1] + 1,
                false => table[i + 1][j].max(table[i][j + 1]),
            };
        }
    }
    table
}

fn walk<'a>(a: &[&'a str], b: &[&'a str], table: &[Vec<u32>]) -> Vec<(char, &'a str)> {
    let (mut i, mut j, mut marked) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            marked.push((' ', a[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || table[i + 1][j] >= table[i][j + 1]) {
            marked.push(('-', a[i]));
            i += 1;
        } else {
            marked.push(('+', b[j]));
            j += 1;
        }
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_marked_with_a_little_around_them() {
        check("a\nb\nc\n", "a\nx\nc\n", " a\n-b\n+x\n c\n");
        check("", "a\n", "+a\n");
        check("a\n", "", "-a\n");
        check("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\n7\n", " 4\n 5\n-6\n+7\n");
    }

    #[test]
    fn equal_texts_have_no_difference() {
        check("a\nb\n", "a\nb\n", "");
        check("", "", "");
    }

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        assert_eq!(lines(before, after), expected);
    }
}
