// pi asks its extensions one after the other. A `tool_call` handler that throws blocks the call. If another handler
// throws, pi ignores the error and continues, so these handlers return the strictest answer instead.
export default function hookhost(pi) {
  // Maximum number of times in a row that a plugin makes the agent continue when it stops. More would be a loop.
  const MAX_CONTINUED = 8
  let continued = 0
  let lastText = ""
  let pendingContext = []

  const where = (ctx) => ({
    session: ctx.sessionManager?.getSessionId?.(),
    cwd: ctx.cwd,
    workspace: ctx.cwd,
    interactive: ctx.hasUI === true,
  })
  const tell = (ctx, text, kind) => {
    if (ctx.hasUI) ctx.ui.notify(text, kind)
    else console.error(text)
  }
  const asked = async (point, ctx, event) => {
    const reply = await ask(point, where(ctx), { type: point, ...event })
    if (reply.notice) tell(ctx, reply.notice, "warning")
    return reply
  }
  const textOf = (content) =>
    typeof content === "string" ? content : (content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n")
  const ends = (ctx, reply) => {
    if (reply.stop) ctx.abort?.()
  }

  pi.on("session_start", async (event, ctx) => {
    const reply = await asked("session_start", ctx, { reason: event.reason })
    if (reply.context) pendingContext.push(reply.context)
  })
  pi.on("session_shutdown", async (event, ctx) => {
    // After a reload, the session continues, so it has not ended.
    if (event.reason !== "reload") await asked("session_shutdown", ctx, { reason: event.reason })
  })
  pi.on("input", async (event, ctx) => {
    continued = 0
    const reply = await asked("input", ctx, { text: event.text, source: event.source })
    if (reply.decision === "deny") {
      tell(ctx, reply.reason, "error")
      return { action: "handled" }
    }
    if (reply.context) pendingContext.push(reply.context)
    if (reply.output !== undefined) return { action: "transform", text: reply.output }
  })
  pi.on("before_agent_start", async () => {
    if (pendingContext.length === 0) return
    const content = pendingContext.join("\n\n")
    pendingContext = []
    return { message: { customType: "hookhost", content, display: true } }
  })
  pi.on("tool_call", async (event, ctx) => {
    const reply = await asked("tool_call", ctx, { toolName: event.toolName, toolCallId: event.toolCallId, input: event.input })
    if (reply.decision === "deny") {
      ends(ctx, reply)
      return { block: true, reason: reply.reason }
    }
    if (reply.input) assignExactly(event.input, reply.input)
  })
  pi.on("tool_result", async (event, ctx) => {
    const { toolName, toolCallId, input, content, isError } = event
    const reply = await asked("tool_result", ctx, { toolName, toolCallId, input, content, isError })
    if (reply.decision === "deny") {
      ends(ctx, reply)
      return { content: [{ type: "text", text: reply.reason }], details: undefined, isError: true }
    }
    const isReplaced = reply.output !== undefined
    if (!isReplaced && !reply.context) return
    const kept = isReplaced ? [{ type: "text", text: reply.output }] : content
    const added = reply.context ? [{ type: "text", text: reply.context }] : []
    return { content: [...kept, ...added], ...(isReplaced ? { isError: reply.isError === true } : {}) }
  })
  pi.on("message_end", async (event, ctx) => {
    const { message } = event
    if (message.role !== "assistant") return
    const text = textOf(message.content)
    if (!text) return
    const reply = await asked("message_end", ctx, { message: { role: message.role, content: [{ type: "text", text }] } })
    const other = reply.decision === "deny" ? reply.reason : reply.output
    lastText = other ?? text
    if (other === undefined) return
    // The calls in the message stay, because the hook program is asked about each call separately.
    const rest = message.content.filter((part) => part.type !== "text")
    return { message: { ...message, content: [{ type: "text", text: other }, ...rest] } }
  })
  pi.on("session_before_compact", async (event, ctx) => {
    const reply = await asked("session_before_compact", ctx, { reason: event.reason })
    if (reply.decision !== "deny") return
    tell(ctx, reply.reason, "error")
    return { cancel: true }
  })
  pi.on("session_compact", async (event, ctx) => {
    await asked("session_compact", ctx, { summary: event.compactionEntry?.summary ?? "" })
  })
  pi.on("agent_before_settle", async (event, ctx) => {
    const reply = await asked("agent_before_settle", ctx, { outcome: event.outcome, text: lastText, continued: continued > 0 })
    if (event.outcome !== "completed" || !reply.goOn?.length || continued >= MAX_CONTINUED) return
    continued += 1
    const content = reply.goOn.join("\n\n")
    return { entries: [{ type: "custom_message", customType: "hookhost", content, display: true }], continue: true }
  })
}
