;; It behaves, but is not the file that the allowlist names.
;;@ digest of another file
