;; Each name is 64 KiB long, and all differ.
;;@ limits: capability-calls = 200
(func $bad (param $text i32) (param $len i32) (result i32)
  (local $key i32)
  (memory.fill (i32.const 65536) (i32.const 97) (i32.const 65536))
  (loop
    (i32.store (i32.const 65536) (i32.and
      (local.tee $key (i32.add (local.get $key) (i32.const 1))) (i32.const 0x7f7f7f7f)))
    (call $delete (i32.const 1) (i32.const 65536) (i32.const 65536) (i32.const 2048))
    (br 0))
  unreachable)
