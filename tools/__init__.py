"""What make runs besides the product: set-up, the lock, the generated pages."""
