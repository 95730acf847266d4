//! The container image: only the static programs and the certificate authorities. It is a tar archive in the layout of OCI, which podman,
//! skopeo and umoci read, with the index of `docker save`, which older versions of `docker load` need.

use crate::{
    Outcome,
    archive::{Archive, add_tree, gzip},
    release::{DESCRIPTION, HOMEPAGE, LICENCE, Release},
    tree::{Target, Tree},
};
use data_encoding::{BASE64, HEXLOWER};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The user in the image. This number is nobody else's on usual machines.
const USER: u64 = 65532;

/// Writes the image, if the programs need no C library.
pub(crate) fn write(release: &Release, target: &Target, tree: &Tree) -> Outcome {
    let layer = layer(release, tree)?;
    let packed = gzip(release, &layer)?;
    let created = timestamp(release.epoch);
    let config = json!({
        "created": created,
        "architecture": target.goarch(),
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/bin", "HOME=/home/hookhost"],
            "Entrypoint": ["/usr/bin/hookhost"],
            "WorkingDir": "/home/hookhost",
            "Labels": {
                "org.opencontainers.image.title": "hookhost",
                "org.opencontainers.image.description": DESCRIPTION,
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.source": HOMEPAGE,
                "org.opencontainers.image.licenses": LICENCE,
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", digest(&layer))] },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }],
    });
    let config = config.to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", &packed)],
    });
    let manifest = manifest.to_string().into_bytes();
    let mut entry = descriptor("application/vnd.oci.image.manifest.v1+json", &manifest);
    entry["platform"] = json!({ "architecture": target.goarch(), "os": "linux" });
    entry["annotations"] = json!({ "org.opencontainers.image.ref.name": release.version });
    let index =
        json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry] });
    let docker = json!([{
        "Config": blob(&config),
        "RepoTags": [format!("hookhost:{}", release.version)],
        "Layers": [blob(&packed)],
    }]);

    let mut archive = Archive::new(release.epoch);
    archive.file("oci-layout", 0o644, br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    archive.file("index.json", 0o644, index.to_string().as_bytes())?;
    archive.file("manifest.json", 0o644, docker.to_string().as_bytes())?;
    for bytes in [&config, &manifest, &packed] {
        archive.file(&blob(bytes), 0o644, bytes)?;
    }
    release.write(&format!("hookhost-{}-linux-{}.oci.tar", release.version, target.goarch()), &archive.finish()?)
}

fn layer(release: &Release, tree: &Tree) -> Outcome<Vec<u8>> {
    let mut layer = Archive::new(release.epoch);
    add_tree(&mut layer, "usr", tree)?;
    for directory in ["etc/", "etc/ssl/", "etc/ssl/certs/", "home/"] {
        layer.directory(directory, 0o755, 0)?;
    }
    layer.file("etc/ssl/certs/ca-certificates.crt", 0o644, authorities().as_bytes())?;
    layer.file("etc/passwd", 0o644, format!("hookhost:x:{USER}:{USER}::/home/hookhost:/sbin/nologin\n").as_bytes())?;
    layer.file("etc/group", 0o644, format!("hookhost:x:{USER}:\n").as_bytes())?;
    layer.directory("home/hookhost/", 0o700, USER)?;
    layer.directory("tmp/", 0o1777, 0)?;
    layer.finish()
}

/// Returns the certificate authorities of Mozilla as PEM.
fn authorities() -> String {
    let pem = |certificate: &[u8]| {
        let text = BASE64.encode(certificate);
        let lines = text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line) + "\n").collect::<String>();
        format!("-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----\n")
    };
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|certificate| pem(certificate)).collect()
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": format!("sha256:{}", digest(bytes)), "size": bytes.len() })
}

fn blob(bytes: &[u8]) -> String {
    format!("blobs/sha256/{}", digest(bytes))
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Returns a time in seconds since 1970 as RFC 3339 has it.
pub(crate) fn timestamp(epoch: u64) -> String {
    let (days, second) = (epoch / 86_400, epoch % 86_400);
    // Years begin in March, so that the day that is sometimes missing is the last one.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + carry;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn a_time_has_its_date() {
        for (epoch, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_827_696, "2000-02-29T12:34:56Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (1_798_761_600, "2027-01-01T00:00:00Z"),
        ] {
            assert_eq!(timestamp(epoch), text);
        }
    }
}
