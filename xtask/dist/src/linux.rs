//! The packages of Linux distributions, which `nfpm` writes: deb, rpm, apk and Arch.

use crate::{
    Outcome,
    release::{DESCRIPTION, HOMEPAGE, LICENCE, Release, failed, output},
    tree::{Target, Tree},
};
use serde_json::json;
use std::{fs, process::Command};

/// What runs before a removal. Only a user can change the settings of the user's agents.
const BEFORE_REMOVAL: &str = r#"#!/bin/sh
case "${1:-remove}" in
upgrade | failed-upgrade | 1) ;;
*) echo "hookhost: agents whose settings still name /usr/bin/hookhost-hook can no longer call it; install hookhost again and run \`hookhost off\` to remove these entries" >&2 ;;
esac
exit 0
"#;

pub(crate) fn write(release: &Release, target: &Target, tree: &Tree) -> Outcome {
    let work = release.out.join(".work").join(&target.triple);
    let (stage, script, config) = (work.join("usr"), work.join("before-removal"), work.join("nfpm.json"));
    tree.write_to(&stage)?;
    fs::write(&script, BEFORE_REMOVAL).map_err(|error| failed(&script, &error))?;
    let time = crate::image::timestamp(release.epoch);
    let contents = tree.0.iter().map(|file| {
        let info = json!({ "mode": file.mode(), "mtime": time });
        json!({ "src": stage.join(&file.path), "dst": format!("/usr/{}", file.path), "file_info": info })
    });
    let (deb, rpm) = if release.quick { ("none", "gzip:1") } else { ("xz", "xz:9") };
    // JSON is YAML, too.
    let settings = json!({
        "name": "hookhost",
        "arch": target.goarch(),
        "platform": "linux",
        "version": release.version,
        "section": "utils",
        "maintainer": "The authors of hookhost <hookhost@users.noreply.github.com>",
        "description": DESCRIPTION,
        "homepage": HOMEPAGE,
        "license": LICENCE,
        "mtime": time,
        "contents": contents.collect::<Vec<_>>(),
        "scripts": { "preremove": script },
        "deb": { "compression": deb },
        "rpm": { "compression": rpm, "buildhost": "localhost" },
    });
    fs::write(&config, settings.to_string()).map_err(|error| failed(&config, &error))?;
    for kind in ["deb", "rpm", "apk", "archlinux"] {
        let mut nfpm = Command::new(&release.nfpm);
        nfpm.args(["package", "--packager", kind]).arg("--config").arg(&config).arg("--target").arg(&work);
        output(nfpm.env("SOURCE_DATE_EPOCH", release.epoch.to_string()))?;
    }
    for entry in fs::read_dir(&work).map_err(|error| failed(&work, &error))?.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if [".deb", ".rpm", ".apk", ".pkg.tar.zst"].iter().any(|ending| name.ends_with(ending)) {
            release.write(&name, &crate::release::read(&entry.path())?)?;
        }
    }
    fs::remove_dir_all(&work).map_err(|error| failed(&work, &error))
}
