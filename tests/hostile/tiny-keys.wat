;; A key after the other, each of four bytes and without a value, until its state takes no more: it may call twice as often
;; as a scope takes keys.
;;@ limits: capability-calls = 20000
(func $bad (param $text i32) (param $len i32) (result i32)
  (local $key i32)
  (loop
    (local.set $key (i32.add (local.get $key) (i32.const 1)))
    (i32.store8 (i32.const 1024) (i32.and (local.get $key) (i32.const 0x7f)))
    (i32.store8 (i32.const 1025) (i32.and (i32.shr_u (local.get $key) (i32.const 7)) (i32.const 0x7f)))
    (i32.store8 (i32.const 1026) (i32.and (i32.shr_u (local.get $key) (i32.const 14)) (i32.const 0x7f)))
    (call $set (i32.const 2) (i32.const 1024) (i32.const 4) (i32.const 0) (i32.const 0)
      (i32.const 0) (i64.const 0) (i32.const 2048))
    (br_if 0 (i32.eqz (i32.load8_u (i32.const 2048)))))
  (call $keep))
