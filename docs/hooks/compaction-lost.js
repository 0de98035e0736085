// A plugin for opencode: after a compaction it shows what was lost. See docs/lost.md.
import { execFile } from "node:child_process"
import { promisify } from "node:util"

const run = promisify(execFile)

export const CompactionLost = async ({ client }) => ({
  event: async ({ event }) => {
    if (event.type !== "session.compacted") return
    const words = ["lost", "--agent", "opencode", "--session", event.properties.sessionID]
    const told = await run("compaction-eval", words, { env: { ...process.env, COLUMNS: "60" } }).catch((error) => error)
    const message = told.stdout || told.stderr || told.message
    await client.tui.showToast({ body: { title: "Lost in the compaction", message, variant: "warning" } })
  },
})
