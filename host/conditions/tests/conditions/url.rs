//! The host of an address.

use hookhost_conditions::url::host;

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
        (r"https:\\evil.com\@example.com", "evil.com"),
        (r"https://evil.com\.example.com", "evil.com"),
        ("https:evil.com", "evil.com"),
        ("https:////evil.com", "evil.com"),
        ("  \thttps://ev\nil.com ", "evil.com"),
        ("https://%65vil.com", "evil.com"),
        ("https://[::1]:80/", "::1"),
        ("https://user@[2001:DB8:0::1]", "2001:db8::1"),
        ("http://127.1/", "127.0.0.1"),
        ("http://0x7f000001", "127.0.0.1"),
        ("http://2130706433", "127.0.0.1"),
        ("http://0177.0.0.0x1.", "127.0.0.1"),
        ("//example.com/a", "example.com"),
        ("example.com/a:b@c", "example.com"),
        ("localhost:8080/x", "localhost"),
        ("ssh://git@example.com:22/a", "example.com"),
        ("https://ÉXAMPLE.com", "éxample.com"),
        ("https://1.example", "1.example"),
    ];
    for (url, expected) in table {
        assert_eq!(host(url).as_deref(), Some(expected), "{url}");
    }
}

#[test]
fn what_no_program_connects_to_has_no_host() {
    for url in [
        "",
        "https://",
        "https:///",
        "file:///etc/passwd",
        "mailto:a@b.c",
        "user:password@example.com",
        "data:text/html,x",
        "https://a b.com/",
        "https://[::1",
        "https://[::1]x",
        "https://[evil.com]",
        "https://a:b",
        "https://256.1.1.1",
        "https://1.2.3.256",
        "https://1.16777216",
        "https://1.2.3.4.5",
        "https://0x1ffffffff",
        "https://%zz.com",
        "https://%2fevil.com",
        "https://%ff.com",
        "https://a.0x",
        "https://@",
    ] {
        assert_eq!(host(url), None, "{url}");
    }
}
