//! What the messages and questions of a conversation mean, as vectors, for baselines that go by them.

use scrollback::Result;
use scrollback::embed::{TextKind, cosine, passages};
use scrollback::search::gather::Voice;

use crate::dataset::recall::Talk;
use crate::suite::played::Embedding;

/// How near every message is to every question.
pub struct Meanings {
    near: Vec<Vec<f64>>,
}

impl Meanings {
    /// Embeds a conversation; its messages in as many passages as the engine has of them, the nearest of which counts.
    pub async fn of(talk: &Talk, Embedding { embedder, settings }: &Embedding) -> Result<Self> {
        let mut pieces: Vec<(usize, &str)> = Vec::new();
        for (place, said) in talk.messages.iter().enumerate() {
            let most = match said.voice {
                Voice::Person => settings.passages,
                Voice::Model => settings.reply_passages,
            };
            pieces.extend(passages(&said.text, most).into_iter().map(|piece| (place, piece)));
        }
        let mut vectors = Vec::with_capacity(pieces.len());
        for batch in pieces.chunks(settings.batch.max(1)) {
            let texts: Vec<&str> = batch.iter().map(|(_, piece)| *piece).collect();
            vectors.extend(embedder.embed(&texts, TextKind::Passage).await?);
        }
        let mut near = Vec::with_capacity(talk.questions.len());
        for asked in &talk.questions {
            let question = embedder.embed(&[&asked.text], TextKind::Question).await?;
            let question = question.first().map(Vec::as_slice).unwrap_or_default();
            let mut of_question = vec![-1.0_f64; talk.messages.len()];
            for ((place, _), vector) in pieces.iter().zip(&vectors) {
                of_question[*place] = of_question[*place].max(f64::from(cosine(question, vector)));
            }
            near.push(of_question);
        }
        Ok(Self { near })
    }

    /// As somebody says: for each question, for each message.
    pub fn known(near: Vec<Vec<f64>>) -> Self {
        Self { near }
    }

    /// How near every message is to a question, by its number.
    pub fn near(&self, question: usize) -> &[f64] {
        &self.near[question]
    }
}
