//! `[embeddings]`: where vectors come from, and how they are used.

use std::path::{Path, PathBuf};

use anyhow::bail;
use scrollback::embed::EmbedSettings;
use serde::Deserialize;

/// What the file may say.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SaidEmbeddings {
    from: String,
    model: String,
    key_env: String,
    dimensions: usize,
    question_prefix: String,
    passage_prefix: String,
    question_ms: u64,
    batch: usize,
    passages: usize,
    reply_passages: usize,
    memory_megabytes: usize,
    threads: usize,
}

impl Default for SaidEmbeddings {
    fn default() -> Self {
        let EmbedSettings { question_ms, batch, passages, reply_passages, memory_megabytes } = EmbedSettings::default();
        Self {
            from: String::new(),
            model: String::new(),
            key_env: String::new(),
            dimensions: 0,
            question_prefix: String::new(),
            passage_prefix: String::new(),
            question_ms,
            batch,
            passages,
            reply_passages,
            memory_megabytes,
            threads: 1,
        }
    }
}

/// Where vectors come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EmbeddingSource {
    /// Nowhere: there are none.
    None,
    /// A model in a folder.
    Folder(PathBuf),
    /// An API at an address.
    Api(String),
}

/// What the settings mean.
#[derive(Clone, Debug)]
pub(crate) struct EmbeddingSettings {
    pub(crate) source: EmbeddingSource,
    pub(crate) model: String,
    pub(crate) key_env: String,
    pub(crate) dimensions: usize,
    pub(crate) question_prefix: String,
    pub(crate) passage_prefix: String,
    pub(crate) threads: usize,
    pub(crate) engine: EmbedSettings,
}

impl SaidEmbeddings {
    /// The same with a whole path, where it names a folder.
    pub(super) fn placed(self, whole: impl Fn(&Path) -> PathBuf) -> Self {
        match source(&self.from) {
            EmbeddingSource::Folder(folder) => Self { from: whole(&folder).display().to_string(), ..self },
            EmbeddingSource::None | EmbeddingSource::Api(_) => self,
        }
    }

    pub(super) fn meant(self) -> anyhow::Result<EmbeddingSettings> {
        let source = source(&self.from);
        if matches!(source, EmbeddingSource::Api(_)) && self.model.is_empty() {
            bail!("embeddings.from is an API: say with embeddings.model which of its models is asked");
        }
        if self.batch == 0 {
            bail!("embeddings.batch is a number of passages, at least 1");
        }
        let Self { question_ms, batch, passages, reply_passages, memory_megabytes, .. } = self;
        Ok(EmbeddingSettings {
            source,
            model: self.model,
            key_env: self.key_env,
            dimensions: self.dimensions,
            question_prefix: self.question_prefix,
            passage_prefix: self.passage_prefix,
            threads: self.threads,
            engine: EmbedSettings { question_ms, batch, passages, reply_passages, memory_megabytes },
        })
    }
}

impl EmbeddingSettings {
    /// The same from elsewhere, as the command line says.
    pub(crate) fn from(&self, from: &str, model: Option<&str>) -> anyhow::Result<Self> {
        let source = source(from);
        let model = model.map_or_else(|| self.model.clone(), str::to_owned);
        if matches!(source, EmbeddingSource::Api(_)) && model.is_empty() {
            bail!("{from} is an API: say with --embed-model which of its models is asked");
        }
        Ok(Self { source, model, ..self.clone() })
    }

    /// What people call it.
    pub(crate) fn shown(&self) -> String {
        match &self.source {
            EmbeddingSource::None => "off".to_owned(),
            EmbeddingSource::Folder(folder) => folder.display().to_string(),
            EmbeddingSource::Api(url) => format!("{} at {url}", self.model),
        }
    }
}

fn source(from: &str) -> EmbeddingSource {
    if from.is_empty() {
        EmbeddingSource::None
    } else if from.starts_with("http://") || from.starts_with("https://") {
        EmbeddingSource::Api(from.to_owned())
    } else {
        EmbeddingSource::Folder(PathBuf::from(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_an_api_or_nothing() {
        let said = |from: &str, model: &str| SaidEmbeddings {
            from: from.into(),
            model: model.into(),
            ..SaidEmbeddings::default()
        };
        assert_eq!(said("", "").meant().unwrap().source, EmbeddingSource::None);
        let folder = said("/models/minilm", "").meant().unwrap();
        assert_eq!(
            (folder.source.clone(), folder.shown()),
            (EmbeddingSource::Folder("/models/minilm".into()), "/models/minilm".into())
        );
        assert!(said("http://127.0.0.1:11434/v1", "").meant().is_err(), "nobody knows which model");
        let api = said("http://127.0.0.1:11434/v1", "bge-m3").meant().unwrap();
        assert_eq!(api.shown(), "bge-m3 at http://127.0.0.1:11434/v1");
        assert!(api.from("https://a.example/v1", None).is_ok() && folder.from("https://a.example/v1", None).is_err());
        assert!(SaidEmbeddings { batch: 0, ..said("", "") }.meant().is_err());
        assert!(SaidEmbeddings { passages: 0, ..said("", "") }.meant().is_ok(), "none, as the file says");
    }
}
