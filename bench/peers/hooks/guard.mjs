// Refuses a force push.
import { readFileSync } from "node:fs";

const call = JSON.parse(readFileSync(0, "utf8"));
if (call.tool_name === "Bash" && call.tool_input.command.includes("push --force")) {
  const permissionDecisionReason = "force-push rewrites shared history";
  const verdict = { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason };
  console.log(JSON.stringify({ hookSpecificOutput: verdict }));
}
