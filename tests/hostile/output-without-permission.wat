;; More at once than WASI lets it write.
(func $bad (param $text i32) (param $len i32) (result i32)
  (call $write (call $stdout) (i32.const 0) (i32.const 65537) (i32.const 32))
  (call $keep))
