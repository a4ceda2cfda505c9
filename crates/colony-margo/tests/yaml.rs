//! The positioned reader and the writer of YAML.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use colony_margo::Json;
use colony_margo::yaml::{Limits, Node, emit, parse, parse_json};
use serde_json::json;

#[test]
fn plain_scalars_keep_their_text() {
    let node = read("revision: 1.10\nversion: 1.0\ncountry: no\nquoted: '1.10'\n");
    let findings = colony_margo::Findings::new();
    let root = colony_margo::yaml::Cursor::root(&node, &findings);
    let text = |name| root.field(name).and_then(|it| it.string()).unwrap();
    assert_eq!([text("revision"), text("version"), text("country")], ["1.10", "1.0", "no"]);
    let json = json!({"revision": 1.1, "version": 1.0, "country": "no", "quoted": "1.10"});
    assert_eq!(node.to_json(), json);
}

#[test]
fn values_know_their_place() {
    let node = read("a:\n  - x\n  - b: {c: d}\n");
    let place = |node: &Node| (node.line, node.column);
    let colony_margo::yaml::Value::Seq(items) = &node.get("a").unwrap().value else { panic!() };
    assert_eq!(items.iter().map(place).collect::<Vec<_>>(), [(2, 5), (3, 5)]);
    let c = items[1].get("b").and_then(|it| it.get("c")).unwrap();
    assert_eq!(place(c), (3, 12));
}

#[test]
fn documents_are_read_as_the_core_schema_says() {
    check("", Ok(json!(null)));
    check("--- \n", Ok(json!(null)));
    check("\u{feff}a: 1", Ok(json!({"a": 1})));
    check("[yes, on, ~, true, 0x10, !!str 5]", Ok(json!(["yes", "on", null, true, 16, "5"])));
    check("a: |\n  x\n  y\nb: >\n  x\n  y\n", Ok(json!({"a": "x\ny\n", "b": "x y\n"})));
    check("a: &x {b: 1}\nc: *x\n", Ok(json!({"a": {"b": 1}, "c": {"b": 1}})));
    check(
        "{\"a\":[1,\"\\u00e4\\ud83d\\ude00\"],\t\"b\":{}}",
        Ok(json!({"a": [1, "ä😀"], "b": {}})),
    );
}

#[test]
fn flaws_of_a_document_are_found_with_their_place() {
    check(
        "a: 1\nb: 2\na: 3\nb: 4\n",
        Err("3:1: key `a` is given twice, first in line 1; expected each key once"),
    );
    check(
        "a: 1\n---\nb: 2\n",
        Err("2:1: a second document starts here; expected one document per file"),
    );
    check("a: [1, 2\nb: 3", Err("YAML cannot be read here"));
    check("? [a]\n: b", Err("1:3: key is a list; expected a text as key"));
    check("~: b", Err("1:1: key is empty; expected a text as key"));
    check("a: !ruby/object {}", Err("tag `!ruby/object` is not known"));
    check("a: *b", Err("YAML cannot be read here"));
    check("a: &a [*a]", Err("1:8: alias stands inside its own anchor"));
}

#[test]
fn costly_documents_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    check(&bomb, Err("document has too many values; expected at most 100000"));

    let mut tower = "a0: &a0 [x]\n".to_owned();
    for level in 1..100 {
        tower += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
    }
    check(&tower, Err("64:12: document is nested too deep; expected at most 64 levels"));
    check(&"[".repeat(100_000), Err("YAML cannot be read here: recursion limit exceeded"));
    check(&"- ".repeat(100_000), Err("document is nested too deep"));
    let nested = "[".repeat(65) + &"]".repeat(65);
    check(&nested, Err("document is nested too deep"));
    check(&"a".repeat(300_000), Err("value has 300000 bytes; expected at most 262144"));
    check(
        &" ".repeat(1024 * 1024 + 1),
        Err("document has 1048577 bytes; expected at most 1048576"),
    );
    check(&("&a x: 1\n".to_owned() + &"- *a\n".repeat(2_000)), Err("YAML cannot be read"));
    check(
        &("- &a x\n".to_owned() + &"- *a\n".repeat(2_000)),
        Err("document uses too many aliases"),
    );
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let error = parse(b"a: 1\nb: \xff\n", &Limits::default()).unwrap_err();
    assert_eq!(
        error[0].to_string(),
        "2:1: line is not UTF-8; expected a document encoded as UTF-8"
    );
    assert!(parse_json(b"\xff", &Limits::default()).is_err());
}

#[test]
fn texts_that_look_like_something_else_are_quoted() {
    let texts = [
        "no",
        "on",
        "Yes",
        "y",
        "N",
        "null",
        "~",
        "Null",
        "true",
        "False",
        "1.0",
        "1",
        "0x1f",
        "1e3",
        ".5",
        "-",
        "- a",
        "2024-01-01",
        "2024-01-01T00:00:00Z",
        "12:30:45",
        "",
        " a",
        "a ",
        "a: b",
        "a #b",
        "#a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "[a",
        "{a",
        "a\nb",
        "a\n",
        "\t",
        "'",
        "\"",
        "\\",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "ä",
        "😀",
        "=",
        "<<",
        "---",
        "...",
        "oci://a.b/c",
        "https://x:5000/y",
        "a/b@c.d",
        "0o7",
        "+1",
        "_",
        "1_000",
        ".inf",
        ".nan",
    ];
    for text in texts {
        let value = json!({ text: [text, {"a": text}] });
        assert_eq!(read(&emit(&value)).to_json(), value, "{}", emit(&value));
        let other: Json = serde_saphyr::from_str(&emit(&value)).unwrap();
        assert_eq!(other, value, "{}", emit(&value));
    }
    for text in ["no", "on", "1.0", "null", "~", "2024-01-01", "", "a\nb", "y"] {
        assert!(emit(&json!(text)).starts_with('"'), "{text}");
    }
}

#[test]
fn long_keys_are_announced() {
    let key = "k".repeat(2_000);
    let value = json!({ "a": { &key: { &key: [1, { &key: "x" }] }, "z": 1 } });
    assert_eq!(read(&emit(&value)).to_json(), value);
    assert_eq!(serde_saphyr::from_str::<Json>(&emit(&value)).unwrap(), value);
}

#[test]
fn written_documents_look_as_people_write_them() {
    let value = json!({
        "name": "pump",
        "list": [{"a": 1, "b": [true, null]}, [1, 2.5], [], {}],
        "url": "oci://registry.example.com/pump",
        "large": 1e30,
        "empty": "",
    });
    insta::assert_snapshot!(emit(&value), @r#"
    empty: ""
    large: 1.0e+30
    list:
    - a: 1
      b:
      - true
      - null
    - - 1
      - 2.5
    - []
    - {}
    name: pump
    url: oci://registry.example.com/pump
    "#);
}

#[track_caller]
fn check(text: &str, expected: Result<Json, &str>) {
    match (parse(text.as_bytes(), &Limits::default()), expected) {
        (Ok(node), Ok(json)) => assert_eq!(node.to_json(), json),
        (Err(findings), Err(flaw)) => {
            let first = findings[0].to_string();
            assert!(first.contains(flaw), "{first}");
        }
        (other, _) => panic!("{other:?}"),
    }
}

fn read(text: &str) -> Node {
    parse(text.as_bytes(), &Limits::default()).unwrap()
}
