"""What every other folder may use, and what uses none of them."""
