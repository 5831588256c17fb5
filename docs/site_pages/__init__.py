"""Pages and pictures of the site that are made from the code whenever it is built; none of them is kept."""
