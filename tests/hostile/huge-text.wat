;; A verdict of 8 MiB; the bytes are there.
(func $bad (param $text i32) (param $len i32) (result i32)
  (drop (memory.grow (i32.const 200)))
  (i32.store8 (i32.const 0) (i32.const 1 (;replace;)))
  (i32.store (i32.const 4) (i32.const 64))
  (i32.store (i32.const 8) (i32.const 8_388_608))
  (i32.const 0))
