;; It takes what it gets, page by page, and goes on asking.
;;@ limits: fuel = 1_000_000
(func $bad (param $text i32) (param $len i32) (result i32)
  (loop
    (drop (memory.grow (i32.const 1)))
    (br 0))
  unreachable)
