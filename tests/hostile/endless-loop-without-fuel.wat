;;@ limits: fuel = 1_000_000
(func $bad (param $text i32) (param $len i32) (result i32)
  (loop (br 0))
  unreachable)
