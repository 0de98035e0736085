"""An aider chat history made by hand: two chats, of which the second has no message.

Each `·` stands for a space: aider ends its lines with two.
"""

NAME = ".aider.chat.history.md"
TEXT = """
# aider chat started at 2026-03-01 10:00:00

> /home/ada/.venv/bin/aider mill.py··
> Aider v0.80.0··
> Main model: claude-test-1 with diff edit format··

#### make the wheel turn··
#### and oil it··

Two changes:

mill.py
```python
<<<<<<< SEARCH
wheel = None
=======
wheel = Wheel()
>>>>>>> REPLACE
```

docs/mill.md
```markdown
<<<<<<< SEARCH
=======
# The mill

> It turns.
#### Parts
>>>>>>> REPLACE
```

The wheel turns now.

> Tokens: 4.2k sent, 1k cache hit, 300 received.
Cost: $0.02 message, $0.05 session.··
> Applied edit to mill.py··
> Applied edit to docs/mill.md··
> Commit abc1234 feat: turn the wheel··

#### /run make test··
> ==== tests ====

one failed··
> Add the output to the chat? n··

#### what is left?··

Nothing:
> to oil is to care

# aider chat started at 2026-03-01 11:00:00

""".replace("··", "  ")
