// What the hook program printed, as an object: `decision` is absent, "deny" (with `reason` and perhaps `stop`), "allow" (perhaps
// with the arguments `input`) or "respond" (with `output`); `output` alone takes the place of a text or a result; `context` is for
// the model, `notice` for the user, and `goOn` has prompts. Anything else throws: half a reply is none.
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

// What is done where the hook program gave no reply: a no, unless the operator chose otherwise.
function withoutReply(error) {
  const why = error instanceof Error ? error.message : String(error)
  if (DENIES_ON_FAILURE) return { decision: "deny", reason: `hookhost could not settle this: ${why}. Tell the user: this is about the rules, not about the call.`, failed: true }
  return {}
}

// Changes `target` to hold exactly what `source` holds. Agents keep the object, so a new one would not be seen.
function assignExactly(target, source) {
  for (const key of Object.keys(target)) if (!(key in source)) delete target[key]
  Object.assign(target, source)
}
