"""What is in an image, as the image itself and the locks say it, and the bill of materials made of that."""
