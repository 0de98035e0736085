"""One module a log format; a folder where a format needs several."""
