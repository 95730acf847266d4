;; A handle that it was never given.
(func $bad (param $text i32) (param $len i32) (result i32)
  (call $write (i32.const 77) (i32.const 0) (i32.const 16) (i32.const 32))
  (call $keep))
