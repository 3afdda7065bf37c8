"""{{name}}: a tool for Cofferdam. The class is Tool; a failure is Err(ToolError(...))."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.tool import Description
from wit_world.imports.types import ErrorCode, ToolError

ARGUMENTS = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {"name": {"type": "string", "description": "Who is greeted."}},
}
RESULT = {"type": "object", "required": ["greeting"], "properties": {"greeting": {"type": "string"}}}


class Tool(exports.Tool):
    def describe(self) -> Description:
        return Description("{{name}}", "Greets somebody by name.", json.dumps(ARGUMENTS), json.dumps(RESULT))

    def call(self, arguments: str) -> str:
        name = json.loads(arguments)["name"]
        if not name:
            raise Err(ToolError(ErrorCode.INVALID_ARGUMENTS, "name is empty; give a name"))
        return json.dumps({"greeting": f"Hello, {name}!"})
