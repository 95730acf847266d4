;; Also where the plugin is loaded, so that it never is.
;;@ limits: compute = "20ms"
(func $start (loop (br 0)))
(start $start)
