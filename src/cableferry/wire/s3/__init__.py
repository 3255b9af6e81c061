"""The words and bodies of S3's REST protocol, as far as the gateway speaks it."""

PREFIX = "/s3"
