"""What can be read off a compacted context without asking it anything: its files, and the facts that it states."""
