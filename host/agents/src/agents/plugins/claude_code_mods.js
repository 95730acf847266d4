// Claude Code calls the hooks of its mods around each event, and `next` calls the following hook or the event itself. A
// hook that throws is skipped, so each hook that can deny catches its errors and answers.
export function register(on) {
  // Maximum number of times in a row that a plugin makes the agent continue when it stops. More would be a loop.
  const MAX_CONTINUED = 8
  let continued = 0

  // Asks the hook program about an event. Never throws: see `withoutReply`.
  const ask = async ($, point, event, agentId, timeoutMs = TIMEOUT_MS) => {
    let reply
    try {
      const [session, cwd, workspace] = await Promise.all([$.session.id(), $.session.cwd(), $.session.root()])
      const message = JSON.stringify({ hookhost: { point, session, subagent: agentId, cwd, workspace }, event })
      const { exitCode, stdout } = await $.process.run([PROGRAM, AGENT, point, ...FLAGS], { cwd, stdin: message, timeoutMs })
      reply = readReply(exitCode, stdout)
    } catch (error) {
      reply = withoutReply(error)
    }
    if (reply.notice) $.ui.toast(reply.notice)
    return reply
  }
  const FAILED = "hookhost's mod failed: tell the user that this is about the rules, not about the call"
  const closed = (registration, answer) => {
    if (DENIES_ON_FAILURE) registration.catch(() => answer)
  }
  // Returns the result with another text if the shape of the result is known. Otherwise the model reads the text as an
  // error.
  const withText = (tool, result, text) => {
    if (typeof result === "string") return { result: text }
    if (tool === "Bash" && typeof result?.stdout === "string") return { result: { ...result, stdout: text, stderr: "" } }
    return { deny: text }
  }

  on("session.start", async ($, e, next) => {
    await ask($, "session.start", {})
    return next(e)
  })
  on("session.end", async ($, e, next) => {
    // At this hook point, all mods together have 1.5 seconds.
    await ask($, "session.end", { reason: e.reason }, undefined, 1000)
    return next(e)
  })
  closed(
    on("prompt.submit", async ($, e, next) => {
      if (e.origin?.kind !== "plugin") continued = 0
      const reply = await ask($, "prompt.submit", { text: e.text, origin: e.origin })
      if (reply.decision === "deny") return { drop: reply.reason }
      const text = reply.output ?? e.text
      const context = reply.context ? [...(e.context ?? []), reply.context] : e.context
      return next({ ...e, text, ...(context ? { context } : {}) })
    }),
    { drop: FAILED },
  )
  closed(
    on("tool.call", async ($, e, next) => {
      const { tool, tool_use_id, agentId, consent, ...input } = e
      const before = await ask($, "tool.call", { tool, tool_use_id, input }, agentId)
      if (before.decision === "deny") return { deny: before.reason }
      const kept = Object.fromEntries(Object.entries({ tool, tool_use_id, agentId, consent }).filter(([, value]) => value !== undefined))
      const answered = await next(before.input ? { ...before.input, ...kept } : e)
      if (answered.deny !== undefined) return answered
      const told = { tool, tool_use_id, input: before.input ?? input, text: answered.text ?? "", isError: answered.isError === true }
      const after = await ask($, "tool.result", told, agentId)
      if (after.decision === "deny") return { deny: after.reason }
      const other = after.output === undefined ? answered : withText(tool, answered.result, after.output)
      if (!after.context || other.deny !== undefined) return other
      return { ...other, context: [...(other.context ?? []), after.context] }
    }),
    { deny: FAILED },
  )
  closed(
    on("agent.spawn", async ($, e, next) => {
      const told = { tool_use_id: e.tool_use_id, prompt: e.prompt, subagentType: e.subagentType }
      const reply = await ask($, "agent.spawn", told, e.parentAgentId)
      return reply.decision === "deny" ? { deny: reply.reason } : next(e)
    }),
    { deny: FAILED },
  )
  on("session.compact", async ($, e, next) => {
    const before = await ask($, "session.compact", { trigger: e.trigger }, e.agentId)
    if (before.decision === "deny") return { skip: before.reason }
    const compacted = await next(e)
    if (compacted.skip === undefined) await ask($, "session.compacted", { summary: compacted.messages?.[0]?.text ?? "" }, e.agentId)
    return compacted
  })
  on("turn.complete", async ($, e, next) => {
    const shown = await next(e)
    const told = { answer: e.answer, reason: e.reason, agentId: e.agentId, continued: continued > 0 }
    const reply = await ask($, "turn.complete", told)
    const continues = e.agentId === undefined && e.reason === "answer" && reply.goOn?.length > 0 && continued < MAX_CONTINUED
    if (continues) {
      continued += 1
      // The prompt runs when the session is idle, so this does not wait for it.
      void $.prompt.submit({ text: reply.goOn.join("\n\n") })
    }
    return shown
  })
}
