;; 5 000 tasks whose prompts are all the same megabyte of its memory: 100 KB here, 5 GB for whoever copies them.
;;@ at session-start
(func $tasks (;session;) (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
  (local $task i32)
  (drop (memory.grow (i32.const 32)))
  (memory.fill (i32.const 1_048_576) (i32.const 97) (i32.const 1_048_576))
  (local.set $task (i32.const 262144))
  (loop
    (i32.store (local.get $task) (i32.const 1_048_576))
    (i32.store offset=4 (local.get $task) (i32.const 1_048_576))
    (br_if 0 (i32.lt_u
      (local.tee $task (i32.add (local.get $task) (i32.const 20)))
      (i32.const 362144))))
  (i32.store (i32.const 0) (i32.const 262144))
  (i32.store (i32.const 4) (i32.const 5_000))
  (i32.const 0))
