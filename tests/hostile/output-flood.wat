;; Standard output, which no plugin is charged a capability call for.
;;@ limits: compute = "20ms"
(func $bad (param $text i32) (param $len i32) (result i32)
  (local $stdout i32)
  (local.set $stdout (call $stdout))
  (loop
    (call $write (local.get $stdout) (i32.const 0) (i32.const 65536) (i32.const 32))
    (br 0))
  unreachable)
