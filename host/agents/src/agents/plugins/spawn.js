import { spawn } from "node:child_process"

// Maximum length of a reply: 16 MiB of text.
const MAX_REPLY = 16 * 1024 * 1024

// Asks the hook program about an event, without blocking the agent's other work. Never throws: see `withoutReply`.
async function ask(point, about, event) {
  try {
    const message = JSON.stringify({ hookhost: { point, ...about }, event })
    const { exitCode, text } = await run([AGENT, point, ...FLAGS], message, about.cwd)
    return readReply(exitCode, text)
  } catch (error) {
    return withoutReply(error)
  }
}

// Starts the hook program without a shell, writes the message to it, and waits until it ends.
function run(words, message, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(PROGRAM, words, { cwd, stdio: ["pipe", "pipe", "ignore"], shell: false, windowsHide: true })
    const parts = []
    let size = 0
    let last
    const timer = setTimeout(() => end(() => reject(new Error("the hook program took too long"))), TIMEOUT_MS)
    const end = (how) => {
      clearTimeout(timer)
      clearTimeout(last)
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL")
      child.stdout.destroy()
      how()
    }
    const finish = () => end(() => resolve({ exitCode: child.exitCode, text: Buffer.concat(parts).toString("utf8") }))
    child.on("error", (error) => end(() => reject(new Error(`the hook program ${PROGRAM} cannot be started: ${error.message}`))))
    child.stdout.on("data", (part) => {
      size += part.length
      if (size > MAX_REPLY) return end(() => reject(new Error("the hook program printed too much")))
      parts.push(part)
    })
    child.on("close", finish)
    // A process that the hook program has started may keep the output open. Do not wait for that process.
    child.on("exit", () => (last = setTimeout(finish, 1000)))
    // If the program ends without reading the message, ignore the write error; the exit code is read.
    child.stdin.on("error", () => {})
    child.stdin.end(message)
  })
}
