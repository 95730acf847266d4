// Returns the output of the hook program as an object. `decision` is absent, "deny" (with `reason` and perhaps `stop`),
// "allow" (perhaps with the arguments `input`) or "respond" (with `output`). `output` without `decision` replaces a
// text or a result. `context` is a text for the model, `notice` a text for the user, and `goOn` a list of prompts. Any
// other output throws, because an incomplete reply must not be used.
function readReply(exitCode, text) {
  if (exitCode !== 0) throw new Error(`the hook program ended with exit code ${exitCode}`)
  let reply
  try {
    reply = JSON.parse(text)
  } catch {
    throw new Error("the hook program did not print a JSON object")
  }
  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)
  if (!isObject(reply)) throw new Error("the hook program did not print a JSON object")
  const { decision, reason, input, output, context, notice, goOn } = reply
  const isText = (value) => value === undefined || typeof value === "string"
  const isRight =
    [undefined, "deny", "allow", "respond"].includes(decision) &&
    (input === undefined || isObject(input)) &&
    [reason, output, context, notice].every(isText) &&
    (decision !== "respond" || output !== undefined) &&
    (goOn === undefined || (Array.isArray(goOn) && goOn.every((prompt) => typeof prompt === "string")))
  if (!isRight) throw new Error("the hook program printed an object that is not a reply")
  if (decision === "deny" && !reason) reply.reason = "rejected by policy"
  return reply
}

// Returns the reply to use if the hook program gave none. It is a denial, unless the operator chose otherwise.
function withoutReply(error) {
  const why = error instanceof Error ? error.message : String(error)
  if (DENIES_ON_FAILURE) return { decision: "deny", reason: `hookhost could not decide on this: ${why}. Tell the user: this is about the rules, not about the call.`, failed: true }
  return {}
}

// Gives `target` exactly the members of `source`. The agent keeps a reference to `target`, so it would not see a new
// object.
function assignExactly(target, source) {
  for (const key of Object.keys(target)) if (!(key in source)) delete target[key]
  Object.assign(target, source)
}
