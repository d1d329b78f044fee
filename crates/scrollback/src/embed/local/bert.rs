//! The forward pass of an encoder: embeddings, layers of attention and feed-forward steps, and one vector for the text.
//! A text at a time, as long as it is: nothing is padded, so nothing has to be masked.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, Axis, Slice};
use serde_json::Value;

use super::apart::Apart;
use super::numbers::{Between, softmax};
use super::weights::Weights;
use crate::error::{Error, Result};

/// What `config.json` says.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    heads: usize,
    layers: usize,
    between: Between,
    epsilon: f32,
    /// The number of the first place in a text.
    first_place: usize,
    places: usize,
    /// Whether the first token stands for the text, instead of the mean of all.
    takes_first: bool,
    names: &'static Names,
}

/// What weights are called.
#[derive(Debug)]
struct Names {
    query: &'static str,
    key: &'static str,
    value: &'static str,
    output: &'static str,
    attended: &'static str,
    /// What distances between tokens count, where that is learnt.
    apart: Option<&'static str>,
}

const BERT: Names = Names {
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    output: "attention.output.dense",
    attended: "attention.output.LayerNorm",
    apart: None,
};
const MPNET: Names = Names {
    query: "attention.attn.q",
    key: "attention.attn.k",
    value: "attention.attn.v",
    output: "attention.attn.o",
    attended: "attention.LayerNorm",
    apart: Some("encoder.relative_attention_bias.weight"),
};

impl Shape {
    pub(super) fn read(config: &Value, takes_first: bool) -> Result<Self> {
        let number = |name: &str| {
            let number = config[name].as_u64().and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(|| Error::Invalid(format!("config.json of the model has no {name}")))
        };
        let between = match config["hidden_act"].as_str().unwrap_or("gelu") {
            "gelu" => Between::Gelu,
            "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => Between::GeluTanh,
            "relu" => Between::Relu,
            other => return Err(Error::Invalid(format!("the model's hidden_act is “{other}”, which is not known"))),
        };
        if config["position_embedding_type"].as_str().is_some_and(|kind| kind != "absolute") {
            return Err(Error::Invalid("the model's places are not absolute, which cannot be read".into()));
        }
        let is_bert = config["model_type"] == "bert";
        // Models after RoBERTa number places from the padding token on.
        let first_place = if is_bert { 0 } else { number("pad_token_id").unwrap_or(1) + 1 };
        #[expect(clippy::cast_possible_truncation, reason = "it is a small number")]
        let epsilon = config["layer_norm_eps"].as_f64().unwrap_or(1e-12) as f32;
        let (heads, layers) = (number("num_attention_heads")?.max(1), number("num_hidden_layers")?);
        let places = number("max_position_embeddings")?;
        let names = if config["model_type"] == "mpnet" { &MPNET } else { &BERT };
        Ok(Self { heads, layers, between, epsilon, first_place, places, takes_first, names })
    }

    /// How many tokens it can read.
    pub(super) fn most_tokens(&self) -> usize {
        self.places.saturating_sub(self.first_place)
    }
}

/// An encoder.
pub(super) struct Bert {
    shape: Shape,
    words: Array2<f32>,
    places: Array2<f32>,
    /// What every token of the first and only text of a pair has.
    kind: Array1<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    /// How much a token looks at another by how far away it is, in `MPNet`.
    apart: Option<Apart>,
}

struct Linear {
    weight: Array2<f32>,
    bias: Array1<f32>,
}

struct Norm {
    weight: Array1<f32>,
    bias: Array1<f32>,
    epsilon: f32,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    attended: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

impl Linear {
    fn read(weights: &Weights, name: &str) -> Result<Self> {
        Ok(Self { weight: weights.matrix(&format!("{name}.weight"))?, bias: weights.row(&format!("{name}.bias"))? })
    }

    fn apply(&self, rows: &Array2<f32>) -> Array2<f32> {
        let shape = (rows.nrows(), self.weight.nrows());
        let mut out = Array2::from_shape_fn(shape, |(_, column)| self.bias[column]);
        general_mat_mul(1.0, rows, &self.weight.t(), 1.0, &mut out);
        out
    }
}

impl Norm {
    fn read(weights: &Weights, name: &str, epsilon: f32) -> Result<Self> {
        // Old files call them gamma and beta.
        let either = |new: &str, old: &str| {
            let (new, old) = (format!("{name}.{new}"), format!("{name}.{old}"));
            weights.row(if weights.has(&new) { &new } else { &old })
        };
        Ok(Self { weight: either("weight", "gamma")?, bias: either("bias", "beta")?, epsilon })
    }

    #[expect(clippy::cast_precision_loss, reason = "a row has few numbers")]
    fn apply(&self, mut rows: Array2<f32>) -> Array2<f32> {
        let count = rows.ncols() as f32;
        for mut row in rows.rows_mut() {
            let mean = row.sum() / count;
            row -= mean;
            let spread = row.iter().map(|number| number * number).sum::<f32>() / count;
            row *= 1.0 / (spread + self.epsilon).sqrt();
            row *= &self.weight;
            row += &self.bias;
        }
        rows
    }
}

impl Layer {
    fn read(weights: &Weights, number: usize, shape: &Shape) -> Result<Self> {
        let linear = |name: &str| Linear::read(weights, &format!("encoder.layer.{number}.{name}"));
        let norm = |name: &str| Norm::read(weights, &format!("encoder.layer.{number}.{name}"), shape.epsilon);
        Ok(Self {
            query: linear(shape.names.query)?,
            key: linear(shape.names.key)?,
            value: linear(shape.names.value)?,
            output: linear(shape.names.output)?,
            attended: norm(shape.names.attended)?,
            up: linear("intermediate.dense")?,
            down: linear("output.dense")?,
            norm: norm("output.LayerNorm")?,
        })
    }

    fn apply(&self, rows: &Array2<f32>, shape: &Shape, apart: Option<&Apart>) -> Array2<f32> {
        let attended = self.attended.apply(self.output.apply(&self.attend(rows, shape.heads, apart)) + rows);
        let mut wide = self.up.apply(&attended);
        wide.as_slice_mut().into_iter().for_each(|numbers| shape.between.apply(numbers));
        self.norm.apply(self.down.apply(&wide) + &attended)
    }

    /// What each token takes from all, by how its question meets their answers.
    #[expect(clippy::cast_precision_loss, reason = "a head has few numbers")]
    fn attend(&self, rows: &Array2<f32>, heads: usize, apart: Option<&Apart>) -> Array2<f32> {
        let (query, key, value) = (self.query.apply(rows), self.key.apply(rows), self.value.apply(rows));
        let width = query.ncols() / heads;
        let (scale, mut taken) = (1.0 / (width as f32).sqrt(), Array2::zeros(query.raw_dim()));
        let mut scores = Array2::zeros((rows.nrows(), rows.nrows()));
        for head in 0..heads {
            let part = Slice::from(head * width..(head + 1) * width);
            let of = |all: &Array2<f32>| all.slice_axis(Axis(1), part).to_owned();
            general_mat_mul(scale, &of(&query), &of(&key).t(), 0.0, &mut scores);
            if let Some(apart) = apart {
                apart.add(head, &mut scores);
            }
            for mut row in scores.rows_mut() {
                row.as_slice_mut().into_iter().for_each(softmax);
            }
            let mut of_head = taken.slice_axis_mut(Axis(1), part);
            general_mat_mul(1.0, &scores, &of(&value), 0.0, &mut of_head);
        }
        taken
    }
}

impl Bert {
    pub(super) fn new(shape: Shape, weights: &Weights) -> Result<Self> {
        let epsilon = shape.epsilon;
        let words = weights.matrix("embeddings.word_embeddings.weight")?;
        let places = weights.matrix("embeddings.position_embeddings.weight")?;
        let kinds = "embeddings.token_type_embeddings.weight";
        let kind =
            if weights.has(kinds) { weights.matrix(kinds)?.row(0).to_owned() } else { Array1::zeros(words.ncols()) };
        let norm = Norm::read(weights, "embeddings.LayerNorm", epsilon)?;
        let layers =
            (0..shape.layers).map(|number| Layer::read(weights, number, &shape)).collect::<Result<Vec<_>>>()?;
        let apart = shape.names.apart.map(|name| Apart::read(weights, name)).transpose()?;
        let bert = Self { shape, words, places, kind, norm, layers, apart };
        bert.fits()
            .then_some(bert)
            .ok_or_else(|| Error::Invalid("the model's weights do not fit its config.json".into()))
    }

    /// Whether all that is multiplied can be.
    fn fits(&self) -> bool {
        let width = self.words.ncols();
        let linear =
            |linear: &Linear, from: usize, to: usize| linear.weight.dim() == (to, from) && linear.bias.len() == to;
        let norm = |norm: &Norm| norm.weight.len() == width && norm.bias.len() == width;
        let layer = |layer: &Layer| {
            let square = [&layer.query, &layer.key, &layer.value, &layer.output].map(|one| linear(one, width, width));
            let wide = layer.up.weight.nrows();
            let steps = [linear(&layer.up, width, wide), linear(&layer.down, wide, width)];
            square.into_iter().chain(steps).all(|fits| fits) && norm(&layer.attended) && norm(&layer.norm)
        };
        let places = self.places.ncols() == width && self.places.nrows() >= self.shape.places;
        let whole = width.is_multiple_of(self.shape.heads) && self.kind.len() == width && self.words.nrows() > 0;
        let apart = self.apart.as_ref().is_none_or(|apart| apart.fits(self.shape.heads));
        places && whole && apart && norm(&self.norm) && self.layers.iter().all(layer)
    }

    /// The vector of a text, of length one.
    pub(super) fn embed(&self, tokens: &[u32]) -> Vec<f32> {
        let mut rows = Array2::zeros((tokens.len(), self.words.ncols()));
        for ((place, token), mut row) in tokens.iter().enumerate().zip(rows.rows_mut()) {
            // A tokenizer with more tokens than the model has words is not its own.
            row += &self.words.row((*token as usize).min(self.words.nrows() - 1));
            row += &self.places.row(self.shape.first_place + place);
            row += &self.kind;
        }
        let through = |rows: Array2<f32>, layer: &Layer| layer.apply(&rows, &self.shape, self.apart.as_ref());
        let rows = self.layers.iter().fold(self.norm.apply(rows), through);
        let pooled = if self.shape.takes_first { Some(rows.row(0).to_owned()) } else { rows.mean_axis(Axis(0)) };
        normalised(&pooled.unwrap_or_default())
    }
}

/// A vector at length one.
pub(super) fn normalised(vector: &Array1<f32>) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    vector.iter().map(|number| number / length).collect()
}
