"""The content of an image, by the image's files and the locks, and the bill of materials made from it."""
