;; A list of 100 million tasks, of which no more than the first could be in its memory.
;;@ at session-start
(func $tasks (;session;) (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
  (i32.store (i32.const 0) (i32.const 64))
  (i32.store (i32.const 4) (i32.const 100_000_000))
  (i32.const 0))
