//! Vectors that are kept between runs: embedding a dataset takes minutes, reading its vectors none.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use scrollback::embed::{Embedder, TextKind};
use scrollback::ids::Hash128;
use scrollback::{Error, Result};

/// How many bytes of a hash stand before each vector, and how many tell its length.
const HASH: usize = 16;
const LENGTH: usize = 4;

/// An embedder that asks another only once for each text.
pub struct Cached {
    inner: Arc<dyn Embedder>,
    known: Mutex<Known>,
}

struct Known {
    vectors: HashMap<Hash128, Arc<[f32]>>,
    file: Option<File>,
}

impl Cached {
    /// Keeps what another makes in memory.
    pub fn new(inner: Arc<dyn Embedder>) -> Self {
        Self { inner, known: Mutex::new(Known { vectors: HashMap::new(), file: None }) }
    }

    /// Keeps what another makes in a folder, and begins with what is there.
    pub fn open(folder: &Path, inner: Arc<dyn Embedder>) -> Result<Self> {
        let name = Hash128::of("embedder", &[inner.name().as_bytes()]);
        let path = folder.join(format!("{name}.vectors"));
        let lost = |error: std::io::Error| Error::Store {
            what: format!("{} cannot be used for vectors", path.display()),
            source: Some(Box::new(error)),
        };
        std::fs::create_dir_all(folder).map_err(lost)?;
        let bytes = if path.exists() { std::fs::read(&path).map_err(lost)? } else { Vec::new() };
        let (vectors, whole) = read(&bytes);
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(lost)?;
        // What was cut off is written again.
        file.set_len(whole as u64).map_err(lost)?;
        Ok(Self { inner, known: Mutex::new(Known { vectors, file: Some(file) }) })
    }

    fn get(&self, hash: &Hash128) -> Option<Arc<[f32]>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).vectors.get(hash).cloned()
    }

    fn put(&self, hashes: Vec<Hash128>, vectors: Vec<Vec<f32>>) -> Result<()> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        for (hash, vector) in hashes.into_iter().zip(vectors) {
            bytes.extend(hash.0);
            bytes.extend(u32::try_from(vector.len()).unwrap_or(0).to_le_bytes());
            bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
            known.vectors.insert(hash, vector.into());
        }
        let written = known.file.as_mut().map_or(Ok(()), |file| file.write_all(&bytes));
        written.map_err(|error| Error::Store { what: "vectors cannot be kept".into(), source: Some(Box::new(error)) })
    }
}

#[async_trait]
impl Embedder for Cached {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Vec<Vec<f32>>> {
        let of_kind = match kind {
            TextKind::Question => "question",
            TextKind::Passage => "passage",
        };
        let hashes: Vec<Hash128> = texts.iter().map(|text| Hash128::of(of_kind, &[text.as_bytes()])).collect();
        let (mut missing, mut unknown): (Vec<&str>, Vec<Hash128>) = (Vec::new(), Vec::new());
        for (text, hash) in texts.iter().zip(&hashes) {
            if self.get(hash).is_none() && !unknown.contains(hash) {
                missing.push(text);
                unknown.push(*hash);
            }
        }
        if !missing.is_empty() {
            self.put(unknown, self.inner.embed(&missing, kind).await?)?;
        }
        let found = hashes.iter().map(|hash| self.get(hash).map(|vector| vector.to_vec()));
        found
            .collect::<Option<_>>()
            .ok_or_else(|| Error::Model { what: "the embedder left texts out".into(), source: None })
    }
}

/// The vectors in a file, and how much of it is whole.
fn read(bytes: &[u8]) -> (HashMap<Hash128, Arc<[f32]>>, usize) {
    let (mut vectors, mut at) = (HashMap::new(), 0);
    while let Some((hash, vector)) = next(&bytes[at..]) {
        at += HASH + LENGTH + 4 * vector.len();
        vectors.insert(hash, vector);
    }
    (vectors, at)
}

fn next(bytes: &[u8]) -> Option<(Hash128, Arc<[f32]>)> {
    let hash = bytes.get(..HASH)?.try_into().ok()?;
    let length = u32::from_le_bytes(bytes.get(HASH..HASH + LENGTH)?.try_into().ok()?) as usize;
    let numbers = bytes.get(HASH + LENGTH..)?.get(..4 * length)?;
    let number = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    Some((Hash128(hash), numbers.chunks_exact(4).map(number).collect()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Counting(AtomicUsize);

    #[async_trait]
    impl Embedder for Counting {
        fn name(&self) -> &'static str {
            "counting"
        }

        #[expect(clippy::cast_precision_loss, reason = "texts are short")]
        async fn embed(&self, texts: &[&str], _: TextKind) -> Result<Vec<Vec<f32>>> {
            self.0.fetch_add(texts.len(), Ordering::Relaxed);
            Ok(texts.iter().map(|text| vec![text.len() as f32, 1.0]).collect())
        }
    }

    #[test]
    fn a_text_is_embedded_once_even_if_the_file_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let counting = Arc::new(Counting(AtomicUsize::new(0)));
        let asked = |texts: &'static [&str], kind| {
            let cached = Cached::open(folder.path(), counting.clone()).unwrap();
            let vectors = crate::player::run(async { cached.embed(texts, kind).await }).unwrap();
            (vectors, counting.0.load(Ordering::Relaxed))
        };
        let (vectors, count) = asked(&["a", "bb", "a"], TextKind::Passage);
        assert_eq!((vectors, count), (vec![vec![1.0, 1.0], vec![2.0, 1.0], vec![1.0, 1.0]], 2));
        assert_eq!(asked(&["bb", "a"], TextKind::Passage).1, 2);
        assert_eq!(asked(&["a"], TextKind::Question).1, 3, "a question is not a passage");
        let path = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        assert_eq!(asked(&["a", "bb"], TextKind::Passage).1, 3);
        assert_eq!(asked(&["a"], TextKind::Question).1, 4, "what was cut off is made anew");
        assert_eq!(asked(&["a", "bb"], TextKind::Passage).1, 4);
    }
}
