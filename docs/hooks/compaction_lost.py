"""A hook for Claude Code and Codex after a compaction: shows what was lost. See docs/lost.md."""

import json
import subprocess
import sys
import tempfile

event = json.load(sys.stdin)
command = ["compaction-eval", "lost", event["transcript_path"]]
with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8") as summary:
    if event.get("compact_summary"):  # Claude Code's, which its log need not have yet
        summary.write(event["compact_summary"])
        summary.flush()
        command += ["--compacted", summary.name]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
print(json.dumps({"systemMessage": ended.stdout or ended.stderr}))
