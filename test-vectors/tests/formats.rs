//! Parsers on files that are not as they should be: a typed error with the line, never a panic,
//! never silence.

use std::path::Path;

use proptest::prelude::*;
use test_vectors::formats::{ParseError, find, load, parse};
use test_vectors::known;

const CAVP: &str = "#  \"SHA3-256 ShortMsg\" information\n[L = 256]\n\nLen = 0\nMsg = 00\n\
    MD = a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a\n";

fn error(text: &str) -> ParseError {
    parse(Path::new("file"), text).map(|cases| cases.len()).expect_err(text)
}

#[test]
fn unknown_formats() {
    for text in ["", "hello", "{}", "{\"tests\": 1, \"testGroups\": 2}", "a = 1\nb = 2"] {
        assert!(matches!(error(text), ParseError::Unknown { .. }), "{text}: {}", error(text));
    }
    assert!(matches!(error("{\"tests\": }"), ParseError::Json { .. }));
}

#[test]
fn lines_of_text() {
    assert_eq!(parse(Path::new("file"), CAVP).expect("a good file").len(), 1);
    for (from, to, line) in [
        ("MD = a7", "MD = zz", 6),
        ("MD = a7", "MD = ", 6),
        ("Len = 0", "Len = 3", 6),
        ("Len = 0", "Len = 16", 6),
        ("Msg = 00", "Message = 00", 6),
        ("[L = 256]", "", 6),
        ("Msg = 00", "Msg", 5),
        ("ShortMsg", "OtherMsg", 6),
        ("SHA3-256", "SHA3-255", 1),
        ("\nMD", "\nMDX", 6),
    ] {
        let error = error(&CAVP.replace(from, to));
        let found = if let ParseError::Content { line, .. } = error { line } else { 0 };
        assert_eq!(found, line, "{from} -> {to}: {error}");
    }
}

#[test]
fn a_case_lost_from_an_acvp_folder() {
    let folder = std::env::temp_dir().join(format!("test-vectors-acvp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let group = |tests: &str| {
        format!(
            "{{\"mode\":\"keyGen\",\"testGroups\":[{{\"parameterSet\":\"ML-KEM-512\",\"tests\":[{tests}]}}]}}"
        )
    };
    let write =
        |name: &str, tests: &str| std::fs::write(folder.join(name), group(tests)).expect("a file");
    write("prompt.json", "{\"tcId\":1,\"d\":\"00\",\"z\":\"00\"}");
    let mut results = Vec::new();
    for tests in [
        "{\"tcId\":\"1\",\"ek\":\"00\",\"dk\":\"00\"}",
        "",
        "{\"tcId\":1,\"ek\":\"00\"}",
        "{\"tcId\":1,\"ek\":\"00\",\"dk\":\"00\"},{\"tcId\":2}",
        "{\"tcId\":1,\"ek\":\"0\",\"dk\":\"00\"}",
    ] {
        write("expectedResults.json", tests);
        results.push(load(&folder).is_ok());
    }
    assert_eq!(find(&folder).expect("a folder"), std::slice::from_ref(&folder));
    std::fs::remove_dir_all(&folder).expect("our own folder");
    assert_eq!(results, [true, false, false, false, false]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Cut anywhere, with a byte replaced anywhere.
    #[test]
    fn damaged_files(
        file in 0..3usize,
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in 0x20..0x7fu8,
    ) {
        let [(_, keccak), (_, mlkem)] = known::files();
        let mut text = vec![CAVP.to_string(), keccak, mlkem].swap_remove(file).into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        text.truncate(cut.index(text.len()) + 1);
        let text = String::from_utf8(text).expect("ASCII");
        if let Err(error) = parse(Path::new("file"), &text) {
            prop_assert!(error.to_string().starts_with("file:"), "{}", error);
        }
    }
}
