//! The node's rows on disk: a journal that is replayed at the start.
//!
//! Each step appends one line with all rows it changed, and the line is synced
//! before the step counts, so a step is on disk completely or not at all. A
//! power cut may leave a torn last line, which is dropped. When the journal has
//! grown well beyond its live rows, a compacted copy replaces it. Rows hold
//! values of parameters, so only the owner may read the files.
//! `colony_core::node::journal` defines the format of a line and which bytes
//! count.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use colony_core::node::Row;
use colony_core::node::journal::{Entry, Rows, line, replay};
use tracing::warn;

use crate::brain::reserve::Reserve;

/// A journal below this size is not compacted.
const SMALL: u64 = 64 * 1024;
/// Compacted when it is this many times larger than after the last time.
const GROWTH: u64 = 4;
const OWNER: u32 = 0o600;

/// The journal of one node.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    rows: Rows,
    size: u64,
    compact: u64,
    reserve: Reserve,
}

impl Journal {
    /// Opens or creates the journal below `dir`.
    pub(crate) fn open(dir: &Path) -> io::Result<Journal> {
        fs::create_dir_all(dir)?;
        let path = dir.join("journal");
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            other => other?,
        };
        let (rows, good) = replay(&bytes);
        if good < bytes.len() {
            set_aside(&path, &bytes[good..]);
        }
        let file = OpenOptions::new().create(true).append(true).mode(OWNER).open(&path)?;
        // An earlier version, or a copy, may have left it open to others.
        file.set_permissions(fs::Permissions::from_mode(OWNER))?;
        file.set_len(good as u64)?;
        file.sync_all()?;
        sync_dir(dir)?;
        let size = good as u64;
        let reserve = Reserve::open(dir);
        let mut journal = Journal { path, file, rows, size, compact: size, reserve };
        journal.compact_if_grown(SMALL)?;
        Ok(journal)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    /// Writes the rows of one step, all or none of them.
    pub(crate) fn write(&mut self, changes: Vec<(String, Option<Row>)>) -> io::Result<()> {
        let entries: Vec<Entry> =
            changes.into_iter().map(|(key, row)| Entry { key, row }).collect();
        let line = line(&entries)?;
        if let Err(error) = self.append(&line) {
            // A partial line must not precede the next one.
            self.file.set_len(self.size)?;
            if error.kind() != io::ErrorKind::StorageFull || !self.reserve.release() {
                return Err(error);
            }
            self.append_again(&line)?;
        }
        self.reserve.hold();
        entries.into_iter().for_each(|it| it.apply(&mut self.rows));
        self.compact_if_grown(self.compact.saturating_mul(GROWTH).max(SMALL))
    }

    fn append_again(&mut self, line: &[u8]) -> io::Result<()> {
        let appended = self.append(line);
        if appended.is_err() {
            self.file.set_len(self.size)?;
        }
        appended
    }

    /// Why the disk is a problem although the journal can still be written.
    pub(crate) fn disk_problem(&mut self) -> Option<String> {
        self.reserve.hold();
        let missing = "the disk is nearly full: there is no room for the reserve of the journal";
        self.reserve.is_missing().then(|| missing.to_owned())
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line)?;
        colony_process::fail::hit(colony_process::fail::Point::NodeJournalAppended);
        self.file.sync_data()?;
        colony_process::fail::hit(colony_process::fail::Point::NodeJournalSynced);
        self.size += line.len() as u64;
        Ok(())
    }

    /// If compaction fails, mostly on a full disk, the journal is used as it
    /// is.
    fn compact_if_grown(&mut self, limit: u64) -> io::Result<()> {
        if self.size <= limit {
            return Ok(());
        }
        let fresh = self.path.with_extension("new");
        match self.write_anew(&fresh) {
            Ok(size) => self.replace_with(&fresh, size),
            Err(error) => {
                warn!(%error, bytes = self.size, "the journal cannot be compacted; it keeps growing");
                let _ = fs::remove_file(&fresh);
                self.compact = self.size;
                Ok(())
            }
        }
    }

    fn write_anew(&self, fresh: &Path) -> io::Result<u64> {
        let rows = self.rows.iter();
        let entries = rows.map(|(key, row)| Entry { key: key.clone(), row: Some(row.clone()) });
        let line = line(&entries.collect::<Vec<_>>())?;
        let mut file = create(fresh)?;
        file.write_all(&line)?;
        file.sync_all()?;
        colony_process::fail::hit(colony_process::fail::Point::NodeJournalRewritten);
        Ok(line.len() as u64)
    }

    fn replace_with(&mut self, fresh: &Path, size: u64) -> io::Result<()> {
        fs::rename(fresh, &self.path)?;
        self.path.parent().map_or(Ok(()), sync_dir)?;
        colony_process::fail::hit(colony_process::fail::Point::NodeJournalReplaced);
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        (self.size, self.compact) = (size, size);
        Ok(())
    }
}

/// Keeps the bytes that could not be read for analysis, if there is room.
fn set_aside(path: &Path, rest: &[u8]) {
    let broken = path.with_extension("broken");
    warn!(file = %broken.display(), bytes = rest.len(), "the end of the journal is torn; set aside");
    if let Err(error) = create(&broken).and_then(|mut it| it.write_all(rest)) {
        warn!(%error, "the torn end of the journal is not kept");
    }
}

/// Creates an empty file for its owner only, in place of an existing one.
fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(OWNER).open(path)
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use colony_core::node::Meta;

    use super::*;

    #[test]
    fn what_was_written_is_there_after_a_restart() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut journal = Journal::open(dir.path()).expect("a new journal");
        journal.write(vec![row("a", 1), row("b", 2)]).expect("it is written");
        journal.write(vec![row("a", 3), ("b".to_owned(), None)]).expect("it is written");

        assert_eq!(numbers(&Journal::open(dir.path()).expect("it opens")), [3]);
        assert!(!dir.path().join("journal.broken").exists(), "nothing was torn");
    }

    #[test]
    fn a_torn_line_at_any_byte_takes_back_its_step_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut journal = Journal::open(dir.path()).expect("a new journal");
        journal.write(vec![row("a", 1)]).expect("it is written");
        let first = journal.size as usize;
        journal.write(vec![row("a", 2), row("b", 2)]).expect("it is written");
        let whole = fs::read(dir.path().join("journal")).expect("readable");

        for cut in first..whole.len() {
            fs::write(dir.path().join("journal"), &whole[..cut]).expect("writable");
            let mut journal = Journal::open(dir.path()).expect("it opens");
            assert_eq!(numbers(&journal), [1], "cut at {cut}");
            journal.write(vec![row("c", 9)]).expect("it goes on");
            assert_eq!(numbers(&Journal::open(dir.path()).expect("it opens")), [1, 9]);
        }
    }

    #[test]
    fn a_long_journal_is_written_anew_and_says_the_same() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut journal = Journal::open(dir.path()).expect("a new journal");
        for number in 0..2_000 {
            journal.write(vec![row("a", number)]).expect("it is written");
        }
        let size = fs::metadata(dir.path().join("journal")).expect("it is there").len();
        assert!(size <= SMALL, "{size} bytes");
        assert_eq!(numbers(&Journal::open(dir.path()).expect("it opens")), [1_999]);
    }

    #[test]
    fn a_disk_without_room_for_a_second_journal_holds_nobody_up() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(dir.path().join("journal.new/in-the-way")).expect("writable");
        fs::create_dir_all(dir.path().join("journal.broken/in-the-way")).expect("writable");
        let mut journal = Journal::open(dir.path()).expect("a new journal");
        for number in 0..2_000 {
            journal.write(vec![row("a", number)]).expect("it is written");
        }
        assert!(journal.size > SMALL, "it could not be rewritten: {} bytes", journal.size);
        OpenOptions::new()
            .append(true)
            .open(dir.path().join("journal"))
            .and_then(|mut it| it.write_all(b"torn"))
            .expect("writable");
        assert_eq!(numbers(&Journal::open(dir.path()).expect("it opens")), [1_999]);
    }

    #[test]
    fn journal_on_a_full_disk_uses_its_reserve() {
        let disk = Disk::mount();
        let mut journal = Journal::open(disk.dir.path()).expect("a new journal");
        journal.write(vec![row("a", 1)]).expect("it is written");
        assert_eq!(journal.disk_problem(), None);
        disk.fill();
        for number in 2..40 {
            journal.write(vec![row("a", number)]).expect("it is written all the same");
        }
        assert!(journal.disk_problem().is_some(), "it is not hidden");
        let mut journal = Journal::open(disk.dir.path()).expect("it opens");
        assert_eq!(numbers(&journal), [39]);

        disk.fill();
        let mut writes = (0..200).map(|_| journal.write(vec![row("a", 40)]));
        assert!(writes.any(|it| it.is_err()), "the reserve is used up");
        fs::remove_file(disk.filler()).expect("it is there");
        journal.write(vec![row("a", 41)]).expect("there is room");
        assert_eq!(journal.disk_problem(), None, "it has its reserve again");
        assert_eq!(numbers(&Journal::open(disk.dir.path()).expect("it opens")), [41]);
    }

    /// A small disk of its own.
    struct Disk {
        dir: tempfile::TempDir,
    }

    impl Disk {
        fn mount() -> Disk {
            let dir = tempfile::tempdir().expect("a directory");
            let mut mount = std::process::Command::new("mount");
            let mount = mount.args(["-t", "tmpfs", "-o", "size=8m", "journal"]).arg(dir.path());
            assert!(mount.status().expect("mount starts").success(), "only root may mount");
            Disk { dir }
        }

        fn filler(&self) -> PathBuf {
            self.dir.path().join("filler")
        }

        /// Not a byte is left.
        fn fill(&self) {
            let mut options = OpenOptions::new();
            let mut file = options.create(true).append(true).open(self.filler()).expect("a file");
            let piece = vec![0; 1 << 16];
            while file.write_all(&piece).is_ok() {}
            while file.write_all(&piece[..1]).is_ok() {}
        }
    }

    impl Drop for Disk {
        fn drop(&mut self) {
            let mut umount = std::process::Command::new("umount");
            let _ = umount.arg("-l").arg(self.dir.path()).status();
        }
    }

    #[test]
    fn every_file_of_the_journal_is_for_its_owner_only() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["journal", "journal.new", "journal.broken"] {
            fs::write(dir.path().join(name), "torn").expect("writable");
            let open = fs::Permissions::from_mode(0o644);
            fs::set_permissions(dir.path().join(name), open).expect("it is ours");
        }
        let mut journal = Journal::open(dir.path()).expect("it opens");
        check_modes(dir.path(), &["journal", "journal.broken", "reserve"]);
        for number in 0..2_000 {
            journal.write(vec![row("a", number)]).expect("it is written");
        }
        check_modes(dir.path(), &["journal", "journal.broken"]);
    }

    #[track_caller]
    fn check_modes(dir: &Path, names: &[&str]) {
        for name in names {
            let mode = fs::metadata(dir.join(name)).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    fn row(key: &str, number: u64) -> (String, Option<Row>) {
        (key.to_owned(), Some(Row::Meta(Meta { report: number, ..Meta::default() })))
    }

    fn numbers(journal: &Journal) -> Vec<u64> {
        let number = |it: &Row| match it {
            Row::Meta(meta) => meta.report,
            Row::Deployment(_) => panic!("no deployment was written"),
        };
        journal.rows().map(number).collect()
    }
}
