"""Pages and pictures of the site that are generated from the code at every build; none of them is committed."""
