"""The process on a head node that looks, decides and acts."""
