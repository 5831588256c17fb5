"""The net: what about 300 commands print is recorded, so that it does not change unseen."""
