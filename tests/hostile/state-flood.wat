;; A key after the other, 64 KiB each, of which its quota of 1 MiB holds less than sixteen. What is refused changes
;; nothing; it goes on until it may call no more.
;;@ limits: capability-calls = 200
(func $bad (param $text i32) (param $len i32) (result i32)
  (local $key i32)
  (loop
    (i32.store (i32.const 1024) (local.tee $key (i32.add (local.get $key) (i32.const 1))))
    (i32.store (i32.const 1024) (i32.and (i32.load (i32.const 1024)) (i32.const 0x7f7f7f7f)))
    (call $set (i32.const 1) (i32.const 1024) (i32.const 4) (i32.const 0) (i32.const 65536)
      (i32.const 0) (i64.const 0) (i32.const 2048))
    (br 0))
  unreachable)
