;; A handle that it has given back.
(func $bad (param $text i32) (param $len i32) (result i32)
  (local $thing i32)
  (local.set $thing (call $thing-new (i32.const 1)))
  (call $thing-drop (local.get $thing))
  (call $thing-drop (local.get $thing))
  (call $keep))
(elem (i32.const 1) $destructor)
(func $destructor (param i32))
