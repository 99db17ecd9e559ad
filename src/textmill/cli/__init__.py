"""The command line: one module per job. A new file here is a new command; app.py finds it."""
