;; 1 KiB a line, until it may call no more; then it would answer.
;;@ limits: capability-calls = 10_000
(func $bad (param $text i32) (param $len i32) (result i32)
  (local $line i32)
  (memory.fill (i32.const 1024) (i32.const 120) (i32.const 1024))
  (loop
    (call $log (i32.const 1) (i32.const 1024) (i32.const 1024))
    (br_if 0 (i32.lt_u (local.tee $line (i32.add (local.get $line) (i32.const 1))) (i32.const 9_999))))
  (call $keep))
