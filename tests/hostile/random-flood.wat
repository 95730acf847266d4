;; Random bytes, 64 KiB at once, into the same place. The host makes them, so they cost the guest next to no fuel.
;;@ limits: compute = "20ms"
(func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
(func $bad (param $text i32) (param $len i32) (result i32)
  (loop
    (drop (call $random-u64))
    (br 0))
  unreachable)
