;;@ limits: fuel = 100_000_000
;; All of its memory, over and over. Each byte costs fuel.
(func $bad (param $text i32) (param $len i32) (result i32)
  (drop (memory.grow (i32.const 254)))
  (loop
    (memory.fill (i32.const 0) (i32.const 255) (i32.shl (memory.size) (i32.const 16)))
    (br 0))
  unreachable)
