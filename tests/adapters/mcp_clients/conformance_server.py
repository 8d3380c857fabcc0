"""The real server with the tools, resources and prompts that the conformance suite asks for.

All go through the same dispatcher and the same HTTP: `python conformance_server.py FILE`.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bethink_adapters.mcp import MemoryServer, Options, http
from bethink_adapters.mcp.protocol import Params, ProtocolError, Server

MISSING_CAPABILITY = -32021
DOT = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108020000009077"
        "53de0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049"
        "454e44ae426082"
    )
).decode()
SILENCE = base64.b64encode(
    b"RIFF\x25\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0"
    b"data\x01\0\0\0\x80"
).decode()


def text(shown: str) -> dict[str, str]:
    return {"type": "text", "text": shown}


def resource(uri: str, kind: str, content: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": content}}


IMAGE = {"type": "image", "data": DOT, "mimeType": "image/png"}
TOOLS: Mapping[str, list[dict[str, Any]]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        resource(
            "test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}'
        ),
    ],
    "test_error_handling": [text("This tool intentionally returns an error for testing")],
    "test_logging_tool": [text("nothing is logged")],
    "test_streaming_elicitation": [text("nothing is asked")],
    "test_missing_capability": [],
    "test_input_required_result_elicitation": [],
    "json_schema_2020_12_tool": [text("done")],
}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
RESOURCES: Mapping[str, dict[str, str]] = {
    "test://static-text": {
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mimeType": "image/png", "blob": DOT},
    "test://template/123/data": {
        "mimeType": "application/json",
        "text": json.dumps({"id": "123", "templateTest": True, "data": "Data for ID: 123"}),
    },
}
PROMPTS: Mapping[str, list[dict[str, Any]]] = {
    "test_simple_prompt": [text("This is a simple prompt for testing.")],
    "test_prompt_with_arguments": [text("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")],
    "test_prompt_with_embedded_resource": [
        resource("{resourceUri}", "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
    ],
    "test_prompt_with_image": [IMAGE, text("Please analyze the image above.")],
}


QUESTION = {
    "method": "elicitation/create",
    "params": {
        "message": "What is your name?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    },
}


def ask_name(responses: Any) -> dict[str, Any]:
    """Return a greeting, or the question for a name as long as none came."""
    response = responses.get("user_name") if isinstance(responses, dict) else None
    content = response.get("content") if isinstance(response, dict) else None
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        return {"resultType": "input_required", "inputRequests": {"user_name": QUESTION}}
    return {"content": [text(f"Hello, {content['name']}!")]}


def with_fixtures(real: Server) -> Server:
    """Return *real* with more tools, resources and prompts."""
    methods = real.methods

    def list_tools(params: Params) -> dict[str, Any]:
        more = [
            {
                "name": name,
                "description": "A fixture",
                "inputSchema": SCHEMA if name.startswith("json") else {"type": "object"},
            }
            for name in TOOLS
        ]
        return {"tools": [*methods["tools/list"](params)["tools"], *more]}

    def call_tool(params: Params) -> dict[str, Any]:
        name = str(params.get("name"))
        if name not in TOOLS:
            return methods["tools/call"](params)
        if name == "test_missing_capability":
            needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise ProtocolError(MISSING_CAPABILITY, "the client must offer sampling", needed)
        if name == "test_input_required_result_elicitation":
            return ask_name(params.get("inputResponses"))
        return {"content": TOOLS[name], "isError": name == "test_error_handling"}

    def read(params: Params) -> dict[str, Any]:
        uri = str(params.get("uri"))
        if uri not in RESOURCES:
            return methods["resources/read"](params)
        return {"contents": [{"uri": uri, **RESOURCES[uri]}]}

    def get_prompt(params: Params) -> dict[str, Any]:
        name, arguments = str(params.get("name")), params.get("arguments") or {}
        if name not in PROMPTS:
            return methods["prompts/get"](params)
        shown = json.dumps(PROMPTS[name])
        for argument, value in arguments.items():
            shown = shown.replace(f"{{{argument}}}", value)
        return {"messages": [{"role": "user", "content": each} for each in json.loads(shown)]}

    fixtures = {
        "tools/list": list_tools,
        "tools/call": call_tool,
        "resources/read": read,
        "prompts/get": get_prompt,
    }
    return replace(real, methods={**methods, **fixtures})


if __name__ == "__main__":
    server = with_fixtures(MemoryServer(Options(Path(sys.argv[1]), everything=True)).protocol)
    with http.HttpServer(server, "127.0.0.1", 0) as listening:
        print(f"http://127.0.0.1:{listening.server_port}/mcp", file=sys.stderr, flush=True)
        listening.serve_forever()
