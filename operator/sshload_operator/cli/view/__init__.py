"""What the commands print: results as pages, pages as text and in other formats, and the progress of runs."""
