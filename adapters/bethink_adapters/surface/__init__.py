"""What the command line, the MCP server and the REST server share; imports no memory core."""
