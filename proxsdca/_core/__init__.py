"""The typed core; it imports nothing from above itself."""
