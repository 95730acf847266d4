;; It calls a function of its own by way of the host, from within an event.
(func $bad (param $text i32) (param $len i32) (result i32)
  (call_indirect (i32.const 0))
  (call $keep))
