"""What was read of a log of Claude Code."""

NOISE = "<local-command-stdout>Bye</local-command-stdout>"


def roles(transcript):
    return [message.role for message in transcript.messages]


def one(result):
    assert result.format == "claude_code"
    assert len(result.transcripts) == 1
    return result.transcripts[0]
