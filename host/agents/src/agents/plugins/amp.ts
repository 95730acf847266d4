// Amp asks its plugins about each call, and does what they return. The effect of an error that a handler throws is not
// documented, so no handler throws.
export default function hookhost(amp) {
  const root = () => {
    const uri = amp.system?.workspaceRoot
    return uri ? amp.helpers.filePathFromURI(uri) : process.cwd()
  }
  // Maximum number of times in a row that a plugin makes the agent continue when it stops. More would be a loop.
  const MAX_CONTINUED = 8
  const continued = new Map()
  const asked = async (point, event, ctx, told) => {
    const reply = await ask(point, { session: event.thread?.id, cwd: root(), workspace: root() }, { type: point, ...told })
    if (reply.notice) await notify(ctx, reply.notice)
    return reply
  }
  const notify = async (ctx, text) => {
    try {
      await ctx.ui.notify(text)
    } catch {
      amp.logger?.log(text)
    }
  }
  const texts = (messages) => {
    const last = (messages ?? []).filter((message) => message.role === "assistant").at(-1)
    return (last?.content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n")
  }

  amp.on("session.start", async (event, ctx) => {
    await asked("session.start", event, ctx, {})
  })
  amp.on("agent.start", async (event, ctx) => {
    const reply = await asked("agent.start", event, ctx, { message: event.message })
    if (reply.decision === "deny") {
      await notify(ctx, reply.reason)
      await ctx.thread.cancel()
      return {}
    }
    return reply.context ? { message: { content: reply.context, display: true } } : {}
  })
  amp.on("tool.call", async (event, ctx) => {
    const { toolUseID, tool, input } = event
    const reply = await asked("tool.call", event, ctx, { toolUseID, tool, input })
    if (reply.decision === "deny") return { action: "reject-and-continue", message: reply.reason }
    if (reply.decision === "respond") return { action: "synthesize", result: { output: reply.output, exitCode: reply.isError ? 1 : 0 } }
    return reply.input ? { action: "modify", input: reply.input } : { action: "allow" }
  })
  amp.on("tool.result", async (event, ctx) => {
    const { toolUseID, tool, input, status, error, output } = event
    const reply = await asked("tool.result", event, ctx, { toolUseID, tool, input, status, error, output })
    if (reply.decision === "deny") return { status: "error", error: reply.reason, output: reply.reason }
    const isReplaced = reply.output !== undefined
    if (!isReplaced && !reply.context) return undefined
    const kept = isReplaced ? reply.output : (error ?? (typeof output === "string" ? output : JSON.stringify(output ?? "")))
    const text = reply.context ? `${kept}\n\n${reply.context}` : kept
    const isError = isReplaced ? reply.isError === true : status !== "done"
    return isError ? { status: "error", error: text, output: text } : { status: "done", output: text }
  })
  amp.on("agent.end", async (event, ctx) => {
    const thread = event.thread?.id
    const before = continued.get(thread) ?? 0
    const told = { status: event.status, text: texts(event.messages), continued: before > 0 }
    const reply = await asked("agent.end", event, ctx, told)
    const continues = event.status === "done" && reply.goOn?.length > 0 && before < MAX_CONTINUED
    if (!continues) {
      continued.delete(thread)
      return undefined
    }
    continued.set(thread, before + 1)
    return { action: "continue", userMessage: reply.goOn.join("\n\n") }
  })
}
