;; The round of an event is 1 or more; while the plugin is loaded there is no event.
;;@ limits: compute = "20ms"
;;@ never behaves
(func $start (if (call $round) (then (loop (br 0)))))
(start $start)
