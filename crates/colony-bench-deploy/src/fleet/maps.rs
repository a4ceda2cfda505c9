//! Where the memory of a process is, by what its mappings are for.

use crate::fleet::process::bytes;

/// What memory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Code,
    Constants,
    Written,
    Files,
    Heap,
    Stack,
}

impl Part {
    pub(crate) const ALL: [Part; 6] =
        [Part::Code, Part::Constants, Part::Written, Part::Files, Part::Heap, Part::Stack];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Code => "program: code that was touched",
            Part::Constants => "program: constants that were touched",
            Part::Written => "program: written when it was loaded, and globals",
            Part::Files => "other files that are mapped, the kernel's pages",
            Part::Heap => "heap, stacks of further threads",
            Part::Stack => "stack of the first thread",
        }
    }
}

/// The share of a process in each part, in bytes, of `/proc/<pid>/smaps`.
pub(crate) fn parts(smaps: &str, program: &str) -> Vec<(Part, u64)> {
    let mut sums = Part::ALL.map(|it| (it, 0));
    for mapping in mappings(smaps) {
        for (part, size) in mapping.parts(program) {
            sums.iter_mut().filter(|it| it.0 == part).for_each(|it| it.1 += size);
        }
    }
    sums.into()
}

struct Mapping<'a> {
    rights: &'a str,
    name: &'a str,
    fields: &'a str,
}

impl Mapping<'_> {
    /// Of a private mapping of a file, what was written is no longer the file's.
    fn parts(&self, program: &str) -> Vec<(Part, u64)> {
        let (all, own) = (bytes(self.fields, "Pss:"), bytes(self.fields, "Anonymous:"));
        let rest = all.saturating_sub(own);
        match self.name {
            name if name == program && self.rights.contains('x') => {
                vec![(Part::Code, rest), (Part::Written, own)]
            }
            name if name == program => vec![(Part::Constants, rest), (Part::Written, own)],
            "[stack]" => vec![(Part::Stack, all)],
            "" | "[heap]" => vec![(Part::Heap, all)],
            name if name.starts_with("[anon") => vec![(Part::Heap, all)],
            _ => vec![(Part::Files, all)],
        }
    }
}

/// A mapping begins with a line whose first word is a range of addresses.
fn mappings(smaps: &str) -> Vec<Mapping<'_>> {
    let is_head = |it: &str| it.split(' ').next().is_some_and(|it| it.contains('-'));
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in smaps.split_inclusive('\n') {
        if is_head(line) {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(smaps.len());
    starts.windows(2).filter_map(|it| mapping(&smaps[it[0]..it[1]])).collect()
}

fn mapping(text: &str) -> Option<Mapping<'_>> {
    let (head, fields) = text.split_once('\n')?;
    let mut words = head.split_ascii_whitespace().skip(1);
    let rights = words.next()?;
    let name = words.nth(3).map_or("", |it| &head[head.find(it).unwrap_or(head.len())..]);
    Some(Mapping { rights, name, fields })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
7f00-7f01 r-xp 00001000 fe:00 77                         /x/colony
Pss:                 100 kB
Anonymous:             0 kB
7f01-7f02 r--p 00002000 fe:00 77                         /x/colony
Pss:                  30 kB
Anonymous:            20 kB
7f02-7f03 rw-p 00000000 00:00 0 
Pss:                   8 kB
Anonymous:             8 kB
7f03-7f04 rw-s 00000000 fe:00 78                         /x/site.db-shm
Pss:                   4 kB
Anonymous:             0 kB
7ffc-7ffd rw-p 00000000 00:00 0                          [stack]
Pss:                  12 kB
Anonymous:            12 kB
";

    #[test]
    fn every_mapping_has_a_part() {
        let kib: Vec<u64> = parts(SMAPS, "/x/colony").iter().map(|it| it.1 / 1024).collect();
        assert_eq!(kib, [100, 10, 20, 4, 8, 12]);
    }
}
