"""The work of a process on one batch: read, work, write one shard. No Prefect in here.

Each function takes plain data, writes its rows itself and gives back counts. An item that fails becomes a row that says
why; the batch goes on.
"""
