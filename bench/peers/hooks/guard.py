"""Refuses a force push."""
import json
import sys

call = json.load(sys.stdin)
if call["tool_name"] == "Bash" and "push --force" in call["tool_input"]["command"]:
    reason = "force-push rewrites shared history"
    verdict = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    print(json.dumps({"hookSpecificOutput": verdict}))
