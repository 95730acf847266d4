;; The answer is there, and then the host lets the plugin clean up after it.
;;@ limits: compute = "20ms"
(global $was-bad (mut i32) (i32.const 0))
(func $bad (param $text i32) (param $len i32) (result i32)
  (global.set $was-bad (i32.const 1))
  (call $keep))
(func (export "done") (param i32)
  (if (global.get $was-bad) (then (loop (br 0)))))
