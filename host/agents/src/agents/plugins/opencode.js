// OpenCode asks its plugins one after the other, and reads their changes from `output`. A handler that throws stops the
// call or text that it was asked about.
export const Hookhost = async ({ client, directory, worktree }) => {
  const where = (session, rest = {}) => ({ session, cwd: directory, workspace: worktree && worktree !== "/" ? worktree : directory, ...rest })
  const tell = (reply) => {
    if (reply.notice) client?.tui?.showToast?.({ body: { message: reply.notice, variant: "warning" } })?.catch?.(() => {})
  }
  const asked = async (point, session, event) => {
    const reply = await ask(point, where(session), event)
    tell(reply)
    return reply
  }
  return {
    "chat.message": async (input, output) => {
      const written = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = written.map((part) => part.text).join("\n")
      const reply = await asked("chat.message", input.sessionID, { input: { sessionID: input.sessionID, agent: input.agent }, prompt })
      if (reply.decision === "deny") {
        tell({ notice: reply.reason })
        throw new Error(reply.reason)
      }
      if (written.length === 0) return
      if (reply.output !== undefined) written.forEach((part, index) => (part.text = index === 0 ? reply.output : ""))
      if (reply.context) written.at(-1).text += `\n\n${reply.context}`
    },
    "tool.execute.before": async (input, output) => {
      const reply = await asked("tool.execute.before", input.sessionID, { input, output: { args: output.args } })
      if (reply.decision === "deny") throw new Error(reply.reason)
      if (reply.input) assignExactly(output.args, reply.input)
    },
    "tool.execute.after": async (input, output) => {
      const event = { input, output: { title: output.title, output: output.output } }
      const reply = await asked("tool.execute.after", input.sessionID, event)
      if (reply.decision === "deny" || reply.output !== undefined) {
        output.output = reply.decision === "deny" ? reply.reason : reply.output
        // The title and the metadata may also contain the result.
        output.title = ""
        output.metadata = {}
      }
      if (reply.context) output.output = `${output.output}\n\n${reply.context}`
    },
    "experimental.session.compacting": async (input, output) => {
      const reply = await asked("experimental.session.compacting", input.sessionID, { input })
      if (reply.context) output.context.push(reply.context)
    },
    "experimental.text.complete": async (input, output) => {
      const reply = await asked("experimental.text.complete", input.sessionID, { input, output: { text: output.text } })
      if (reply.decision === "deny") output.text = reply.reason
      else if (reply.output !== undefined) output.text = reply.output
    },
    event: async ({ event }) => {
      const told = ["session.created", "session.deleted", "session.idle", "session.error", "session.compacted"]
      if (!told.includes(event.type)) return
      const { info, sessionID, error } = event.properties ?? {}
      const about = { info: info && { id: info.id, parentID: info.parentID, title: info.title }, error }
      await asked(event.type, sessionID ?? info?.id, { type: event.type, ...about })
    },
  }
}
