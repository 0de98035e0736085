// A plugin for opencode: after a compaction it shows what was lost. See docs/lost.md.
import { execFile } from "node:child_process"
import { writeFile, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

export const CompactionLost = async ({ client }) => ({
  event: async ({ event }) => {
    if (event.type !== "session.compacted") return
    const folder = await mkdtemp(join(tmpdir(), "lost-"))
    try {
      const file = join(folder, "session.json")
      const exported = await run("opencode", ["export", event.properties.sessionID], { maxBuffer: 1 << 30 })
      await writeFile(file, exported.stdout)
      const told = await run("compaction-eval", ["lost", file], { env: { ...process.env, COLUMNS: "60" } })
      await client.tui.showToast({ body: { title: "Lost in the compaction", message: told.stdout, variant: "warning" } })
    } finally {
      await rm(folder, { recursive: true })
    }
  },
})
