use super::{FilterPolicy, Scope};
use crate::local::engine::attribute::{Attribute, Attributes, Data};
use serde_json::{Value, json};

fn policy(policy: &Value) -> FilterPolicy {
    FilterPolicy::parse(&policy.to_string()).unwrap()
}

fn attribute(data_type: &str, value: &str) -> Attribute {
    Attribute {
        data_type: data_type.to_owned(),
        data: Data::Text(value.to_owned()),
    }
}

/// Whether a policy with this one key takes a message whose attribute of that name has this value.
fn takes(values: &Value, attribute: Option<Attribute>) -> bool {
    let attributes = attribute.map(|attribute| ("k".to_owned(), attribute));
    policy(&json!({"k": values})).takes(
        Scope::MessageAttributes,
        "",
        &attributes.into_iter().collect(),
    )
}

fn takes_body(rules: &Value, body: &Value) -> bool {
    policy(rules).takes(Scope::MessageBody, &body.to_string(), &Attributes::new())
}

#[test]
fn a_text_is_matched_whole_by_its_ends_or_without_regard_to_case() {
    let table = [
        (json!(["a", "b"]), "b", true),
        (json!(["a", "b"]), "B", false),
        (json!([{"prefix": "ab"}]), "abc", true),
        (json!([{"prefix": "ab"}]), "cab", false),
        (json!([{"suffix": "bc"}]), "abc", true),
        (json!([{"suffix": "bc"}]), "bcd", false),
        (json!([{"equals-ignore-case": "Straße"}]), "sTRAßE", true),
        (json!([{"equals-ignore-case": "a"}]), "b", false),
        (json!(["x", {"prefix": "ab"}]), "abc", true),
    ];
    for (values, text, expected) in table {
        assert_eq!(
            takes(&values, Some(attribute("String", text))),
            expected,
            "{values} {text}"
        );
    }
}

#[test]
fn anything_but_takes_what_is_not_named_and_needs_a_value() {
    let table = [
        (json!([{"anything-but": "no"}]), "yes", true),
        (json!([{"anything-but": "no"}]), "no", false),
        (json!([{"anything-but": ["no", "nein"]}]), "nein", false),
        (json!([{"anything-but": {"prefix": "n"}}]), "no", false),
        (json!([{"anything-but": {"prefix": "n"}}]), "yes", true),
        (
            json!([{"anything-but": {"prefix": ["n", "y"]}}]),
            "yes",
            false,
        ),
        (
            json!([{"anything-but": {"suffix": ".png"}}]),
            "a.png",
            false,
        ),
        (json!([{"anything-but": {"suffix": ".png"}}]), "a.gif", true),
    ];
    for (values, text, expected) in table {
        assert_eq!(
            takes(&values, Some(attribute("String", text))),
            expected,
            "{values} {text}"
        );
        assert!(!takes(&values, None), "{values} of nothing");
    }
    let numbers = json!([{"anything-but": [100, 500]}]);
    assert!(takes(&numbers, Some(attribute("Number", "101"))));
    assert!(!takes(&numbers, Some(attribute("Number", "100.0"))));
}

#[test]
fn a_number_is_matched_by_value_to_five_digits_and_by_ranges() {
    let table = [
        (json!([{"numeric": ["=", 301.5]}]), "301.50", true),
        (json!([{"numeric": ["=", 3.015e2]}]), "301.5", true),
        (json!([{"numeric": ["=", 1]}]), "1.000001", true),
        (json!([{"numeric": ["=", 1]}]), "1.0001", false),
        (json!([{"numeric": [">", 0, "<=", 100]}]), "100", true),
        (json!([{"numeric": [">", 0, "<=", 100]}]), "0", false),
        (json!([{"numeric": [">=", 10, "<", 20]}]), "20", false),
        (json!([{"numeric": ["<", 0]}]), "-1", true),
        (json!([5]), "5.0", true),
        (json!(["5"]), "5", false),
    ];
    for (values, number, expected) in table {
        assert_eq!(
            takes(&values, Some(attribute("Number.int", number))),
            expected,
            "{values} {number}"
        );
    }
    let text = Some(attribute("String", "5"));
    assert!(!takes(&json!([{"numeric": ["=", 5]}]), text));
}

#[test]
fn an_address_is_matched_by_its_network() {
    let table = [
        ("10.0.0.0/24", "10.0.0.255", true),
        ("10.0.0.0/24", "10.0.1.0", false),
        ("0.0.0.0/0", "203.0.113.9", true),
        ("10.1.2.3/32", "10.1.2.3", true),
        ("10.0.0.0/24", "not an address", false),
        ("10.0.0.0/24", "::1", false),
        ("2001:db8::/32", "2001:db8::1", true),
        ("2001:db8::/32", "2001:db9::1", false),
    ];
    for (network, address, expected) in table {
        let values = json!([{"cidr": network}]);
        assert_eq!(
            takes(&values, Some(attribute("String", address))),
            expected,
            "{network} {address}"
        );
    }
}

#[test]
fn exists_asks_only_whether_there_is_a_value() {
    let some = || Some(attribute("String", "v"));
    let binary = Attribute {
        data_type: "Binary".to_owned(),
        data: Data::Binary(vec![1]),
    };
    assert!(takes(&json!([{"exists": true}]), some()));
    assert!(!takes(&json!([{"exists": true}]), None));
    assert!(takes(&json!([{"exists": false}]), None));
    assert!(!takes(&json!([{"exists": false}]), some()));
    assert!(takes(&json!(["other", {"exists": false}]), None));
    // Binary attributes are as good as not there.
    assert!(takes(&json!([{"exists": false}]), Some(binary)));
}

#[test]
fn of_an_array_one_element_that_is_right_is_enough() {
    let array = |text: &str| Some(attribute("String.Array", text));
    assert!(takes(&json!(["b"]), array(r#"["a", "b"]"#)));
    assert!(!takes(&json!(["c"]), array(r#"["a", "b"]"#)));
    assert!(takes(&json!([{"numeric": [">", 4]}]), array("[1, 5]")));
    assert!(takes(&json!([true]), array("[null, true]")));
    assert!(takes(&json!([null]), array("[null]")));
    assert!(takes(
        &json!([{"anything-but": ["a"]}]),
        array(r#"["a", "b"]"#)
    ));
    assert!(!takes(
        &json!([{"anything-but": ["a", "b"]}]),
        array(r#"["a", "b"]"#)
    ));
    assert!(!takes(&json!(["b"]), array("b")));
}

#[test]
fn all_keys_must_hold_and_of_an_or_one_pattern() {
    let rules = policy(&json!({
        "source": ["cloud"],
        "$or": [{"metric": ["cpu"]}, {"namespace": ["ec2", "es"], "size": [1]}],
    }));
    let message = |pairs: &[(&str, &str)]| {
        let one = |(name, value): &(&str, &str)| {
            let data_type = if *name == "size" { "Number" } else { "String" };
            ((*name).to_owned(), attribute(data_type, value))
        };
        rules.takes(
            Scope::MessageAttributes,
            "",
            &pairs.iter().map(one).collect(),
        )
    };
    assert!(message(&[("source", "cloud"), ("metric", "cpu")]));
    assert!(message(&[
        ("source", "cloud"),
        ("namespace", "es"),
        ("size", "1")
    ]));
    assert!(!message(&[("source", "cloud"), ("namespace", "es")]));
    assert!(!message(&[("source", "cloud")]));
    assert!(!message(&[("metric", "cpu")]));
}

#[test]
fn an_or_that_is_no_choice_between_patterns_is_a_key_like_others() {
    assert!(takes_body(
        &json!({"$or": ["a", "b"]}),
        &json!({"$or": "b"})
    ));
    assert!(takes_body(
        &json!({"$or": [{"prefix": "a"}, {"suffix": "z"}]}),
        &json!({"$or": "xyz"})
    ));
    assert!(takes_body(
        &json!({"$or": [{"prefix": "a"}]}),
        &json!({"$or": "ab"})
    ));
}

#[test]
fn a_body_is_matched_down_its_keys() {
    let rules = json!({
        "object": {"key": [{"prefix": "auto-"}, "fixed"], "extra": [{"exists": false}]},
        "test": [{"exists": false}],
    });
    let table = [
        (json!({"object": {"key": "auto-1"}}), true),
        (json!({"object": {"key": "fixed", "more": 1}}), true),
        (json!({"object": {"key": "other"}}), false),
        (json!({"object": {"key": "fixed"}, "test": 1}), false),
        (json!({"object": {"key": "fixed", "extra": null}}), false),
        (json!({"object": "fixed"}), false),
        (json!({"test": "x"}), false),
        (json!("fixed"), false),
        (json!([{"object": {"key": "fixed"}}]), false),
    ];
    for (body, expected) in table {
        assert_eq!(takes_body(&rules, &body), expected, "{body}");
    }
    let not_json = policy(&rules).takes(Scope::MessageBody, "not json", &Attributes::new());
    assert!(!not_json);
}

#[test]
fn keys_with_points_and_keys_below_keys_are_the_same_path() {
    let rules = json!({"a.b.c": ["v"]});
    for body in [
        json!({"a": {"b": {"c": "v"}}}),
        json!({"a.b.c": "v"}),
        json!({"a.b": {"c": "v"}}),
        json!({"a": {"b.c": "v"}}),
    ] {
        assert!(takes_body(&rules, &body), "{body}");
    }
    assert!(!takes_body(&rules, &json!({"a": {"b": "v"}})));
}

#[test]
fn conditions_through_one_array_must_hold_of_the_same_element() {
    let rules = json!({"Records": {"name": [{"prefix": "Created"}], "s3": {"key": ["auto"]}}});
    let record = |name: &str, key: &str| json!({"name": name, "s3": [[{"key": key}]]});
    let body = |records: &[Value]| json!({"Records": records});
    assert!(takes_body(
        &rules,
        &body(&[record("Removed", "home"), record("Created", "auto")])
    ));
    assert!(!takes_body(
        &rules,
        &body(&[record("Removed", "auto"), record("Created", "home")])
    ));
    assert!(!takes_body(&rules, &body(&[])));
    assert!(takes_body(
        &json!({"to": ["q1"]}),
        &json!({"to": ["q2", "q1"]})
    ));
    assert!(takes_body(
        &json!({"to": [{"exists": false}]}),
        &json!({"to": []})
    ));
}

#[test]
fn a_policy_that_sns_would_refuse_is_refused_and_says_why() {
    let table = [
        ("[]", "not an object"),
        ("{", "failed to parse JSON"),
        (r#"{"k": []}"#, "Empty arrays"),
        (r#"{"k": "v"}"#, r#""k" must be an object or an array"#),
        (
            r#"{"k": {"prefix": "v"}}"#,
            r#""prefix" must be an object or an array"#,
        ),
        (r#"{"k": [["v"]]}"#, "Match value must be"),
        (r#"{"k": [{"like": "v"}]}"#, "Unrecognized match type like"),
        (r#"{"k": [{"prefix": "a", "suffix": "b"}]}"#, "Only one key"),
        (r#"{"k": [{}]}"#, "Only one key"),
        (
            r#"{"k": [{"suffix": 1}]}"#,
            "suffix match pattern must be a string",
        ),
        (r#"{"k": [{"exists": "no"}]}"#, "true or false"),
        (
            r#"{"k": [{"anything-but": {"cidr": "10.0.0.0/8"}}]}"#,
            "Unsupported anything-but pattern: cidr",
        ),
        (r#"{"k": [{"cidr": "10.0.0.0"}]}"#, "one '/' required"),
        (r#"{"k": [{"cidr": "10.0.0.0/x"}]}"#, "mask bits"),
        (r#"{"k": [{"cidr": "10.0.0.0/33"}]}"#, "mask bits"),
        (r#"{"k": [{"cidr": "10.0.0/8"}]}"#, "Nonstandard IP address"),
        (
            r#"{"k": [{"numeric": []}]}"#,
            "Invalid member in numeric match: ]",
        ),
        (
            r#"{"k": [{"numeric": [1, "<"]}]}"#,
            "Invalid member in numeric match: 1",
        ),
        (
            r#"{"k": [{"numeric": ["!"]}]}"#,
            "Unrecognized numeric range operator: !",
        ),
        (
            r#"{"k": [{"numeric": ["=", "0"]}]}"#,
            "Value of equals must be numeric",
        ),
        (
            r#"{"k": [{"numeric": [">="]}]}"#,
            "Value of >= must be numeric",
        ),
        (
            r#"{"k": [{"numeric": ["<", 100, ">", 10]}]}"#,
            "Too many elements",
        ),
        (
            r#"{"k": [{"numeric": [">", 1, ">", 2]}]}"#,
            "Bad numeric range operator: >",
        ),
        (
            r#"{"k": [{"numeric": [">", 1, 2]}]}"#,
            "Bad value in numeric range: 2",
        ),
        (
            r#"{"k": [{"numeric": [">", 1, "<"]}]}"#,
            "Value of < must be numeric",
        ),
        (
            r#"{"k": [{"numeric": [">", 3, "<", 1]}]}"#,
            "Bottom must be less than top",
        ),
        (
            r#"{"k": [{"numeric": [">", 1, "<", 2, "<", 3]}]}"#,
            "Too many terms",
        ),
        (
            r#"{"a":[1],"b":[1],"c":[1],"d":[1],"e":[1],"f":[1]}"#,
            "more than 5 keys",
        ),
    ];
    for (text, reason) in table {
        let error = FilterPolicy::parse(text).unwrap_err();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn a_policy_may_come_to_150_combinations_and_no_more() {
    let values = |n: usize| (0..n).collect::<Vec<_>>();
    let parse = |rules: Value| FilterPolicy::parse(&rules.to_string());
    assert!(parse(json!({"a": values(15), "b": values(10)})).is_ok());
    assert!(parse(json!({"a": values(151)})).is_err());
    assert!(parse(json!({"a": values(16), "b": values(10)})).is_err());
    // A level down counts double, two levels down three times: 3 x 4 x 2 x 3 and 3 more values.
    let nested = json!({"a": {"b": {"c": values(4)}}, "d": {"e": values(3)}});
    assert!(parse(nested).is_ok());
    let too_deep = json!({"a": {"b": {"c": values(4)}}, "d": {"e": values(3)}, "f": values(3)});
    assert!(parse(too_deep).is_err());
    let or = json!({"a": values(10), "$or": [{"b": values(8)}, {"c": values(8)}]});
    assert!(parse(or).is_err());
}
