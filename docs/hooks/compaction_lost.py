"""A hook for Claude Code and Codex after a compaction: shows what was lost. See docs/lost.md."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

event = json.load(sys.stdin)
if event["transcript_path"] is None:  # Codex, when it keeps no log
    print(json.dumps({"systemMessage": "What was lost cannot be said: this session has no log."}))
    sys.exit()
command = ["compaction-eval", "lost", event["transcript_path"]]
with tempfile.TemporaryDirectory() as folder:
    if event.get("compact_summary"):  # Claude Code's, which its log need not have yet
        summary = Path(folder) / "summary"
        summary.write_text(event["compact_summary"], encoding="utf-8")
        command += ["--compacted", str(summary)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
print(json.dumps({"systemMessage": ended.stdout or ended.stderr}))
