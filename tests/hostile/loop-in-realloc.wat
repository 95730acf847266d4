;; The host asks for room for the event before the plugin is called, so it misbehaves at every event.
;;@ limits: compute = "20ms"
;;@ never behaves
(func (export "realloc") (param i32 i32 i32 i32) (result i32)
  (loop (br 0))
  unreachable)
