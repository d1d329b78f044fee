//! Settings as people write them.

use scrollback::store::Durability;

use super::*;

fn home() -> Surroundings {
    Surroundings { home: Some("/home/ann".into()), ..Surroundings::default() }
}

#[test]
fn the_shipped_file_lists_every_default() {
    let shipped = include_str!("../../../../scrollback.toml");
    assert_eq!(toml::from_str::<Said>(shipped).unwrap(), Said::default());
    // Every name that serde knows is in the file: the error for an unknown one lists them.
    let parts = [
        "store",
        "serve",
        "window",
        "pages",
        "topics",
        "summary",
        "artifacts",
        "quotes",
        "holds",
        "recall",
        "helper",
        "chat",
    ];
    for part in parts.into_iter().chain(["upstreams.openai", "upstreams.anthropic"]) {
        let error = toml::from_str::<Said>(&format!("[{part}]\nno_such_setting = 1")).unwrap_err().to_string();
        let known = error.split("expected").nth(1).unwrap();
        let section = shipped.split(&format!("[{part}]")).nth(1).unwrap().split("\n[").next().unwrap();
        for name in known.split('`').skip(1).step_by(2) {
            // What is different for some models has no default: an example shows it.
            let found = if (part, name) == ("summary", "models") {
                format!("\n# [{part}.{name}.")
            } else {
                format!("\n{name} = ")
            };
            assert!(section.contains(&found), "{part}.{name} is not in scrollback.toml");
        }
    }
}

/// The examples that are commented out are settings too.
#[test]
fn the_shipped_examples_are_understood() {
    let shipped = include_str!("../../../../scrollback.toml");
    let example = shipped.split("# [summary.models.").nth(1).unwrap().split("\n\n").next().unwrap();
    let example = format!("[summary.models.{}", example.replace("\n# ", "\n"));
    let models = toml::from_str::<Said>(&example).unwrap().summary.models;
    let model = models.values().next().unwrap();
    let all = (model.limit, model.helper.as_deref(), model.prompt.as_deref(), model.margin, model.segment);
    assert!(matches!(all, (Some(_), Some(_), Some(_), Some(_), Some(_))), "{all:?}");
}

#[test]
fn flags_go_before_the_file() {
    let said: Said = toml::from_str("[store]\npath = \"/a.db\"\ndurability = \"normal\"").unwrap();
    let settings = meant(said, Some("/b.db".into()), &home()).unwrap();
    let Place::File(store) = &settings.store else { panic!("a file") };
    assert_eq!((store.path.as_path(), store.durability), (Path::new("/b.db"), Durability::Normal));
    assert_eq!(settings.serve.unkept, Unkept::Passed);
}

#[test]
fn the_usual_place_is_the_data_folder() {
    let settings = meant(Said::default(), None, &home()).unwrap();
    assert_eq!(settings.store.file(), Some(Path::new("/home/ann/.local/share/scrollback/scrollback.db")));
    assert!(meant(Said::default(), None, &Surroundings::default()).is_err());
}

#[test]
fn an_unknown_setting_is_named() {
    let error = toml::from_str::<Said>("[store]\nspeed = 9").unwrap_err();
    assert!(error.to_string().contains("speed"), "{error}");
}

#[test]
fn upstreams_are_checked_before_anything_is_sent() {
    let said: Said = toml::from_str("[upstreams.local]\nurl = \"localhost:11434\"").unwrap();
    assert!(meant(said, None, &home()).unwrap_err().to_string().contains("upstreams.local.url"));
    let said: Said = toml::from_str("[serve]\nupstream = \"nobody\"").unwrap();
    assert!(meant(said, None, &home()).unwrap_err().to_string().contains("nobody"));
}

#[test]
fn a_key_of_the_person_goes_to_the_api_it_is_meant_for_alone() {
    let keys = BTreeMap::from([("OPENAI_API_KEY", Secret("sk-own".into()))]);
    let surroundings = Surroundings { keys, ..home() };
    let settings = meant(Said::default(), None, &surroundings).unwrap();
    let key = |name: &str| settings.serve.upstreams[name].chat_key.as_ref().map(|key| key.0.clone());
    assert_eq!((key("openai").as_deref(), key("anthropic")), (Some("sk-own"), None));
    assert!(!format!("{settings:?} {surroundings:?}").contains("sk-own"));
    for elsewhere in ["[upstreams.openai]", "[upstreams.other]"] {
        let said: Said =
            toml::from_str(&format!("[serve]\nupstream = \"quote\"\n{elsewhere}\nurl = \"https://example.com/v1\""))
                .unwrap();
        let settings = meant(said, None, &surroundings).unwrap();
        assert!(settings.serve.upstreams.values().all(|upstream| upstream.chat_key.is_none()), "{elsewhere}");
    }
}

#[test]
fn the_upstream_of_chats_is_one_of_those_there_are() {
    let said: Said = toml::from_str("[chat]\nupstream = \"nobody\"").unwrap();
    assert!(meant(said, None, &home()).unwrap_err().to_string().contains("chat.upstream is “nobody”"));
    let said: Said = toml::from_str("[chat]\nupstream = \"quote\"").unwrap();
    assert!(meant(said, None, &home()).is_ok());
}

#[test]
fn models_for_whoever_names_none_are_in_the_catalogue() {
    assert!(KNOWN.iter().all(|known| Prices::shipped().of(known.model).is_some()));
}

#[test]
fn a_limit_needs_a_price_or_a_count_of_tokens() {
    let helper = |text: &str| {
        let said: Said = toml::from_str(&format!("[helper]\n{text}")).unwrap();
        meant(said, None, &home()).map(|settings| settings.serve.helper.map(|helper| helper.purse.limit()))
    };
    let limit = helper("model = \"gpt-5-mini\"\ndollars_per_hour = 2").unwrap().unwrap();
    assert!((limit.dollars_per_hour - 2.0).abs() < 1e-9);
    let unknown = "model = \"homemade\"\ndollars_per_hour = 0.5";
    assert!(helper(unknown).unwrap_err().to_string().contains("homemade"));
    assert_eq!(helper(&format!("{unknown}\ntokens_per_hour = 1000")).unwrap().unwrap().tokens_per_hour, 1_000);
    let other = "model = \"gpt-5-mini\"\ndollars_per_hour = 2\n[summary.models.a]\nhelper = \"homemade\"";
    assert!(helper(other).unwrap_err().to_string().contains("homemade"), "of some model");
    assert!(helper("dollars_per_hour = -1").is_err());
    assert!(helper("dollars_per_hour = 1").unwrap().is_none());
}
