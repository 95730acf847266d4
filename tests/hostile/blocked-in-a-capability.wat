;; It waits for an hour, and then would answer.
;;@ limits: compute = "20ms", deadline = "20ms"
(func $bad (param $text i32) (param $len i32) (result i32)
  (call $block (call $subscribe-duration (i64.const 3_600_000_000_000)))
  (call $keep))
