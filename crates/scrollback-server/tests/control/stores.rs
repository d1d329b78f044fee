//! Stores that are damaged, empty, no files at all, or not there: what is told, and what is not made.

use crate::home::Home;

#[test]
fn a_store_that_cannot_be_read_is_not_called_missing() {
    let home = Home::new("");
    let whole = std::fs::read(home.beside("")).unwrap();
    std::fs::write(home.0.path().join("cut.db"), &whole[..whole.len() / 2 - 300]).unwrap();
    std::fs::write(home.0.path().join("headless.db"), &whole[512..]).unwrap();
    for (command, store) in [("sessions", "headless.db"), ("doctor", "headless.db"), ("doctor", "cut.db")] {
        let output = home.run(&[command, "--store", store]);
        let told = crate::home::text(&output.stderr) + &crate::home::text(&output.stdout);
        assert!(!output.status.success() && told.contains("backup"), "{command} {store}: {told}");
        assert!(!told.contains("scrollback import") && !told.contains("nothing has been kept"), "{told}");
    }
    std::fs::write(home.0.path().join("empty.db"), "").unwrap();
    let told = home.complains(&["doctor", "--store", "empty.db"]);
    assert!(told.contains("empty.db is empty") && told.contains("scrollback import"), "{told}");
    for command in [&["sessions"][..], &["import", "tides.jsonl"]] {
        std::fs::create_dir_all(home.0.path().join("folder")).unwrap();
        let told = home.complains(&[command, &["--store", "folder"]].concat());
        assert!(told.contains("folder is a folder") && told.contains("folder/scrollback.db"), "{told}");
    }
    assert!(!home.0.path().join("folder.lock").exists());
}

#[test]
fn only_what_begins_a_store_makes_one() {
    let home = Home::new("");
    let commands: [&[&str]; 8] = [
        &["doctor"],
        &["doctor", "--repair"],
        &["review"],
        &["forget", "tides", "--yes"],
        &["holds", "--clean", "--older-than", "1d"],
        &["topics", "import", "tides", "."],
        &["tokens"],
        &["tokens", "revoke", "mira"],
    ];
    for command in commands {
        let told = home.complains(&[command, &["--store", "mistyped.db"]].concat());
        assert!(told.contains("no store at mistyped.db"), "{command:?}: {told}");
        assert!(!home.0.path().join("mistyped.db").exists(), "{command:?}");
    }
    home.says(&["tokens", "add", "mira", "--store", "new.db"]);
    assert!(home.0.path().join("new.db").exists());
    home.says(&["import", "tides.jsonl", "--store", "sqlite:named.db"]);
    assert!(home.0.path().join("named.db").exists() && !home.0.path().join("sqlite:named.db").exists());
}

#[test]
fn stores_with_tokens_of_one_name_become_one_when_one_of_them_is_revoked() {
    let home = Home::new("");
    for store in ["one.db", "other.db"] {
        home.says(&["tokens", "add", "mira", "--store", store]);
    }
    let told = home.complains(&["migrate-store", "one.db", "other.db"]);
    assert!(told.contains("“mira”") && told.contains("revoke one of them"), "{told}");
    for store in ["one.db", "other.db"] {
        home.says(&["tokens", "revoke", "mira", "--store", store]);
        home.says(&["migrate-store", "one.db", "other.db"]);
    }
    assert!(!home.says(&["tokens", "--store", "other.db"]).contains("mira"));
}
