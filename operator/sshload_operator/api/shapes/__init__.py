"""Values of specs and statuses, read and described as their classes declare them."""
