;; Room for functions of a table: as much as a table can have at all. What it then calls is not there.
(table $mine 1 funcref)
(func $bad (param $text i32) (param $len i32) (result i32)
  (drop (table.grow $mine (ref.null func) (i32.const 9_999_999)))
  (call_indirect $mine (i32.const 9_999_999))
  (call $keep))
