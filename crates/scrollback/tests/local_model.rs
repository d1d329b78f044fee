//! Models that are read from files, against the same sums done plainly.
#![cfg(feature = "local-embeddings")]
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use std::collections::BTreeMap;
use std::path::Path;

use scrollback::embed::local::{LocalModel, LocalSettings};
use scrollback::embed::{Embedder, TextKind, cosine};
use serde_json::{Value, json};

const WIDTH: usize = 8;
const WIDE: usize = 12;
const HEADS: usize = 2;
const LAYERS: usize = 2;
const WORDS: [&str; 9] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "##s", "."];

type Matrix = Vec<Vec<f64>>;

/// What a family calls the parts of its attention: questions, keys, values, output, norm.
type Names = [&'static str; 5];
const BERT: Names = ["self.query", "self.key", "self.value", "output.dense", "output.LayerNorm"];
const MPNET: Names = ["attn.q", "attn.k", "attn.v", "attn.o", "LayerNorm"];
/// How many baskets of distances `MPNet` has here: one for each of 0 and 1, and one for all that is further, each way.
const BASKETS: usize = 4;

/// Weights by name: rows and columns, and numbers that look like chance.
#[derive(Default)]
struct Tiny {
    family: &'static str,
    names: Names,
    weights: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

impl Tiny {
    fn new(family: &'static str) -> Self {
        let names = if family == "mpnet" { MPNET } else { BERT };
        let mut tiny = Self { family, names, weights: BTreeMap::new() };
        tiny.add("embeddings.word_embeddings.weight", &[WORDS.len(), WIDTH]);
        tiny.add("embeddings.position_embeddings.weight", &[16 + tiny.first_place(), WIDTH]);
        if family == "mpnet" {
            tiny.add("encoder.relative_attention_bias.weight", &[BASKETS, HEADS]);
        } else {
            tiny.add("embeddings.token_type_embeddings.weight", &[2, WIDTH]);
        }
        tiny.pair("embeddings.LayerNorm", &[WIDTH]);
        for layer in 0..LAYERS {
            let name = |rest: &str| format!("encoder.layer.{layer}.{rest}");
            for part in &names[..4] {
                tiny.pair(&name(&format!("attention.{part}")), &[WIDTH, WIDTH]);
            }
            tiny.pair(&name(&format!("attention.{}", names[4])), &[WIDTH]);
            tiny.pair(&name("intermediate.dense"), &[WIDE, WIDTH]);
            tiny.pair(&name("output.dense"), &[WIDTH, WIDE]);
            tiny.pair(&name("output.LayerNorm"), &[WIDTH]);
        }
        tiny
    }

    /// The number of the first place; models after `RoBERTa` count from the padding token on.
    fn first_place(&self) -> usize {
        if self.family == "mpnet" { 2 } else { 0 }
    }

    /// How much more a token looks at another, because of their places.
    fn apart(&self, from: usize, to: usize, head: usize) -> f64 {
        if self.family != "mpnet" {
            return 0.0;
        }
        let ahead = if to > from { BASKETS / 2 } else { 0 };
        self.matrix("encoder.relative_attention_bias.weight")[ahead + from.abs_diff(to).min(1)][head]
    }

    fn pair(&mut self, name: &str, shape: &[usize]) {
        self.add(&format!("{name}.weight"), shape);
        self.add(&format!("{name}.bias"), &shape[..1]);
    }

    fn add(&mut self, name: &str, shape: &[usize]) {
        let seed = u32::try_from(self.weights.len()).unwrap() * 7_919;
        let number = |i: u32| {
            let mixed = (seed + i).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(40_503);
            f32::from(u16::try_from(mixed >> 16).unwrap()) / 65_536.0 - 0.5
        };
        let count = u32::try_from(shape.iter().product::<usize>()).unwrap();
        self.weights.insert(name.to_owned(), (shape.to_vec(), (0..count).map(number).collect()));
    }

    fn matrix(&self, name: &str) -> Matrix {
        let (shape, numbers) = &self.weights[name];
        numbers
            .chunks(*shape.last().unwrap())
            .map(|row| row.iter().map(|number| f64::from(*number)).collect())
            .collect()
    }

    fn row(&self, name: &str) -> Vec<f64> {
        self.matrix(name).remove(0)
    }

    fn linear(&self, name: &str, rows: &Matrix) -> Matrix {
        let (weight, bias) = (self.matrix(&format!("{name}.weight")), self.row(&format!("{name}.bias")));
        let one = |row: &Vec<f64>| weight.iter().zip(&bias).map(|(weight, bias)| dot(row, weight) + bias).collect();
        rows.iter().map(one).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "rows are short")]
    fn norm(&self, name: &str, rows: &Matrix) -> Matrix {
        let (weight, bias) = (self.row(&format!("{name}.weight")), self.row(&format!("{name}.bias")));
        let one = |row: &Vec<f64>| {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let spread = row.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / row.len() as f64;
            let scaled = row.iter().map(|number| (number - mean) / (spread + 1e-12).sqrt());
            scaled.zip(weight.iter().zip(&bias)).map(|(number, (weight, bias))| number * weight + bias).collect()
        };
        rows.iter().map(one).collect()
    }

    fn layer(&self, layer: usize, rows: &Matrix) -> Matrix {
        let name = |rest: &str| format!("encoder.layer.{layer}.{rest}");
        let [query, key, value] =
            [0, 1, 2].map(|part: usize| self.linear(&name(&format!("attention.{}", self.names[part])), rows));
        let size = WIDTH / HEADS;
        let mut taken = vec![vec![0.0; WIDTH]; rows.len()];
        for (i, taken) in taken.iter_mut().enumerate() {
            for head in 0..HEADS {
                let of = head * size..(head + 1) * size;
                let score = |(to, key): (usize, &Vec<f64>)| {
                    (dot(&query[i][of.clone()], &key[of.clone()]) / 2.0 + self.apart(i, to, head)).exp()
                };
                let scores: Vec<f64> = key.iter().enumerate().map(score).collect();
                let sum: f64 = scores.iter().sum();
                for column in of {
                    taken[column] = scores.iter().zip(&value).map(|(score, value)| score / sum * value[column]).sum();
                }
            }
        }
        let attended = plus(&self.linear(&name(&format!("attention.{}", self.names[3])), &taken), rows);
        let attended = self.norm(&name(&format!("attention.{}", self.names[4])), &attended);
        let mut wide = self.linear(&name("intermediate.dense"), &attended);
        wide.iter_mut().flatten().for_each(|x| *x *= 0.5 * (1.0 + erf(*x / 2.0_f64.sqrt())));
        self.norm(&name("output.LayerNorm"), &plus(&self.linear(&name("output.dense"), &wide), &attended))
    }

    /// The states of all tokens after the last layer.
    fn states(&self, tokens: &[usize]) -> Matrix {
        let (words, places) =
            (self.matrix("embeddings.word_embeddings.weight"), self.matrix("embeddings.position_embeddings.weight"));
        let kinds = "embeddings.token_type_embeddings.weight";
        let kind = if self.weights.contains_key(kinds) { self.row(kinds) } else { vec![0.0; WIDTH] };
        let rows: Matrix = tokens
            .iter()
            .zip(&places[self.first_place()..])
            .map(|(token, place)| (0..WIDTH).map(|i| words[*token][i] + place[i] + kind[i]).collect())
            .collect();
        (0..LAYERS).fold(self.norm("embeddings.LayerNorm", &rows), |rows, layer| self.layer(layer, &rows))
    }

    fn write(&self, path: &Path) {
        let (mut header, mut bytes) = (serde_json::Map::new(), Vec::new());
        for (name, (shape, numbers)) in &self.weights {
            let from = bytes.len();
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            header.insert(name.clone(), json!({"dtype": "F32", "shape": shape, "data_offsets": [from, bytes.len()]}));
        }
        let header = Value::from(header).to_string();
        let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &bytes].concat();
        std::fs::write(path, file).unwrap();
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn plus(a: &Matrix, b: &Matrix) -> Matrix {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect()).collect()
}

/// By its series, which is slow and sure.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..60 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

/// A folder with a model in it.
fn folder(tiny: &Tiny, takes_first: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, json: Value| std::fs::write(folder.path().join(name), json.to_string()).unwrap();
    write(
        "config.json",
        json!({"model_type": tiny.family, "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "hidden_act": "gelu",
            "max_position_embeddings": 16 + tiny.first_place(), "layer_norm_eps": 1e-12}),
    );
    let vocabulary: serde_json::Map<_, _> =
        WORDS.iter().zip(0..).map(|(word, i)| ((*word).to_owned(), json!(i))).collect();
    write(
        "tokenizer.json",
        json!({"normalizer": {"type": "BertNormalizer", "lowercase": true}, "model": {"type": "WordPiece", "vocab": vocabulary}}),
    );
    std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    write("1_Pooling/config.json", json!({"pooling_mode_cls_token": takes_first}));
    tiny.write(&folder.path().join("model.safetensors"));
    folder
}

fn near(a: &[f32], b: &[f64]) -> bool {
    let length = dot(b, b).sqrt();
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (f64::from(*a) - b / length).abs() < 1e-5)
}

#[tokio::test]
async fn a_small_model_gives_what_plain_sums_give() {
    let texts = ["The cats sat.", "cat", "the the the the the the the the the the the the the the the the the the"];
    let tokens = [vec![2, 4, 5, 7, 6, 8, 3], vec![2, 5, 3], [vec![2], vec![4; 14], vec![3]].concat()];
    for (family, takes_first, threads) in
        [("bert", false, 1), ("bert", true, 1), ("bert", false, 3), ("mpnet", false, 1), ("mpnet", true, 1)]
    {
        let tiny = Tiny::new(family);
        let folder = folder(&tiny, takes_first);
        let model = LocalModel::open(folder.path(), &LocalSettings { threads, ..LocalSettings::default() }).unwrap();
        let vectors = model.embed(&texts, TextKind::Passage).await.unwrap();
        for (vector, tokens) in vectors.iter().zip(&tokens) {
            let states = tiny.states(tokens);
            let mean = (0..WIDTH).map(|i| states.iter().map(|row| row[i]).sum()).collect();
            let expected: Vec<f64> = if takes_first { states[0].clone() } else { mean };
            assert!(near(vector, &expected), "{family}: {vector:?} is not {expected:?}");
        }
    }
}

#[tokio::test]
async fn prefixes_tell_questions_from_passages_and_give_the_model_another_name() {
    let folder = folder(&Tiny::new("bert"), false);
    let plain = LocalModel::open(folder.path(), &LocalSettings::default()).unwrap();
    std::fs::write(folder.path().join("config_sentence_transformers.json"), r#"{"prompts": {"query": "the "}}"#)
        .unwrap();
    let prompted = LocalModel::open(folder.path(), &LocalSettings::default()).unwrap();
    let expected = plain.embed(&["the cat", "cat"], TextKind::Question).await.unwrap();
    assert_eq!(prompted.embed(&["cat"], TextKind::Question).await.unwrap()[0], expected[0]);
    assert_eq!(prompted.embed(&["cat"], TextKind::Passage).await.unwrap()[0], expected[1]);
    let settings = LocalSettings { passage_prefix: Some("sat ".into()), ..LocalSettings::default() };
    assert_ne!(LocalModel::open(folder.path(), &settings).unwrap().name(), plain.name());
}

#[tokio::test]
async fn a_static_model_is_the_mean_of_its_tokens() {
    let mut table = Tiny::default();
    table.add("embeddings", &[WORDS.len(), WIDTH]);
    let folder = folder(&table, false);
    std::fs::write(folder.path().join("config.json"), r#"{"model_type": "model2vec"}"#).unwrap();
    let model = LocalModel::open(folder.path(), &LocalSettings::default()).unwrap();
    let vectors = model.embed(&["the cat unknown", ""], TextKind::Passage).await.unwrap();
    let rows = table.matrix("embeddings");
    let sum: Vec<f64> = (0..WIDTH).map(|i| rows[4][i] + rows[5][i]).collect();
    assert!(near(&vectors[0], &sum), "{:?}", vectors[0]);
    assert!(vectors[1].iter().all(|number| *number == 0.0));
}

#[test]
fn what_cannot_be_read_is_named() {
    let tiny = Tiny::new("bert");
    let refused = |file: &str, text: &str| {
        let folder = folder(&tiny, false);
        std::fs::write(folder.path().join(file), text).unwrap();
        LocalModel::open(folder.path(), &LocalSettings::default()).err().unwrap().to_string()
    };
    assert!(refused("config.json", r#"{"model_type": "gpt2"}"#).contains("gpt2"));
    assert!(refused("config.json", "{").contains("config.json"));
    assert!(refused("tokenizer.json", r#"{"model": {"type": "BPE"}}"#).contains("BPE"));
    assert!(refused("model.safetensors", "nothing").contains("safetensors"));
    let three =
        r#"{"model_type": "bert", "num_attention_heads": 3, "num_hidden_layers": 2, "max_position_embeddings": 16}"#;
    assert!(refused("config.json", three).contains("fit"), "8 numbers are not three heads");
    assert!(refused("config.json", &three.replace("16", "99")).contains("fit"), "there are not so many places");
}

/// A real model, all-MiniLM-L6-v2, where its folder is named; the similarities are those its makers publish.
#[tokio::test]
async fn a_real_model_finds_what_everybody_finds_with_it() {
    let Some(folder) = std::env::var_os("SCROLLBACK_TEST_MINILM") else { return };
    let model = LocalModel::open(Path::new(&folder), &LocalSettings::default()).unwrap();
    let texts =
        ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"];
    let vectors = model.embed(&texts, TextKind::Passage).await.unwrap();
    for (vector, expected) in vectors[1..].iter().zip([0.695, 0.943, 0.257]) {
        assert!((cosine(&vectors[0], vector) - expected).abs() < 0.001, "{}", cosine(&vectors[0], vector));
    }
}
