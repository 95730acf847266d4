;; A verdict whose text begins within its memory and ends 4 GiB further.
(func $bad (param $text i32) (param $len i32) (result i32)
  (i32.store8 (i32.const 0) (i32.const 1 (;replace;)))
  (i32.store (i32.const 4) (i32.const 64))
  (i32.store (i32.const 8) (i32.const -1))
  (i32.const 0))
