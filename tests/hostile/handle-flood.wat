;; Resources of its own. Each takes room in a table of the host.
(func $bad (param $text i32) (param $len i32) (result i32)
  (loop
    (drop (call $thing-new (i32.const 1)))
    (br 0))
  unreachable)
