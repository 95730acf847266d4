//! The style, the script and the icon. They are part of the program; nothing is loaded from elsewhere.

/// Returns the type and the content of an asset.
pub(crate) fn asset(path: &str) -> Option<(&'static str, &'static str)> {
    match path {
        "/page.css" => Some(("text/css; charset=utf-8", include_str!("assets/page.css"))),
        "/live.js" => Some(("text/javascript; charset=utf-8", include_str!("assets/live.js"))),
        "/page.js" => Some(("text/javascript; charset=utf-8", include_str!("assets/page.js"))),
        "/passkey.js" => Some(("text/javascript; charset=utf-8", include_str!("assets/passkey.js"))),
        "/icon.svg" => Some(("image/svg+xml", include_str!("assets/icon.svg"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_script_is_short_enough_to_be_read() {
        for path in ["/live.js", "/page.js", "/passkey.js"] {
            let (_, script) = super::asset(path).unwrap_or_default();
            assert!(!script.is_empty(), "{path}");
            assert!(script.lines().count() <= 200, "{} lines", script.lines().count());
        }
    }
}
