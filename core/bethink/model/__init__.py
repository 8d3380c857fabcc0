"""The words of bethink as types: records, fields, filters, namespaces, and the port of storage."""
