;;@ limits: fuel = 100_000_000
;; No loop: nothing but copies of half of its memory, one after the other.
(func $copy
  (memory.copy (i32.const 0) (i32.const 8388608) (i32.const 8388608))
  (memory.copy (i32.const 8388608) (i32.const 0) (i32.const 8388608))
  (memory.copy (i32.const 0) (i32.const 8388608) (i32.const 8388608))
  (memory.copy (i32.const 8388608) (i32.const 0) (i32.const 8388608)))
(func $bad (param $text i32) (param $len i32) (result i32)
  (drop (memory.grow (i32.const 254)))
  (call $copy) (call $copy) (call $copy) (call $copy)
  (call $keep))
