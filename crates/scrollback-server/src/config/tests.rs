//! Settings as people write them.

use scrollback::store::Durability;

use super::*;

fn home() -> Surroundings {
    Surroundings { home: Some("/home/ann".into()), ..Surroundings::default() }
}

#[test]
fn the_shipped_file_lists_every_default() {
    let shipped = include_str!("../../../../scrollback.toml");
    let mut said = toml::from_str::<Said>(shipped).unwrap();
    let meant = |upstreams: &BTreeMap<_, _>| format!("{:?}", upstreams::meant(upstreams, &home()).unwrap());
    assert_eq!(meant(&std::mem::take(&mut said.upstreams)), meant(&BTreeMap::new()));
    assert_eq!(said, Said::default());
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
fn the_store_of_a_flag_or_of_the_environment_may_be_at_home() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let store = |flag: Option<&str>, said: Option<&str>| {
        let surroundings = Surroundings { store: said.map(PathBuf::from), ..home() };
        let settings = read(Some(file.path()), flag.map(PathBuf::from), &surroundings).unwrap();
        settings.store.file().unwrap().to_owned()
    };
    assert_eq!(store(Some("~/a.db"), Some("b.db")), Path::new("/home/ann/a.db"));
    assert_eq!(store(Some("sqlite:~/a.db"), None), Path::new("/home/ann/a.db"));
    assert_eq!(store(None, Some("~/b.db")), Path::new("/home/ann/b.db"));
    assert_eq!(store(None, Some("b.db")), Path::new("b.db"));
}

#[test]
fn a_helper_without_an_upstream_of_its_own_goes_where_all_go() {
    let helper = |said: &str, flag: &str| {
        let text = format!("[helper]\nmodel = \"small\"\n{said}[upstreams.local]\nurl = \"http://127.0.0.1:9/v1\"");
        let mut serve = meant(toml::from_str(&text).unwrap(), None, &home()).unwrap().serve;
        serve.send_to(flag);
        assert_eq!((serve.upstream.as_str(), serve.messages_upstream.as_str()), (flag, flag));
        serve.helper.unwrap().upstream
    };
    assert_eq!(helper("", "local"), "local", "nothing is told to others");
    assert_eq!(helper("upstream = \"anthropic\"\n", "local"), "anthropic");
    assert_eq!(helper("", "quote"), "openai", "quotations help nobody");
}

#[test]
fn the_usual_place_is_the_data_folder() {
    let settings = meant(Said::default(), None, &home()).unwrap();
    assert_eq!(settings.store.file(), Some(Path::new("/home/ann/.local/share/scrollback/scrollback.db")));
    assert!(meant(Said::default(), None, &Surroundings::default()).is_err());
}

#[test]
fn paths_lie_beside_the_file_or_at_home_wherever_the_program_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scrollback.toml");
    let settings = |text: &str| {
        std::fs::write(&file, text).unwrap();
        read(Some(&file), None, &home()).unwrap()
    };
    std::fs::write(folder.path().join("own.toml"), "models.mine = { window = 9_000, input = 0, output = 0 }").unwrap();
    let beside = settings(
        "[store]\npath = \"sqlite:talks.db\"\n[window]\nmodels = \"own.toml\"\n[embeddings]\nfrom = \"small\"",
    );
    assert_eq!(beside.store.file(), Some(folder.path().join("talks.db").as_path()));
    assert!(beside.serve.window.prices.of("mine").is_some());
    assert_eq!(beside.serve.embeddings.source, EmbeddingSource::Folder(folder.path().join("small")));
    let at_home = settings("[store]\npath = \"~/talks.db\"\n[embeddings]\nfrom = \"~/small\"");
    assert_eq!(at_home.store.file(), Some(Path::new("/home/ann/talks.db")));
    assert_eq!(at_home.serve.embeddings.source, EmbeddingSource::Folder("/home/ann/small".into()));
    let elsewhere =
        "[store]\npath = \"postgres://a@b/c\"\n[embeddings]\nfrom = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"";
    let elsewhere = settings(elsewhere);
    assert_eq!(elsewhere.store.name(), "postgres://a@b/c");
    assert_eq!(elsewhere.serve.embeddings.source, EmbeddingSource::Api("http://127.0.0.1:9/v1".into()));
    assert_eq!(settings("[store]\npath = \"/srv/talks.db\"").store.file(), Some(Path::new("/srv/talks.db")));
}

#[test]
fn an_address_of_something_else_is_no_file() {
    let error = meant(Said::default(), Some("mysql://ann:secret@b/c".into()), &home()).unwrap_err().to_string();
    assert!(error.contains("--store") && error.contains("postgres://") && !error.contains("secret"), "{error}");
    let in_file = complaint("[store]\npath = \"redis://b/0\"");
    assert!(in_file.contains("store.path"), "{in_file}");
    assert_eq!(complaint("[store]\npath = \"sqlite:/srv/talks.db\""), "");
}

#[test]
fn an_unknown_setting_is_named() {
    let error = toml::from_str::<Said>("[store]\nspeed = 9").unwrap_err();
    assert!(error.to_string().contains("speed"), "{error}");
}

/// What is wrong with settings.
fn complaint(text: &str) -> String {
    let read = meant(toml::from_str(text).unwrap(), None, &home());
    read.err().map(|error| format!("{error:#}")).unwrap_or_default()
}

#[test]
fn upstreams_are_checked_before_anything_is_sent() {
    for (settings, named) in [
        ("[upstreams.local]\nurl = \"localhost:11434\"", "upstreams.local.url"),
        ("[upstreams.openai]\ntimeout_seconds = 0", "upstreams.openai.timeout_seconds"),
        ("[upstreams.openai]\nwindow = 5", "upstreams.openai.window"),
        ("[serve]\nupstream = \"nobody\"", "serve.upstream is “nobody”"),
        ("[serve]\nmessages_upstream = \"nobody\"", "serve.messages_upstream is “nobody”"),
        ("[chat]\nupstream = \"nobody\"", "chat.upstream is “nobody”"),
        ("[helper]\nupstream = \"nobody\"", "helper.upstream is “nobody”"),
    ] {
        let complaint = complaint(settings);
        assert!(complaint.contains(named), "{settings}: {complaint}");
    }
    assert_eq!(complaint("[chat]\nupstream = \"quote\""), "");
    assert_eq!(complaint("[upstreams.local]\nurl = \"http://127.0.0.1:11434/v1\""), "", "OpenAI is still there");
}

#[test]
fn what_cannot_be_meant_is_named() {
    for (settings, named) in [
        ("[serve]\nbody_megabytes = 0", "serve.body_megabytes"),
        ("[serve]\nbody_megabytes = 9000000000000000000", "serve.body_megabytes"),
        ("[serve]\nimport_megabytes = 0", "serve.import_megabytes"),
        ("[window]\ntokens = 5", "window.tokens"),
        ("[window]\nunknown_tokens = 0", "window.unknown_tokens is a number of tokens, at least 500, not 0"),
        ("[window]\nstrategy = \"guess\"", "window.strategy"),
        ("[window]\nmodels = \"/no/such/file\"", "window.models"),
        ("[helper]\ntimeout_seconds = 0", "helper.timeout_seconds"),
        ("[store]\npath = \"postgres://a@b/c\"\nreplicas = [\"b:5432\"]", "store.replicas"),
    ] {
        let complaint = complaint(settings);
        assert!(complaint.contains(named), "{settings}: {complaint}");
    }
}

#[test]
fn a_key_of_the_person_goes_to_the_api_it_is_meant_for_alone() {
    let keys = BTreeMap::from([("OPENAI_API_KEY", Secret("sk-own".into()))]);
    let surroundings = Surroundings { keys, ..home() };
    let settings = meant(Said::default(), None, &surroundings).unwrap();
    let key = |name: &str| settings.serve.upstreams[name].chat_key.as_ref().map(|key| key.0.clone());
    assert_eq!((key("openai").as_deref(), key("anthropic")), (Some("sk-own"), None));
    assert!(!format!("{settings:?} {surroundings:?}").contains("sk-own"));
    for elsewhere in ["openai", "other"] {
        let text = format!("[upstreams.{elsewhere}]\nurl = \"https://example.com/v1\"");
        let settings = meant(toml::from_str(&text).unwrap(), None, &surroundings).unwrap();
        assert!(settings.serve.upstreams[elsewhere].chat_key.is_none(), "{elsewhere}");
    }
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
    assert_eq!(helper(&format!("{unknown}\ntokens_per_hour = 60000")).unwrap().unwrap().tokens_per_hour, 60_000);
    let other = "model = \"gpt-5-mini\"\ndollars_per_hour = 2\n[summary.models.a]\nhelper = \"homemade\"";
    assert!(helper(other).unwrap_err().to_string().contains("homemade"), "of some model");
    assert!(helper("dollars_per_hour = -1").is_err());
    let little = helper("model = \"homemade\"\ntokens_per_hour = 100").unwrap_err().to_string();
    assert!(little.contains("helper.tokens_per_hour"), "{little}");
    assert!(helper("dollars_per_hour = 1").unwrap().is_none());
}
