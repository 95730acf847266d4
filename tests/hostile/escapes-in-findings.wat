;; Findings of 60 000 bytes that are all 0, as many as one call may report: each byte is six in the log.
(func $bad (param $text i32) (param $len i32) (result i32)
  (local $left i32)
  (local.set $left (i32.const 64))
  (drop (memory.grow (i32.const 32)))
  (loop
    (call $report (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1_048_576) (i32.const 60_000)
      (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (br_if 0 (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
  (call $keep))
