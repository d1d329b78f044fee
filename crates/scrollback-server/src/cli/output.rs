//! A file that a command writes. It gets its name once it is whole, so that one that fails leaves what was there.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use scrollback::store::sweep_parts;

/// A file on its way.
pub(super) struct Output {
    out: BufWriter<File>,
    /// As the person names it.
    named: PathBuf,
    /// What it is written to until it is whole, and where that goes then; none for a device or a pipe.
    part: Option<Part>,
}

/// Removed unless it gets its name. Until then its owner alone may read it, whoever may read the file: it is nowhere that
/// anybody looks for conversations.
struct Part {
    path: PathBuf,
    to: PathBuf,
    /// Who may read what it takes the place of.
    permissions: Option<Permissions>,
}

impl Drop for Part {
    fn drop(&mut self) {
        // If it stays, it takes room and does no other harm.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Output {
    /// A file that will be written over what is there.
    pub(super) fn over(named: &Path) -> anyhow::Result<Self> {
        let (file, part) = opened(named).with_context(|| unwritten(named))?;
        Ok(Self { out: BufWriter::new(file), named: named.to_owned(), part })
    }

    pub(super) fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.out.write_all(text.as_bytes()).with_context(|| unwritten(&self.named))
    }

    /// All is written: it is on the disk, and gets its name.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        let part = self.part.take();
        let named = self.out.flush().and_then(|()| match &part {
            Some(part) => {
                if let Some(before) = &part.permissions {
                    self.out.get_ref().set_permissions(before.clone())?;
                }
                self.out.get_ref().sync_all()?;
                std::fs::rename(&part.path, &part.to)
            }
            None => Ok(()),
        });
        named.with_context(|| unwritten(&self.named))
    }
}

fn unwritten(named: &Path) -> String {
    format!("{} cannot be written", named.display())
}

fn opened(named: &Path) -> std::io::Result<(File, Option<Part>)> {
    // A link goes on leading where it leads.
    let to = std::fs::canonicalize(named).unwrap_or_else(|_| named.to_owned());
    let before = std::fs::metadata(&to).ok();
    if before.as_ref().is_some_and(|before| !before.is_file()) {
        return Ok((File::create(named)?, None));
    }
    let mut path = to.clone().into_os_string();
    path.push(format!(".{}.part", std::process::id()));
    // One that a killed process of the same number left.
    let _ = std::fs::remove_file(&path);
    sweep_parts(&to);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let permissions = before.map(|before| before.permissions());
    Ok((file, Some(Part { path: path.into(), to, permissions })))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_once_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("all.jsonl"), folder.path().join("link"));
        std::fs::write(&file, "good").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        let old = folder.path().join("all.jsonl.7.part");
        let day = std::time::Duration::from_hours(25);
        File::create(&old).unwrap().set_modified(std::time::SystemTime::now().checked_sub(day).unwrap()).unwrap();
        let mut output = Output::over(&link).unwrap();
        output.write("better").unwrap();
        assert!(!old.exists(), "what a killed process left is swept");
        let part = folder.path().join(format!("all.jsonl.{}.part", std::process::id()));
        assert_eq!(std::fs::metadata(&part).unwrap().permissions().mode() & 0o777, 0o600);
        drop(output);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "good", "what was not finished has changed nothing");
        let mut output = Output::over(&link).unwrap();
        output.write("better").unwrap();
        output.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "better");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside it");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
