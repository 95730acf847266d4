;; Random bytes, 4 GiB at once.
(func $bad (param $text i32) (param $len i32) (result i32)
  (call $random (i64.const 0x1_0000_0000) (i32.const 32))
  (call $keep))
