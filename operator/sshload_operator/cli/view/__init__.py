"""What the commands print: results as pages, pages as text and as other formats, and how a run stands."""
