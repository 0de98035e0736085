"""What the work is: what is still to be done, and what is done for it. Without Prefect."""
