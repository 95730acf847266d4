;;@ limits: compute = "20ms"
(elem (i32.const 1) $destructor)
(func $destructor (param i32) (loop (br 0)))
(func $bad (param $text i32) (param $len i32) (result i32)
  (call $thing-drop (call $thing-new (i32.const 1)))
  (call $keep))
