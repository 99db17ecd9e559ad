"""All jobs on the sample data, with a report: python -m examples.tour --output demo."""
