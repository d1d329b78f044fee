//! Models from a folder of files, as Hugging Face and sentence-transformers lay them out: `config.json`,
//! `tokenizer.json`, `model.safetensors`. Encoders of the BERT family and `MPNet` (`bert`, `apart`), and static ones
//! that are a table of vectors (`average`).
//!
//! Everything runs on the processor, with no library that is not written in Rust. Other kinds of models are refused by
//! name.

mod apart;
mod average;
mod bert;
mod numbers;
mod pieces;
mod tokenizer;
mod weights;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

use super::{Embedder, TextKind};
use crate::error::{Error, Result};
use crate::ids::Hash128;
use bert::{Bert, Shape};
use tokenizer::Tokenizer;
use weights::Weights;

/// How many tokens of a text are read where nobody says.
const USUAL_TOKENS: usize = 256;

/// What a model is read from beside its weights; some may be missing.
const FILES: [&str; 5] = [CONFIG, TOKENIZER, POOLING, SENTENCES, PROMPTS];
const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const POOLING: &str = "1_Pooling/config.json";
const SENTENCES: &str = "sentence_bert_config.json";
const PROMPTS: &str = "config_sentence_transformers.json";

/// A model in memory.
pub struct LocalModel(Arc<Loaded>);

struct Loaded {
    name: String,
    kind: Kind,
    tokenizer: Tokenizer,
    /// How many tokens it reads at most.
    most_tokens: usize,
    /// What stands before a question, and before a passage.
    prefixes: [String; 2],
    threads: usize,
}

enum Kind {
    Bert(Box<Bert>),
    Average(average::Table),
}

/// What models are used with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalSettings {
    /// What stands before a question; as the model's files say if nothing is said.
    pub question_prefix: Option<String>,
    /// What stands before a passage; as the model's files say if nothing is said.
    pub passage_prefix: Option<String>,
    /// How many threads embed at once; 0 is 1.
    pub threads: usize,
}

/// `1_Pooling/config.json`.
#[derive(Deserialize, Default)]
struct Pooling {
    #[serde(default)]
    pooling_mode_cls_token: bool,
}

/// `sentence_bert_config.json`.
#[derive(Deserialize, Default)]
struct Sentences {
    max_seq_length: Option<usize>,
}

/// `config_sentence_transformers.json`.
#[derive(Deserialize, Default)]
struct Prompted {
    #[serde(default)]
    prompts: std::collections::BTreeMap<String, String>,
}

impl LocalModel {
    /// Reads a model from its folder. Takes as long as its file is large.
    pub fn open(folder: &Path, settings: &LocalSettings) -> Result<Self> {
        let config: Value = json(folder, CONFIG)?;
        let weights = Weights::read(&folder.join("model.safetensors"))?;
        let tokenizer = Tokenizer::read(&read(folder, TOKENIZER)?)?;
        let name = name(folder, weights.fingerprint(), settings);
        let sentences: Sentences = optional(folder, SENTENCES)?;
        let (kind, most) = match config["model_type"].as_str() {
            Some("model2vec") => (Kind::Average(average::Table::new(&weights)?), usize::MAX),
            Some("bert" | "roberta" | "xlm-roberta" | "camembert" | "mpnet") => {
                let pooling: Pooling = optional(folder, POOLING)?;
                let shape = Shape::read(&config, pooling.pooling_mode_cls_token)?;
                let most = sentences.max_seq_length.unwrap_or(USUAL_TOKENS).min(shape.most_tokens());
                (Kind::Bert(Box::new(Bert::new(shape, &weights)?)), most)
            }
            other => {
                let other = other.unwrap_or("one that config.json does not name");
                return Err(Error::Invalid(format!(
                    "the model in {} is a {other}; encoders of the BERT family (bert, roberta, xlm-roberta, mpnet) and model2vec can be read",
                    folder.display()
                )));
            }
        };
        let prompted: Prompted = optional(folder, PROMPTS)?;
        let prompt = |names: [&str; 2]| names.iter().find_map(|name| prompted.prompts.get(*name)).cloned();
        let question = settings.question_prefix.clone().or_else(|| prompt(["query", "question"])).unwrap_or_default();
        let passage = settings.passage_prefix.clone().or_else(|| prompt(["passage", "document"])).unwrap_or_default();
        let threads = settings.threads.max(1);
        let prefixes = [question, passage];
        Ok(Self(Arc::new(Loaded { name, kind, tokenizer, most_tokens: most, prefixes, threads })))
    }
}

#[async_trait]
impl Embedder for LocalModel {
    fn name(&self) -> &str {
        &self.0.name
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Vec<Vec<f32>>> {
        let (loaded, texts) = (self.0.clone(), texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        let embedded = tokio::task::spawn_blocking(move || loaded.all(&texts, kind)).await;
        embedded.map_err(|error| Error::Model { what: "the local model failed".into(), source: Some(Box::new(error)) })
    }
}

impl Loaded {
    /// The vectors of texts, on as many threads as there are for it; long texts are dealt out first.
    fn all(&self, texts: &[String], kind: TextKind) -> Vec<Vec<f32>> {
        let threads = self.threads.min(texts.len()).max(1);
        if threads == 1 {
            return texts.iter().map(|text| self.one(text, kind)).collect();
        }
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(texts[*i].len()));
        let (next, mut vectors) = (std::sync::atomic::AtomicUsize::new(0), vec![Vec::new(); texts.len()]);
        let work = || {
            let mut done = Vec::new();
            while let Some(i) = order.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                done.push((*i, self.one(&texts[*i], kind)));
            }
            done
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                let done = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                for (i, vector) in done {
                    vectors[i] = vector;
                }
            }
        });
        vectors
    }

    fn one(&self, text: &str, kind: TextKind) -> Vec<f32> {
        let prefix = match kind {
            TextKind::Question => &self.prefixes[0],
            TextKind::Passage => &self.prefixes[1],
        };
        let text = format!("{prefix}{text}");
        match &self.kind {
            Kind::Bert(bert) => bert.embed(&self.tokenizer.framed(&text, self.most_tokens)),
            Kind::Average(table) => table.embed(&self.tokenizer.bare(&text)),
        }
    }
}

/// What the vectors of a model are kept under: the name of its folder, its weights, and whatever else makes them.
fn name(folder: &Path, weights: Hash128, settings: &LocalSettings) -> String {
    let files = FILES.map(|file| std::fs::read(folder.join(file)).unwrap_or_default());
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let used = format!("{:?} {:?}", settings.question_prefix, settings.passage_prefix);
    let made_of: Vec<&[u8]> =
        [&weights.0[..], used.as_bytes()].into_iter().chain(files.iter().map(Vec::as_slice)).collect();
    let used = Hash128::of("model", &made_of).to_string();
    format!("{folder}-{}", &used[..12])
}

fn read(folder: &Path, file: &str) -> Result<String> {
    let path = folder.join(file);
    std::fs::read_to_string(&path)
        .map_err(|error| Error::Invalid(format!("{} cannot be read: {error}", path.display())))
}

fn json<T: serde::de::DeserializeOwned>(folder: &Path, file: &str) -> Result<T> {
    let text = read(folder, file)?;
    serde_json::from_str(&text)
        .map_err(|error| Error::Invalid(format!("{} is not understood: {error}", folder.join(file).display())))
}

fn optional<T: serde::de::DeserializeOwned + Default>(folder: &Path, file: &str) -> Result<T> {
    if folder.join(file).exists() { json(folder, file) } else { Ok(T::default()) }
}
