"""Made-up session logs whose statistics follow those of real ones, for measuring how the pipeline grows.

Read in this order: ``profile`` (the numbers that a corpus follows), ``measure`` (where such numbers come from: any
store), ``project`` and ``speech`` and ``outputs`` (what is worked on, what is said, what tools answer), ``session``
(one session, message by message), ``writers`` (as a log of an agent), ``corpus`` (all of them, into a folder).

Only numbers are taken from real sessions. Every word of the text is made here.
"""
