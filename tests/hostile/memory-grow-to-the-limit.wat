;; All at once, and twice as much as there is; what it then reads is not there.
(func $bad (param $text i32) (param $len i32) (result i32)
  (drop (memory.grow (i32.const 512)))
  (i32.load (i32.const 33554428)))
