#!/bin/bash
# Refuses a force push. The message is text to it: it knows no JSON.
message=$(</dev/stdin)
if [[ $message == *'"tool_name":"Bash"'* && $message == *'push --force'* ]]; then
  printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",' \
    '"permissionDecisionReason":"force-push rewrites shared history"}}'
fi
