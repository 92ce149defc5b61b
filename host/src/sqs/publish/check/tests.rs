use bytes::Bytes;

use super::*;

const STANDARD: Takes = Takes {
    fifo: false,
    topic: false,
    maximum_size: Some(1 << 20),
};
const FIFO: Takes = Takes {
    fifo: true,
    ..STANDARD
};
const TOPIC: Takes = Takes {
    topic: true,
    maximum_size: Some(256 << 10),
    ..STANDARD
};

fn header(name: &str, value: HeaderValue) -> Header {
    Header {
        name: name.into(),
        value,
        label: None,
    }
}

fn text(name: &str, value: &str) -> Header {
    header(name, HeaderValue::Text(value.into()))
}

fn with(headers: Vec<Header>) -> Reply {
    Reply {
        body: "b".into(),
        headers,
        ..Reply::default()
    }
}

fn sent(reply: Reply, takes: Takes) -> Checked<Outgoing> {
    outgoing(reply, takes, Groups::default(), "derived".into())
}

fn why(refused: Checked<Outgoing>) -> String {
    match refused {
        Err(Refusal::Invalid(why) | Refusal::Size(why) | Refusal::NotFifo(why)) => why,
        Ok(message) => panic!("not refused: {message:?}"),
    }
}

// Rule 6.3: names of 1 to 256 of SQS's characters, no dot at an end or doubled, no AWS. or Amazon.
#[test]
fn a_header_that_sqs_does_not_take_is_refused_by_name() {
    let long = "x".repeat(257);
    for (name, fault) in [
        ("", "no name"),
        (long.as_str(), "256"),
        ("a b", "letters"),
        ("ä", "letters"),
        (".a", "dot"),
        ("a.", "dot"),
        ("a..b", "two dots"),
        ("AWS.x", "AWS."),
        ("aws.trace", "AWS."),
        ("aMaZoN.x", "Amazon."),
        ("queuelet-payload-encoding", "host's own"),
    ] {
        let why = why(sent(with(vec![text(name, "v")]), STANDARD));
        assert!(why.contains(fault), "{name}: {why}");
        let shown = if name.len() > 256 {
            "(257 bytes)"
        } else {
            name
        };
        assert!(why.contains(shown), "{name}: {why}");
    }
    for name in [
        "a",
        "A.b-c_9",
        "AWS-x",
        "awsx",
        "Amazonian.x",
        &"x".repeat(256),
    ] {
        let message = sent(with(vec![text(name, "v")]), STANDARD);
        assert_eq!(message.unwrap().headers, [text(name, "v")], "{name}");
    }
}

// Rule 6.3.
#[test]
fn empty_values_and_an_empty_body_are_refused() {
    for value in [
        HeaderValue::Text(String::new()),
        HeaderValue::Number(String::new()),
        HeaderValue::Bytes(Bytes::new()),
    ] {
        let why = why(sent(with(vec![header("none", value)]), STANDARD));
        assert!(why.contains("none") && why.contains("empty value"), "{why}");
    }
    let why = why(sent(Reply::default(), STANDARD));
    assert!(why.contains("body is empty"), "{why}");
}

// Rule 6.3: at most ten, the marker counted, `partition-key` not.
#[test]
fn the_eleventh_header_is_refused() {
    let headers = |n: usize| (0..n).map(|i| text(&format!("h{i}"), "v")).collect();
    assert!(sent(with(headers(10)), STANDARD).is_ok());
    let eleven = why(sent(with(headers(11)), STANDARD));
    assert!(
        eleven.contains("11 headers") && eleven.contains("h10"),
        "{eleven}"
    );

    let mut keyed: Vec<Header> = headers(10);
    keyed.push(text("partition-key", "k"));
    assert_eq!(sent(with(keyed), STANDARD).unwrap().headers.len(), 10);

    let encoded = |n| Reply {
        body: "\0".into(),
        ..with(headers(n))
    };
    assert!(sent(encoded(9), STANDARD).is_ok());
    let why = why(sent(encoded(10), STANDARD));
    assert!(why.contains(MARKER) && why.contains("h9"), "{why}");
}

#[test]
fn one_header_twice_is_refused() {
    let why = why(sent(with(vec![text("a", "1"), text("a", "2")]), STANDARD));
    assert!(why.contains("header a stands there twice"), "{why}");
}

// Rule 6.3.
#[test]
fn a_text_that_sqs_refuses_goes_as_binary_with_its_label() {
    let mut odd = text("odd", "a\0b");
    odd.label = Some("raw".into());
    let message = sent(with(vec![odd]), STANDARD).unwrap();
    let mut want = header("odd", HeaderValue::Bytes("a\0b".into()));
    want.label = Some("raw".into());
    assert_eq!(message.headers, [want]);
}

#[test]
fn a_label_has_to_fit_into_the_data_type() {
    let labelled = |label: &str| {
        let mut header = text("x", "v");
        header.label = Some(label.into());
        sent(with(vec![header]), STANDARD)
    };
    assert!(labelled("int").is_ok());
    assert!(labelled(&"x".repeat(249)).is_ok());
    for label in ["", "a b", &"x".repeat(250)] {
        assert!(why(labelled(label)).contains("label"), "{label}");
    }
}

// Rule 6.3.
#[test]
fn a_number_is_one_that_sqs_takes() {
    let long = "9".repeat(38);
    for number in [
        "0", "-1", "+1", "007.50", "1.", ".5", "1e5", "-2.5E-3", "0e999", "1e126", "1e-128", &long,
    ] {
        assert!(is_number(number), "{number}");
    }
    let longer = "9".repeat(39);
    for text in [
        "",
        "-",
        ".",
        "abc",
        "1 ",
        "0x10",
        "1e",
        "e5",
        "1.2.3",
        "--1",
        "NaN",
        "Infinity",
        "1e127",
        "1e-129",
        "1e99999999999",
        "١",
        &longer,
    ] {
        assert!(!is_number(text), "{text}");
    }
    let why = why(sent(
        with(vec![header("n", HeaderValue::Number("many".into()))]),
        STANDARD,
    ));
    assert!(why.contains("header n") && why.contains("many"), "{why}");
}

// Rule 6.2.
#[test]
fn a_body_that_is_no_text_goes_base64_with_the_marker() {
    let reply = Reply {
        body: "\u{FFFF}".into(),
        ..with(vec![])
    };
    let message = sent(reply, STANDARD).unwrap();
    assert_eq!(message.body, "77+/");
    assert_eq!(message.headers, [text(MARKER, "base64")]);
}

// Rule 6.3: the size is body and attributes, names, types and values.
#[test]
fn the_size_counts_names_types_and_values() {
    let mut number = header("count", HeaderValue::Number("12".into()));
    number.label = Some("int".into());
    let message = Outgoing {
        body: "äb".into(),
        headers: vec![
            text("a", "xyz"),
            number,
            header("bin", HeaderValue::Bytes(vec![0; 5].into())),
        ],
        ..Outgoing::default()
    };
    let (body, a, count, bin) = (3, 1 + 6 + 3, 5 + 10 + 2, 3 + 6 + 5);
    assert_eq!(size(&message), body + a + count + bin);
}

// Rule 6.3: 256 KiB is a topic's default; where no limit is known AWS judges.
#[test]
fn a_message_larger_than_its_target_takes_is_refused_with_both_sizes() {
    let reply = || Reply {
        body: vec![b'x'; 300 << 10].into(),
        ..Reply::default()
    };
    let refused = sent(reply(), TOPIC);
    assert!(matches!(refused, Err(Refusal::Size(_))));
    let why = why(refused);
    assert!(why.contains("307200") && why.contains("262144"), "{why}");
    assert!(sent(reply(), STANDARD).is_ok());
    let unknown = Takes {
        maximum_size: None,
        ..TOPIC
    };
    assert!(sent(reply(), unknown).is_ok());

    let exactly = |n: usize| Reply {
        body: vec![b'x'; n].into(),
        ..Reply::default()
    };
    assert!(sent(exactly(256 << 10), TOPIC).is_ok());
    assert!(sent(exactly((256 << 10) + 1), TOPIC).is_err());
}

// Rules 6.3 to 6.5.
#[test]
fn group_and_deduplication_ids_have_1_to_128_of_sqss_characters() {
    let longest = "~".repeat(128);
    let wrong = ["x".repeat(129), String::new(), "a b".into(), "ä".into()];
    for takes in [STANDARD, FIFO, TOPIC] {
        let grouped = |group: &str| {
            let group_id = Some(group.to_owned());
            sent(
                Reply {
                    group_id,
                    ..with(vec![])
                },
                takes,
            )
        };
        assert_eq!(grouped(&longest).unwrap().group_id, Some(longest.clone()));
        for group in &wrong {
            let why = why(grouped(group));
            assert!(why.contains("group id"), "{why}");
        }
    }
    for id in &wrong {
        let deduplication_id = Some(id.clone());
        let why = why(sent(
            Reply {
                deduplication_id,
                ..with(vec![])
            },
            FIFO,
        ));
        assert!(why.contains("deduplication id"), "{why}");
    }
    let why = why(sent(with(vec![text("partition-key", &wrong[0])]), FIFO));
    assert!(
        why.contains("partition-key") && why.contains("129"),
        "{why}"
    );
}

// Rule 6.4.
#[test]
fn a_fifo_target_gets_a_group_and_a_deduplication_id() {
    let message = sent(with(vec![text("partition-key", "k")]), FIFO).unwrap();
    assert_eq!(message.group_id.as_deref(), Some("k"));
    assert_eq!(message.deduplication_id.as_deref(), Some("derived"));
    assert_eq!(message.headers, []);
}

// Rule 6.5.
#[test]
fn a_standard_target_takes_a_group_but_no_deduplication_id() {
    let reply = |deduplication_id: Option<&str>| Reply {
        group_id: Some("tenant".into()),
        deduplication_id: deduplication_id.map(Into::into),
        ..with(vec![text("partition-key", "k")])
    };
    for takes in [STANDARD, TOPIC] {
        let message = sent(reply(None), takes).unwrap();
        assert_eq!(message.group_id.as_deref(), Some("tenant"));
        assert_eq!(message.deduplication_id, None);
        assert!(matches!(
            sent(reply(Some("id")), takes),
            Err(Refusal::NotFifo(_))
        ));
        let keyed = sent(with(vec![text("partition-key", "k")]), takes).unwrap();
        assert_eq!(keyed.group_id, None, "the header sets nothing");
    }
}

// Rules 6.3 and 6.5.
#[test]
fn only_a_standard_queue_takes_a_delay_of_up_to_900_seconds() {
    let after = |seconds, takes| {
        let delay = Some(Duration::from_secs(seconds));
        sent(
            Reply {
                delay,
                ..with(vec![])
            },
            takes,
        )
    };
    let taken = after(900, STANDARD).unwrap().delay;
    assert_eq!(taken, Some(Duration::from_secs(900)));
    assert_eq!(after(0, STANDARD).unwrap().delay, Some(Duration::ZERO));
    assert!(why(after(901, STANDARD)).contains("900"));
    assert!(why(after(1, FIFO)).contains("FIFO"));
    assert!(why(after(1, TOPIC)).contains("SNS"));
    for takes in [FIFO, TOPIC] {
        assert_eq!(after(0, takes).unwrap().delay, None, "no delay is no delay");
    }
}
