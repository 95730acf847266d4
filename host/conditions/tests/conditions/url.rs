//! The hosts of an address, compared with what curl 7.88 and the URL parser of Node.js 20 make of it.

use super::{Event, truth};
use hookhost_conditions::url::Address;
use hookhost_conditions::{Condition, Truth};

#[test]
fn the_host_is_the_one_that_a_program_connects_to() {
    let table = [
        ("https://example.com", "example.com"),
        ("HTTPS://EXAMPLE.COM./a", "example.com"),
        ("https://example.com:8443/a?b#c", "example.com"),
        ("https://example.com?x@evil.com", "example.com"),
        ("https://example.com#@evil.com", "example.com"),
        ("https://user:pass@evil.com/", "evil.com"),
        ("https://example.com@evil.com", "evil.com"),
        ("https://a@b@evil.com", "evil.com"),
        ("https://example.com:443@evil.com:80/", "evil.com"),
        (r"https://evil.com\.example.com", "evil.com"),
        (r"https:/\evil.com", "evil.com"),
        ("https:evil.com", "evil.com"),
        ("https:/evil.com", "evil.com"),
        ("https:////evil.com", "evil.com"),
        ("///evil.com/x", "evil.com"),
        ("  \thttps://ev\nil.com ", "evil.com"),
        ("ht\ntps://ev\til.com", "evil.com"),
        ("https://%65vil.com", "evil.com"),
        ("https://ｅvil。com/", "evil.com"),
        ("https://ev%C2%ADil.com/", "evil.com"),
        ("https://evil.com;x.example.com/", "evil.com"),
        ("https://[::1]:80/", "::1"),
        ("https://user@[2001:DB8:0::1]", "2001:db8::1"),
        ("http://[::ffff:127.0.0.1]/", "127.0.0.1"),
        ("http://[fe80::1%25eth0]/", "fe80::1"),
        ("http://127.1/", "127.0.0.1"),
        ("http://0x7f000001", "127.0.0.1"),
        ("http://2130706433", "127.0.0.1"),
        ("http://0177.0.0.0x1.", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("//example.com/a", "example.com"),
        ("example.com/a:b@c", "example.com"),
        ("example.com:8080/https://evil.com", "example.com"),
        ("localhost:8080/x", "localhost"),
        // Without `//`, curl takes this for a user and a host.
        ("user:password@example.com", "example.com"),
        ("mailto:a@b.c", "b.c"),
        ("ssh://git@example.com:22/a", "example.com"),
        ("https://ÉXAMPLE.com", "éxample.com"),
        ("https://xn--xample-9ua.com", "xn--xample-9ua.com"),
        ("https://1.example", "1.example"),
        ("https://example.com/{a,b}", "example.com"),
    ];
    for (url, expected) in table {
        let address = Address::of_url(url);
        assert_eq!((address.hosts, address.has_unknown), (vec![expected.to_owned()], false), "{url}");
    }
}

#[test]
fn an_address_that_programs_read_differently_has_each_of_its_hosts() {
    for (url, hosts) in [
        (r"https://good.com\@evil.com/", ["good.com", "evil.com"]),
        (r"https:\\evil.com\@example.com", ["evil.com", "example.com"]),
        (r"https://good.com:80\@evil.com", ["good.com", "evil.com"]),
        ("http:80/x", ["0.0.0.80", "http"]),
        ("https://good.com;@evil.com", ["evil.com", "good.com"]),
    ] {
        assert_eq!(Address::of_url(url).hosts, hosts, "{url}");
    }
}

#[test]
fn what_no_program_connects_to_has_no_host() {
    for url in [
        "",
        "https://",
        "https:///",
        "file:///etc/passwd",
        "unix:/run/a",
        "data:text/html,x",
        "https://a b.com/",
        "https://[::1]x",
        "https://a:b",
        "https://256.1.1.1",
        "https://1.2.3.256",
        "https://1.16777216",
        "https://1.2.3.4.5",
        "https://0x1ffffffff",
        "https://%zz.com",
        "https://%2fevil.com",
        "https://%00.com",
        "https://ev!il.com",
        "https://a／b.com",
        "https://%ff.com",
        "https://a.0x",
        "https://@",
    ] {
        assert_eq!(Address::of_url(url), Address::default(), "{url}");
    }
}

/// A variable of a shell is a control character.
#[test]
fn a_host_that_only_a_program_knows_is_unknown_and_may_be_any() {
    for (url, hosts) in [
        ("https://\u{1a}/x", &[][..]),
        ("\u{1a}https://good.com", &[]),
        ("\u{1a}://good.com", &[]),
        ("https://good.com\u{1a}", &[]),
        ("https://api.\u{1a}/", &[]),
        ("https://good.com:\u{1a}/x", &["good.com"]),
        ("https://\u{1a}@good.com", &["good.com"]),
        ("https://{evil,good}.com", &["evil.com", "good.com"]),
        ("{https://a.com,https://b.com}/", &["a.com", "b.com"]),
        ("https://ev[h-i]l.com/[1-9]", &["evhl.com", "evil.com"]),
        ("https://[e-e]vil.com", &["evil.com"]),
        ("https://{evil.com", &[]),
        ("https://[1-100].com", &[]),
        ("https://[\u{20}-\u{10ffff}].com", &[]),
        ("https://[::1", &[]),
    ] {
        let address = Address::of_url(url);
        assert!(address.has_unknown && address.hosts == hosts, "{url}: {address:?}");
    }
    assert!(!Address::of_url("https://good.com/\u{1a}").has_unknown);
}

#[test]
fn an_address_is_compared_without_its_user_and_usual_port() {
    assert_eq!(Address::of_url("HTTPS://a:b@Evil.com:443").urls, ["https://evil.com/"]);
    assert_eq!(Address::of_url("evil.com:81/x?y").urls, ["http://evil.com:81/x?y"]);
}

#[test]
fn a_place_of_ssh_has_a_host() {
    for (place, host) in [
        ("git@github.com:a/b.git", "github.com"),
        ("me@[::1]:x", "::1"),
        ("fe80::1", "fe80::1"),
        ("Host", "host"),
        ("rsync://h/m", "h"),
        ("h:\u{1a}", "h"),
    ] {
        let address = Address::of_place(place);
        assert_eq!((address.hosts, address.has_unknown), (vec![host.to_owned()], false), "{place}");
    }
    assert!(Address::of_place("\u{1a}@good.com:x").has_unknown && Address::of_place("a@\u{1a}:x").has_unknown);
}

#[test]
fn a_condition_on_a_host_that_is_not_clear_is_unreadable() {
    for url in [r"https://good.com\\@evil.com/", "https://good.com:\u{1a}/", "https://{a,b}.com"] {
        let condition = Condition::compile(&format!("host(\"{url}\") == \"good.com\"")).expect("a condition");
        assert_eq!(condition.evaluate(&Event::new()), Truth::Unreadable, "{url}");
    }
    assert_eq!(truth(r#"host("https://good.com") == "good.com""#), Truth::True);
    assert_eq!(truth(r#"host("file:///x") == null"#), Truth::True);
}
