"""The command line: one module a job. A new file here is a new command; app.py finds it."""
