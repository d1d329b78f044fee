//! ZIP archives: the files of conversations in an export as it was downloaded.
//!
//! Only what is needed: names from the directory at the end, files that are stored or deflated, and no more bytes than
//! there is room for. What is encrypted or in several parts is told and not read.

use std::io::Read;

use flate2::Crc;
use flate2::read::DeflateDecoder;

use crate::error::{Error, Result};

/// How files in an archive begin.
const MAGIC: &[u8] = b"PK\x03\x04";
/// How the directory ends, a file's line in it begins, and how many bytes both have at least.
const END: &[u8] = b"PK\x05\x06";
const LINE: &[u8] = b"PK\x01\x02";
const END_BYTES: usize = 22;
const LINE_BYTES: usize = 46;
const HEAD_BYTES: usize = 30;
/// What stands for a number that is written elsewhere because it is too large.
const ELSEWHERE: usize = u32::MAX as usize;

/// A file in an archive.
struct Packed<'a> {
    name: String,
    is_encrypted: bool,
    method: usize,
    /// What its bytes sum up to.
    sum: usize,
    bytes: usize,
    /// Where its head stands; its bytes follow.
    at: usize,
    archive: &'a [u8],
}

/// How much may be unpacked.
struct Room {
    /// From the whole archive.
    whole: usize,
    /// How much of that is left, whatever became of what was unpacked.
    left: usize,
    /// How many bytes of the archive may still be read. Each counts once: files that share some are one over and over.
    packed: usize,
}

/// What is in an archive.
#[derive(Debug, PartialEq)]
pub(super) struct Unpacked {
    /// The files whose name is `conversations….json`: their bytes, or why there are none.
    pub(super) conversations: Vec<(String, Result<Vec<u8>, String>)>,
    /// The names of other files of JSON.
    pub(super) others: Vec<String>,
}

/// Unpacks the files of conversations; all of them may take `room` bytes, those that turn out to be damaged among them.
pub(super) fn unpack(archive: &[u8], room: usize) -> Result<Unpacked> {
    let files = directory(archive).ok_or_else(|| {
        let what = if is_large(archive) { "of the kind for very large files (ZIP64)" } else { "damaged or not whole" };
        Error::Invalid(format!("the ZIP is {what}: unpack it first"))
    })?;
    let (wanted, others): (Vec<_>, Vec<_>) = files.into_iter().partition(Packed::is_wanted);
    let mut room = Room { whole: room, left: room, packed: archive.len() };
    let conversations = wanted.into_iter().map(|file| {
        let bytes = file.unpacked(&mut room).map_err(|what| format!("{} in the ZIP {what}", file.name));
        (file.name, bytes)
    });
    let conversations = conversations.collect();
    let others = others.into_iter().filter(Packed::is_json).map(|file| file.name).collect();
    Ok(Unpacked { conversations, others })
}

impl Room {
    fn told(&self) -> String {
        format!("{} MB may be unpacked together, so unpack it first", self.whole >> 20)
    }
}

impl Packed<'_> {
    fn is_wanted(&self) -> bool {
        let name = self.name.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
        name.strip_prefix("conversations").is_some_and(|rest| rest.strip_suffix(".json").is_some())
    }

    fn is_json(&self) -> bool {
        let name = self.name.to_lowercase();
        [".json", ".jsonl"].iter().any(|ending| name.ends_with(ending))
    }

    /// Its bytes. What they take is taken from the room, whether or not they can be used.
    fn unpacked(&self, room: &mut Room) -> Result<Vec<u8>, String> {
        if room.left == 0 {
            return Err(format!("was not read for want of room: {}", room.told()));
        }
        if [self.bytes, self.at].contains(&ELSEWHERE) {
            return Err("is larger than can be read here (ZIP64): unpack it first".into());
        }
        let packed = self.packed().ok_or("is damaged or cut off")?;
        room.packed = room.packed.checked_sub(packed.len()).ok_or("is damaged: other files have the same bytes")?;
        let mut bytes = Vec::new();
        // One byte more than there is room for tells that there is more.
        let limit = room.left as u64 + 1;
        let read = match (self.is_encrypted, self.method) {
            (true, _) => return Err("is encrypted: unpack it first".into()),
            (false, 0) => packed.take(limit).read_to_end(&mut bytes),
            (false, 8) => DeflateDecoder::new(packed).take(limit).read_to_end(&mut bytes),
            (false, method) => return Err(format!("is packed in a way that is not known ({method}): unpack it first")),
        };
        let left = room.left.checked_sub(bytes.len());
        room.left = left.unwrap_or(0);
        read.map_err(|cause| format!("is damaged: {cause}"))?;
        left.ok_or_else(|| format!("is larger than there is room for: {}", room.told()))?;
        let mut sum = Crc::new();
        sum.update(&bytes);
        if sum.sum() as usize == self.sum { Ok(bytes) } else { Err("is damaged".to_owned()) }
    }

    /// Its bytes, as they are packed.
    fn packed(&self) -> Option<&[u8]> {
        let head = self.archive.get(self.at..)?;
        let begin = HEAD_BYTES + short(head, 26)? + short(head, 28)?;
        head.get(begin..begin.checked_add(self.bytes)?)
    }
}

/// Whether these are the bytes of an archive. An empty one is nothing but its end.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(END)
}

/// Where the directory's end stands.
fn end(archive: &[u8]) -> Option<usize> {
    let last = archive.len().checked_sub(END_BYTES)?;
    (last.saturating_sub(usize::from(u16::MAX))..=last).rev().find(|at| archive[*at..].starts_with(END))
}

/// Whether the directory is one of those whose numbers stand elsewhere.
fn is_large(archive: &[u8]) -> bool {
    let number = |end: usize| Some((short(archive, end + 10)?, long(archive, end + 16)?));
    let told = end(archive).and_then(number);
    told.is_some_and(|(count, at)| count == usize::from(u16::MAX) || at == ELSEWHERE)
}

/// All files of an archive.
fn directory(archive: &[u8]) -> Option<Vec<Packed<'_>>> {
    let end = end(archive)?;
    let (count, mut at) = (short(archive, end + 10)?, long(archive, end + 16)?);
    let mut files = Vec::new();
    for _ in 0..count {
        let line = archive.get(at..)?;
        let named = short(line, 28)?;
        let name = String::from_utf8_lossy(line.get(LINE_BYTES..LINE_BYTES + named)?).into_owned();
        let (is_encrypted, method) = (short(line, 8)? & 1 == 1, short(line, 10)?);
        let [sum, bytes, head] = [long(line, 16)?, long(line, 20)?, long(line, 42)?];
        line.starts_with(LINE).then_some(())?;
        files.push(Packed { name, is_encrypted, method, sum, bytes, at: head, archive });
        at += LINE_BYTES + named + short(line, 30)? + short(line, 32)?;
    }
    Some(files)
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    let two = bytes.get(at..at + 2)?;
    Some(usize::from(u16::from_le_bytes(two.try_into().ok()?)))
}

fn long(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at + 4)?;
    usize::try_from(u32::from_le_bytes(four.try_into().ok()?)).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use super::*;

    fn two(number: usize) -> [u8; 2] {
        u16::try_from(number).unwrap().to_le_bytes()
    }

    fn four(number: usize) -> [u8; 4] {
        u32::try_from(number).unwrap().to_le_bytes()
    }

    /// An archive of some files.
    pub(in crate::import) fn archive_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut archive, mut lines) = (Vec::new(), Vec::new());
        for (name, bytes) in files {
            let mut deflated = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            deflated.write_all(bytes).unwrap();
            let packed = deflated.finish().unwrap();
            let mut sum = Crc::new();
            sum.update(bytes);
            let sizes = [sum.sum().to_le_bytes(), four(packed.len()), four(bytes.len())].concat();
            let about = [&[20, 0, 0, 0, 8, 0, 0, 0, 0, 0][..], &sizes, &two(name.len()), &[0, 0]].concat();
            let at = four(archive.len());
            archive.extend([MAGIC, &about, name.as_bytes(), &packed].concat());
            lines.extend([LINE, &[20, 0], &about, &[0; 10], &at, name.as_bytes()].concat());
        }
        let (count, place) = (two(files.len()), [four(lines.len()), four(archive.len())].concat());
        [&archive[..], &lines, END, &[0; 4], &count, &count, &place, &[0, 0]].concat()
    }

    #[test]
    fn files_of_conversations_are_found_wherever_they_stand_and_others_are_named() {
        let files: [(&str, &[u8]); 4] = [
            ("user.json", b"{}"),
            ("conversations.json", b"[1]"),
            ("out\\Conversations-001.JSON", b"[2]"),
            ("conversations/a.png", b""),
        ];
        let found = unpack(&archive_of(&files), 100).unwrap();
        assert_eq!(
            found.conversations,
            [files[1], files[2]].map(|(name, bytes)| (name.to_owned(), Ok(bytes.to_vec())))
        );
        assert_eq!(found.others, ["user.json"]);
    }

    #[test]
    fn no_more_is_unpacked_than_there_is_room_for() {
        let zeroes = vec![b'0'; 1 << 20];
        let archive = archive_of(&[("conversations-000.json", &zeroes), ("conversations-001.json", &zeroes)]);
        let are_read = |room| unpack(&archive, room).unwrap().conversations.into_iter().map(|(_, read)| read);
        assert!(archive.len() < 10_000 && are_read(2 << 20).all(|read| read.is_ok()));
        let [Ok(_), Err(error)] = &are_read((2 << 20) - 1).collect::<Vec<_>>()[..] else { panic!("the second") };
        assert!(error.contains("conversations-001.json in the ZIP is larger"), "{error}");
    }

    #[test]
    fn what_cannot_be_used_takes_room_too() {
        let zeroes = vec![b'0'; 1 << 20];
        let names: Vec<String> = (0..9).map(|i| format!("conversations-{i}.json")).collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &zeroes[..])).collect();
        let mut archive = archive_of(&files);
        let lines: Vec<usize> = (0..archive.len()).filter(|at| archive[*at..].starts_with(LINE)).collect();
        // What it should sum up to.
        for at in lines {
            archive[at + 16] ^= 1;
        }
        let read = unpack(&archive, (2 << 20) + 1).unwrap().conversations;
        let told: Vec<String> = read.into_iter().map(|(_, read)| read.unwrap_err()).collect();
        assert!(told[..2].iter().all(|told| told.ends_with("in the ZIP is damaged")), "{told:?}");
        assert!(told[2].contains("is larger than there is room for"), "{told:?}");
        assert!(told[3..].iter().all(|told| told.contains("was not read for want of room: 2 MB")), "{told:?}");
    }

    #[test]
    fn the_same_bytes_are_not_unpacked_for_every_file_that_names_them() {
        let next = |number: &u32| Some(number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        let noise = std::iter::successors(Some(1), next).map(|number| number.to_be_bytes()[0]);
        let one = archive_of(&[("conversations.json", &noise.take(10_000).collect::<Vec<u8>>())]);
        let end = one.len() - END_BYTES;
        let begin = long(&one, end + 16).unwrap();
        let (count, line) = (100, &one[begin..end]);
        let place = [four(line.len() * count), four(begin)].concat();
        let lines = [&one[..begin], &line.repeat(count), END, &[0; 4]].concat();
        let archive = [&lines[..], &two(count), &two(count), &place, &[0, 0]].concat();
        let read = unpack(&archive, 1 << 30).unwrap().conversations;
        assert!(read.len() == count && read[0].1.is_ok());
        let is_told = |told: &str| told.contains("other files have the same bytes");
        assert!(read[1..].iter().all(|(_, read)| read.as_ref().is_err_and(|told| is_told(told))), "{:?}", read[1].1);
    }

    #[test]
    fn damaged_archives_are_told_and_nothing_panics() {
        let archive = archive_of(&[("conversations.json", b"[{\"a\": 1}, {\"b\": 2}]")]);
        for end in 0..archive.len() {
            assert!(unpack(&archive[..end], 1000).is_err(), "{end}");
        }
        let whole = unpack(&archive, 1000).unwrap().conversations;
        for at in 0..archive.len() {
            let mut broken = archive.clone();
            broken[at] ^= 0xff;
            let Ok(Unpacked { conversations, .. }) = unpack(&broken, 1000) else { continue };
            assert!(conversations.iter().all(|(_, read)| read.is_err()) || conversations == whole, "{at}");
        }
        assert_eq!(unpack(&archive_of(&[("a.png", b"")]), 9).unwrap().conversations, []);
        let empty = archive_of(&[]);
        assert!(is_archive(&empty) && unpack(&empty, 9).unwrap().conversations.is_empty());
    }

    #[test]
    fn archives_for_very_large_files_are_told_apart() {
        let archive = archive_of(&[("conversations.json", b"[]")]);
        let end = archive.len() - END_BYTES;
        for at in [end + 10, end + 16] {
            let mut large = archive.clone();
            large[at..at + 4].fill(0xff);
            let error = unpack(&large, 9).unwrap_err().to_string();
            assert!(error.contains("ZIP64"), "{error}");
        }
        let mut large = archive.clone();
        let line = archive.windows(4).position(|four| four == LINE).unwrap();
        large[line + 20..line + 24].fill(0xff);
        let Err(error) = &unpack(&large, 9).unwrap().conversations[0].1 else { panic!("it is larger") };
        assert!(error.contains("ZIP64"), "{error}");
    }
}
