#!/bin/bash
# Refuses a force push. jq reads the message.
command=$(jq -r 'select(.tool_name == "Bash") | .tool_input.command')
if [[ $command == *'push --force'* ]]; then
  printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",' \
    '"permissionDecisionReason":"force-push rewrites shared history"}}'
fi
