"""Řehůřek (2011), Scalability of semantic analysis: topic segmentation, and methods of similarity side by side."""
