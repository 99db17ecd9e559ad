"""What several papers share: the record of a table, and where real data stand."""
