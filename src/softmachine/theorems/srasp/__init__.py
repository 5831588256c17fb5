"""S-RASP."""
