;; What every hostile component has around its core module: the types of the contract, what it imports, what it exports.
;;
;; Four comments further down are replaced by `host/engine/tests/engine/hostile/component.rs`: INTERFACE, the text event that
;; it hears; MODULE, a file of this folder; DEFAULTS, what that file leaves out; EXPORTS, `setup` or `session-start` where the
;; file has a function for them.
(component
  (import "hookhost:hooks/types@0.1.0" (instance $types
    (type $session-record (record
      (field "id" string) (field "agent" string) (field "turn" u32) (field "depth" u32)
      (field "cwd" string) (field "workspace" string) (field "interactive" bool)))
    (export "session" (type $session (eq $session-record)))
    (type $text (option string))
    (type $refusal-record (record
      (field "reason" string) (field "code" $text) (field "retryable" bool) (field "stop" bool)))
    (export "refusal" (type $refusal (eq $refusal-record)))
    (type $verdict-variant (variant (case "keep") (case "replace" string) (case "reject" $refusal)))
    (export "text-verdict" (type $verdict (eq $verdict-variant)))
    (type $task-record (record (field "prompt" string) (field "title" $text)))
    (export "task" (type $task (eq $task-record)))))
  (alias export $types "session" (type $session))
  (alias export $types "text-verdict" (type $verdict))
  (alias export $types "task" (type $task))

  ;; What it can ask of the host.
  (import "hookhost:hooks/event@0.1.0" (instance $event
    (export "time" (func (result u64)))
    (export "round" (func (result u32)))))
  (import "hookhost:hooks/log@0.1.0" (instance $log
    (type $level-enum (enum "debug" "info" "warn" "error"))
    (export "level" (type $level (eq $level-enum)))
    (export "write" (func (param "level" $level) (param "message" string)))))
  (import "hookhost:hooks/effects@0.1.0" (instance $effects
    (type $severity-enum (enum "info" "warning" "error"))
    (export "severity" (type $severity (eq $severity-enum)))
    (type $finding-record (record
      (field "code" string) (field "severity" $severity) (field "explanation" string)
      (field "references" (list string)) (field "action" string) (field "details" (option string))))
    (export "finding" (type $finding (eq $finding-record)))
    (export "report" (func (param "finding" $finding)))
    (type $reminder-record (record
      (field "body" string) (field "tags" (list string)) (field "dedupe-key" (option string))
      (field "ttl-turns" (option u32))))
    (export "reminder" (type $reminder (eq $reminder-record)))
    (export "remind" (func (param "reminder" $reminder)))))
  (import "hookhost:hooks/state@0.1.0" (instance $state
    (type $scope-enum (enum "session" "tree" "plugin"))
    (export "scope" (type $scope (eq $scope-enum)))
    (type $error-variant (variant (case "quota-exceeded") (case "unavailable" string)))
    (export "error" (type $error (eq $error-variant)))
    (export "set" (func (param "scope" $scope) (param "key" string) (param "value" (list u8))
      (param "ttl-seconds" (option u64)) (result (result (error $error)))))
    (export "delete" (func (param "scope" $scope) (param "key" string) (result (result (error $error)))))))
  (import "wasi:cli/exit@0.2.0" (instance $exit (export "exit" (func (param "status" (result))))))
  (import "wasi:random/random@0.2.0" (instance $random
    (export "get-random-bytes" (func (param "len" u64) (result (list u8))))
    (export "get-random-u64" (func (result u64)))))
  (import "wasi:io/error@0.2.0" (instance $io-error (export "error" (type (sub resource)))))
  (alias export $io-error "error" (type $io-error-handle))
  (import "wasi:io/poll@0.2.0" (instance $poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (export "output-stream" (type $stream (sub resource)))
    (type $error-variant (variant (case "last-operation-failed" (own $io-error-handle)) (case "closed")))
    (export "stream-error" (type $error (eq $error-variant)))
    (export "[method]output-stream.write" (func
      (param "self" (borrow $stream)) (param "contents" (list u8)) (result (result (error $error)))))))
  (alias export $streams "output-stream" (type $stream))
  (import "wasi:cli/stdout@0.2.0" (instance $stdout (export "get-stdout" (func (result (own $stream))))))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $monotonic
    (export "now" (func (result u64)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))
  (import "wasi:clocks/wall-clock@0.2.0" (instance $wall
    (type $datetime-record (record (field "seconds" u64) (field "nanoseconds" u32)))
    (export "datetime" (type $datetime (eq $datetime-record)))
    (export "now" (func (result $datetime)))))

  ;; Its memory, in a module of its own, since what it imports is given to it in there. The table holds what else has to
  ;; be known before the hostile module is: (0) a call of itself through the host, (1) the destructor of its resource.
  (core module $memory
    (memory (export "memory") 2)
    (table (export "table") 2 funcref)
    (global $free (mut i32) (i32.const 65536))
    (func (export "realloc") (param $old i32) (param $size i32) (param $align i32) (param $new i32) (result i32)
      (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $free) (i32.const 15)) (i32.const -16)))
      (global.set $free (i32.add (local.get $at) (local.get $new)))
      (if (i32.gt_u (global.get $free) (i32.shl (memory.size) (i32.const 16)))
        (then (if (i32.eq (i32.const -1) (memory.grow
            (i32.add (i32.const 1) (i32.shr_u (local.get $new) (i32.const 16))))) (then unreachable))))
      (local.get $at))
    (func (export "drop-thing") (param i32) (call_indirect (param i32) (local.get 0) (i32.const 1))))
  (core instance $memory (instantiate $memory))
  (alias core export $memory "memory" (core memory $mem))
  (alias core export $memory "realloc" (core func $realloc))
  (alias core export $memory "table" (core table $table))

  (alias core export $memory "drop-thing" (core func $drop-thing))
  (type $thing (resource (rep i32) (dtor (core func $drop-thing))))

  (core module $module
    (import "env" "memory" (memory 2))
    (import "env" "realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
    (import "env" "table" (table $table 2 funcref))
    (import "host" "time" (func $time (result i64)))
    (import "host" "round" (func $round (result i32)))
    (import "host" "log" (func $log (param $level i32) (param $at i32) (param $len i32)))
    (import "host" "report" (func $report (;code;) (param i32 i32) (param $severity i32) (;explanation;) (param i32 i32)
      (;references;) (param i32 i32) (;action;) (param i32 i32) (;details;) (param i32 i32 i32)))
    (import "host" "remind" (func $remind (;body;) (param i32 i32) (;tags;) (param i32 i32) (;key;) (param i32 i32 i32)
      (;ttl;) (param i32 i32)))
    (import "host" "set" (func $set (param $scope i32) (;key;) (param i32 i32) (;value;) (param i32 i32)
      (;ttl;) (param i32 i64) (param $result i32)))
    (import "host" "delete" (func $delete (param $scope i32) (;key;) (param i32 i32) (param $result i32)))
    (import "host" "exit" (func $exit (param i32)))
    (import "host" "random" (func $random (param $len i64) (param $result i32)))
    (import "host" "random-u64" (func $random-u64 (result i64)))
    (import "host" "sleep" (func $subscribe-duration (param $nanoseconds i64) (result i32)))
    (import "host" "block" (func $block (param $pollable i32)))
    (import "host" "stdout" (func $stdout (result i32)))
    (import "host" "write" (func $write (param $stream i32) (param $at i32) (param $len i32) (param $result i32)))
    (import "host" "monotonic" (func $monotonic (result i64)))
    (import "host" "wall" (func $wall (param $result i32)))
    (import "host" "thing-new" (func $thing-new (param i32) (result i32)))
    (import "host" "thing-drop" (func $thing-drop (param i32)))
    (export "memory" (memory 0))

    ;; It keeps every text, but for one that begins with `b`.
    (func (export "handle") (;session;) (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (param $text i32) (param $len i32)
      (result i32)
      (if (i32.eq (i32.load8_u (local.get $text)) (i32.const 98 (;b;)))
        (then (return (call $bad (local.get $text) (local.get $len)))))
      (call $keep))
    (func $keep (result i32) (i32.store8 (i32.const 0) (i32.const 0)) (i32.const 0))

    (;DEFAULTS;)
    (;MODULE;))

  (core func $time (canon lower (func $event "time")))
  (core func $round (canon lower (func $event "round")))
  (core func $log (canon lower (func $log "write") (memory (core memory $mem))))
  (core func $report (canon lower (func $effects "report") (memory (core memory $mem))))
  (core func $remind (canon lower (func $effects "remind") (memory (core memory $mem))))
  (core func $set (canon lower (func $state "set") (memory (core memory $mem)) (realloc (core func $realloc))))
  (core func $delete (canon lower (func $state "delete") (memory (core memory $mem)) (realloc (core func $realloc))))
  (core func $exit (canon lower (func $exit "exit")))
  (core func $random (canon lower (func $random "get-random-bytes") (memory (core memory $mem)) (realloc (core func $realloc))))
  (core func $random-u64 (canon lower (func $random "get-random-u64")))
  (core func $subscribe-duration (canon lower (func $monotonic "subscribe-duration")))
  (core func $block (canon lower (func $poll "[method]pollable.block")))
  (core func $stdout (canon lower (func $stdout "get-stdout")))
  (core func $write (canon lower (func $streams "[method]output-stream.write") (memory (core memory $mem))))
  (core func $monotonic (canon lower (func $monotonic "now")))
  (core func $wall (canon lower (func $wall "now") (memory (core memory $mem))))
  (core func $thing-new (canon resource.new $thing))
  (core func $thing-drop (canon resource.drop $thing))
  (core instance $host
    (export "time" (func $time)) (export "round" (func $round)) (export "log" (func $log))
    (export "report" (func $report)) (export "remind" (func $remind)) (export "set" (func $set))
    (export "delete" (func $delete)) (export "exit" (func $exit)) (export "random" (func $random))
    (export "random-u64" (func $random-u64)) (export "sleep" (func $subscribe-duration)) (export "block" (func $block))
    (export "stdout" (func $stdout)) (export "write" (func $write)) (export "monotonic" (func $monotonic))
    (export "wall" (func $wall)) (export "thing-new" (func $thing-new)) (export "thing-drop" (func $thing-drop)))
  (core instance $instance (instantiate $module (with "env" (instance $memory)) (with "host" (instance $host))))

  ;; A function of its own, lifted and lowered again: a way back into itself.
  (func $again (canon lift (core func $instance "again")))
  (core func $again (canon lower (func $again)))
  (core module $fill (import "env" "table" (table 2 funcref)) (import "env" "again" (func)) (elem (i32.const 0) 0))
  (core instance $again (export "table" (table $table)) (export "again" (func $again)))
  (core instance (instantiate $fill (with "env" (instance $again))))

  (func $handle (param "session" $session) (param "text" string) (result $verdict)
    (canon lift (core func $instance "handle") (memory (core memory $mem)) (realloc (core func $instance "realloc"))
      (post-return (core func $instance "done"))))
  (instance $heard (export "handle" (func $handle)))
  (export "hookhost:hooks/(;INTERFACE;)@0.1.0" (instance $heard))
  (;EXPORTS;))
